#include "grbm/train/data_trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/json.h"
#include "grbm/data/classes.h"
#include "grbm/data/standardize.h"
#include "grbm/model/labels.h"

namespace grbm {

DataStatistics ComputeStatistics(const Config& config, const Dataset& data) {
  DataStatistics statistics{ComputeStandardization(data, config.data.standardize, config.data.margin), {}};
  if (config.train.unit_scale == UnitScale::kData) {
    statistics.units = UnitStatistics(data, statistics.standardization);
  }
  statistics.conditions = ConditionStandardization(data, config.data.standardize, statistics.standardization);
  if (config.model.labels) statistics.classes = ClassNames(data);
  return statistics;
}

namespace {

// Counts the rows with gaps: the number of each, -1 for others; empty where there are none. Throws DataError for a row of
// which nothing is known: it says nothing of the model.
std::vector<Index> NumberGaps(const Dataset& data) {
  std::vector<Index> numbers;
  if (!data.has_gaps()) return numbers;
  Matrix row(1, data.visible());
  Index count = 0;
  for (Index r = 0; r < data.rows(); ++r) {
    data.Read(r, row);
    const auto missing = std::ranges::count_if(row.values(), [](float value) { return std::isnan(value); });
    if (missing == data.visible()) {
      throw DataError(fmt::format("{}: row {} (counted from 0) of those to train on: no value is known: leave it out",
                                  data.source(), r));
    }
    numbers.push_back(missing > 0 ? count++ : -1);
  }
  if (count == 0) numbers.clear();
  return numbers;
}

// The share of each class in the rows, by their weights.
std::vector<double> LabelShares(std::span<const Index> labels, std::span<const double> weights, std::size_t classes) {
  std::vector<double> shares(classes);
  double sum = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const double weight = weights.empty() ? 1 : weights[r];
    shares[static_cast<std::size_t>(labels[r])] += weight;
    sum += weight;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// None where a file of a model cannot have them.
std::vector<std::string> NamesToKeep(const std::vector<std::string>& names) {
  const auto fits = [](const std::string& name) { return name.size() <= ModelFile::kMaxName && IsUtf8(name); };
  return std::ranges::all_of(names, fits) ? names : std::vector<std::string>();
}

}  // namespace

DataTrainer::DataTrainer(const Config& config, Dataset data, std::uint64_t seed, ThreadPool& pool,
                         const SamplerHooks& hooks, std::optional<DataStatistics> statistics,
                         const std::optional<ModelFile>& init, Ranks* ranks)
    : config_(config),
      data_(std::move(data)),
      statistics_(statistics ? *std::move(statistics) : ComputeStatistics(config_, data_)),
      gap_numbers_(NumberGaps(data_)),
      labels_(config_.model.labels ? ClassNumbers(data_, statistics_.classes) : std::vector<Index>()),
      seed_(seed),
      batches_(data_.rows(), config_.train.batch_size, seed_, data_.weights()),
      rows_(static_cast<std::size_t>(config_.train.batch_size)),
      trainer_(
          MakeSetup(hooks, init, ranks), [this](std::uint64_t update, MutableMatrix out) { Read(update, out); }, pool) {
  CheckGeneration(config_.generate, config_.sampler);
  CheckKeptLabels(config_.generate, config_.model.labels);
  const Stability stability = CheckStability(trainer_.model(), config_.sampler);
  if (stability.unstable > 0) {
    throw ConfigError(fmt::format("sampler: step_size = {}: a step of {:.3g} variances diverges; allowed is below 2",
                                  config_.sampler.step_size, stability.ratio));
  }
}

void DataTrainer::CheckInit(const ModelFile& init) const {
  if (init.model.gaussian_units() != data_.visible()) {
    throw DataError(
        fmt::format("{}: rows of {} values, but the model to start from has {} visible units: as many are needed",
                    data_.source(), data_.visible(), init.model.gaussian_units()));
  }
  if (init.model.conditions() != data_.conditions() || init.history != data_.history()) {
    throw DataError(fmt::format(
        "{}: {} conditions, of {} rows before, but the model to start from has {}, of {}: they must be as many: see "
        "data.condition and data.history",
        data_.source(), data_.conditions(), data_.history(), init.model.conditions(), init.history));
  }
  const bool has_margin = !init.standardization.margin.empty();
  if (has_margin == statistics_.standardization.margin.empty()) {
    throw DataError(fmt::format(
        "{}: data.margin = {}, but the model to start from {}: in no other units would its law be the same: set {}",
        data_.source(), config_.data.margin, has_margin ? "has a margin" : "has none",
        has_margin ? "it to that of the model's training" : "data.margin=0"));
  }
  data_.CheckNames(init.columns, init.condition_columns, "the model to start from");
  if (init.classes != statistics_.classes) {
    throw DataError(fmt::format(
        "{}: {} classes, but the model to start from has {}: they must be the same, with the same names: see "
        "model.labels",
        data_.source(), statistics_.classes.size(), init.classes.size()));
  }
}

Trainer::Setup DataTrainer::MakeSetup(const SamplerHooks& hooks, const std::optional<ModelFile>& init,
                                      Ranks* ranks) const {
  std::optional<Parameters> start;
  if (init) {
    CheckInit(*init);
    const Model model = InConditionUnits(init->model, init->conditions, statistics_.conditions);
    start = InUnits(model, init->standardization, statistics_.standardization).parameters();
  }
  return {.model = config_.model,
          .sampler = config_.sampler,
          .train = config_.train,
          .seed = seed_,
          .visible = data_.visible() + std::ssize(statistics_.classes),
          .rows = static_cast<std::uint64_t>(data_.rows()),
          .noise = config_.data.noise,
          .mean = statistics_.units.mean,
          .deviation = statistics_.units.deviation,
          .hooks = hooks,
          .start = std::move(start),
          .ranks = ranks,
          .label_units = std::ssize(statistics_.classes),
          .label_shares = LabelShares(labels_, data_.weights(), statistics_.classes.size()),
          .gaps = !gap_numbers_.empty(),
          .gap_rows = gap_numbers_.empty() ? 0 : 1 + std::ranges::max(gap_numbers_),
          .gap_numbers =
              [this](std::uint64_t update, std::span<Index> numbers) {
                batches_.Rows(update, numbers);
                for (Index& number : numbers) number = gap_numbers_[static_cast<std::size_t>(number)];
              },
          .conditions = data_.conditions()};
}

void DataTrainer::Read(std::uint64_t update, MutableMatrix out) {
  batches_.Rows(update, rows_);
  const std::span<const Index> rows =
      std::span(rows_).subspan(static_cast<std::size_t>(trainer_.first_row()), static_cast<std::size_t>(out.rows()));
  const MutableMatrix values(out.data(), out.rows(), data_.visible(), out.stride());
  data_.Read(rows, values);
  statistics_.standardization.Apply(values);
  if (data_.conditions() > 0) {
    const MutableMatrix conditions(out.data() + data_.visible(), out.rows(), data_.conditions(), out.stride());
    data_.ReadConditions(rows, conditions);
    statistics_.conditions.Apply(conditions);
  }
  for (Index r = 0; r < out.rows() && !statistics_.classes.empty(); ++r) {
    SetLabel(trainer_.model(), out.row(r), labels_[static_cast<std::size_t>(rows[static_cast<std::size_t>(r)])]);
  }
}

ModelFile DataTrainer::File() const {
  return {trainer_.Result(),
          config_.sampler,
          config_.generate,
          statistics_.standardization,
          data_.shape(),
          {{"bits", std::to_string(data_.bits())},
           {"data", data_.source()},
           {"seed", std::to_string(seed_)},
           {"updates", std::to_string(trainer_.updates())},
           {"config", ConfigText(config_)}},
          statistics_.classes,
          statistics_.conditions,
          data_.history(),
          NamesToKeep(data_.names().columns),
          NamesToKeep(data_.names().conditions)};
}

}  // namespace grbm
