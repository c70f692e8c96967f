#include "train/early_stop.h"

#include <cmath>

#include "grbm/data/classes.h"
#include "grbm/evaluate/pseudo.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/energy.h"
#include "grbm/model/visible_law.h"
#include "grbm/sampler/law.h"

namespace grbm {

namespace {

constexpr Index kPseudoUnits = 16;  // of each row

const Dataset& Required(const std::optional<Dataset>& held_out) {
  if (!held_out) {
    throw ConfigError("train: stop_after: no rows are held out to measure on: set data.held_out, for instance to 0.1");
  }
  held_out->RequireNoGaps("train: stop_after");
  return *held_out;
}

}  // namespace

EarlyStop::EarlyStop(const TrainOptions& options, const std::optional<Dataset>& held_out,
                     const DataStatistics& statistics, std::uint64_t seed, ThreadPool& pool)
    : options_(options), seed_(seed), pool_(pool) {
  const Dataset& data = Required(held_out);
  rows_ = ReadSome(data, kRows, seed);
  if (options.stop_on == StopOn::kPseudo && rows_.rows() < 2) {
    throw ConfigError("train: stop_on = \"pseudo\": one row is held out: two at least are needed");
  }
  if (options.stop_on == StopOn::kLabels) {
    if (statistics.classes.empty()) {
      throw ConfigError("train: stop_on = \"labels\": the model has none: set model.labels=true, or another stop_on");
    }
    const std::vector<Index> all = ClassNumbers(data, statistics.classes);
    for (const Index r : SomeRows(data, kRows, seed)) classes_.push_back(all[ToSize(r)]);
  }
  statistics.standardization.Apply(rows_);
}

std::pair<std::string, double> EarlyStop::Measure(const ModelFile& file) const {
  const VisibleLaw law = file.law();
  if (options_.stop_on == StopOn::kPseudo) {
    const Index units = std::min(kPseudoUnits, rows_.cols());
    return {"held_out_pseudo_likelihood", PseudoLikelihood(law, rows_, units, seed_, pool_).value};
  }
  const auto rows = static_cast<double>(rows_.rows());
  const BasicMatrix<double> classes = ClassesOf(law, rows_, pool_);
  double sum = 0;
  if (options_.stop_on == StopOn::kLabels) {
    for (Index r = 0; r < rows_.rows(); ++r) sum += classes(r, classes_[ToSize(r)]);
    return {"held_out_label_log_probability", sum / rows};
  }
  const double temperature = LawOf(file.sampler).hidden_temperature();
  const Matrix mean = VisibleMean(file.model, ExpectedHidden(file.model, classes, rows_, pool_, temperature), pool_);
  for (Index r = 0; r < rows_.rows(); ++r) {
    sum += SquaredDistance(rows_.row(r), mean.row(r).first(rows_.row(r).size()));
  }
  return {"held_out_reconstruction", sum / (rows * static_cast<double>(rows_.cols()))};
}

void EarlyStop::See(const Model& model, std::uint64_t updates, double measured) {
  const double lower = options_.stop_on == StopOn::kReconstruction ? measured : -measured;
  if (!std::isfinite(lower) || (best_ && lower >= best_->measured)) return;
  best_ = {updates, lower, model.parameters()};
}

bool EarlyStop::Ended(std::uint64_t updates, std::uint64_t epoch) const {
  if (!best_) return false;
  const auto since = static_cast<double>(updates - best_->updates);
  return since >= options_.stop_after * static_cast<double>(epoch);
}

}  // namespace grbm
