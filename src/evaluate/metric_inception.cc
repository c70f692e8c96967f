#include <fmt/core.h>

#include <cmath>

#include "evaluate/metrics.h"

namespace grbm {

namespace {

std::string WhyNot(const Evaluation& evaluation) {
  const EvaluationRequest& request = evaluation.request();
  if (request.inception.empty()) {
    return "the weights of the Inception network are needed: give --inception FILE or set GRBM_INCEPTION; "
           "docs/inception.md says how to get them";
  }
  if (request.data.bits() > 16 || !request.data.shape().known()) return "the data must be images of 8 or 16 bits";
  return "";
}

std::string Setting(const FidResult& r) {
  std::string note = fmt::format("{} samples against {} images of the data, tap {}", r.samples, r.reference, r.tap);
  for (const std::string& warning : r.warnings) note += "; " + warning;
  return note;
}

std::vector<Score> MeasureFid(Evaluation& evaluation) {
  const FidResult& r = evaluation.inception();
  return {{"fid", {r.fid.distance, r.subset_deviation / std::sqrt(static_cast<double>(r.subsets))}, Setting(r)},
          {"fid_subset",
           {r.subset_mean, r.subset_deviation},
           fmt::format("mean and deviation of {} disjoint subsets, larger because each is of {} samples", r.subsets,
                       r.samples / r.subsets)},
          {"fid_floor",
           {r.floor.distance, std::numeric_limits<double>::quiet_NaN()},
           fmt::format("{} real images against {} others: what a perfect model would score", r.floor_samples,
                       r.reference - r.floor_samples)}};
}

std::vector<Score> MeasureKid(Evaluation& evaluation) {
  const FidResult& r = evaluation.inception();
  return {{"kid",
           {r.kid.distance, r.kid.standard_error},
           fmt::format("{} subsets of {}; {}", r.kid.subsets, r.kernel_subset, Setting(r))}};
}

}  // namespace

const Metric kFidMetric = {"fid", "Fréchet Inception distance: needs --inception, takes minutes; only when named",
                           WhyNot, MeasureFid, true};
const Metric kKidMetric = {"kid", "kernel Inception distance, the same", WhyNot, MeasureKid, true};

}  // namespace grbm
