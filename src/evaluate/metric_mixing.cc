#include <fmt/core.h>

#include <algorithm>

#include "evaluate/metrics.h"
#include "grbm/evaluate/mixing.h"

namespace grbm {

namespace {

constexpr Index kCurveChains = 500;

void Add(std::vector<Score>& scores, const std::string& name, const Diagnostics& d, const MixingOptions& options) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const Index draws = options.chains * (options.steps - options.steps / 2);
  scores.push_back(
      {name + "_rhat", {d.rhat, unknown}, d.rhat > 1.05 ? "above 1.05: not converged" : "1 where chains agree"});
  scores.push_back({name + "_ess", {d.ess_mean, unknown}, fmt::format("of {} draws", draws)});
  scores.push_back({name + "_autocorrelation_time", {d.autocorrelation_time, unknown}, "steps"});
}

std::vector<Score> Measure(Evaluation& evaluation) {
  const ModelFile& file = evaluation.file();
  MixingOptions options;
  options.seed = evaluation.request().seed;
  const Mixing mixing = MeasureMixing(file, evaluation.InModelUnits(evaluation.training()), options, evaluation.pool(),
                                      evaluation.progress());
  std::vector<Score> scores;
  Add(scores, "energy", mixing.energy, options);
  Add(scores, "activity", mixing.activity, options);
  scores.push_back({"acceptance", {mixing.acceptance, std::numeric_limits<double>::quiet_NaN()}, "share of moves"});

  const Matrix& features = evaluation.training_features();
  const Index chains = std::min(kCurveChains, features.rows());
  if (chains < 20) return scores;
  const std::int64_t most = std::clamp<std::int64_t>(10 * file.generation().steps, 100, 1000);
  const StepsCurve curve = MeasureSteps(file, evaluation.quick(), features.view().Rows(0, chains), most, options.seed,
                                        evaluation.pool(), evaluation.progress());
  for (const StepsCurve::Point& point : curve.points) {
    scores.push_back({fmt::format("distance_after_{}", point.steps), point.distance,
                      point.steps == 1 ? fmt::format("quick Fréchet distance of {} samples", chains) : ""});
  }
  scores.push_back({"steps_enough",
                    {static_cast<double>(curve.enough), std::numeric_limits<double>::quiet_NaN()},
                    "the first that is within two standard errors of the best"});
  return scores;
}

}  // namespace

const Metric kMixingMetric = {"mixing", "how fast chains forget their start, and how many steps samples need",
                              WhyNotOfRows, Measure};

}  // namespace grbm
