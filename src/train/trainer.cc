#include "grbm/train/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "grbm/core/random.h"
#include "grbm/model/conditions.h"
#include "grbm/sampler/transition.h"
#include "sampler/schedule.h"
#include "train/average.h"

namespace grbm {

namespace {

// A variance this many times the initial one has run away: data in the model's units have variances of about 1.
constexpr double kRunaway = 1e6;

double Updates(const TrainOptions& train, std::uint64_t rows) {
  return train.epochs * static_cast<double>(rows) / static_cast<double>(train.batch_size);
}

// That missing values can be drawn given the known ones, from the law that is learned.                   [math.md (65)]
void CheckGaps(const Trainer::Setup& setup) {
  if (setup.train.discriminative > 0) {
    throw ConfigError(
        fmt::format("train: missing values with train.discriminative = {}: p(y | v) is of whole rows: set it to 0",
                    setup.train.discriminative));
  }
  const Law law = LawOf(setup.sampler);
  if (law.kind != Law::Kind::kJoint && setup.sampler.temperature != 1) {
    throw ConfigError(
        fmt::format("train: missing values at sampler.temperature = {}: they are drawn from exp(-E/temperature), which "
                    "these chains do not have: set it to 1, or sampler.method to \"gibbs\"",
                    setup.sampler.temperature));
  }
  if (setup.noise > setup.model.variance_floor * law.temperature) {
    throw ConfigError(
        fmt::format("train: missing values with data.noise = {}: variances must not fall below that of the noise: set "
                    "model.variance_floor to {} or more (now {})",
                    setup.noise, setup.noise / law.temperature, setup.model.variance_floor));
  }
}

// That every chain is one of the conditions that it has now.
void CheckConditions(const Trainer::Setup& setup) {
  const char* const wanted = setup.label_units > 0                      ? "model.labels = false"
                             : setup.train.algorithm == Algorithm::kPcd ? "train.algorithm = \"noise-cd\" or \"cd\""
                                                                        : nullptr;
  if (wanted == nullptr) return;
  throw ConfigError(fmt::format("train: conditions (data.condition, data.history) go with {}", wanted));
}

void CheckSetup(const Trainer::Setup& setup) {
  if (setup.conditions > 0) CheckConditions(setup);
  if (setup.gaps) CheckGaps(setup);
  if (setup.train.burn_in >= setup.sampler.steps) {
    throw ConfigError(fmt::format("train: burn_in = {}: allowed is below sampler.steps = {}, or no step is left",
                                  setup.train.burn_in, setup.sampler.steps));
  }
  if (setup.train.start_temperature > 1 && (setup.train.algorithm != Algorithm::kNoiseCd || setup.train.burn_in == 0)) {
    throw ConfigError(
        fmt::format("train: start_temperature = {}: chains cool over the burn-in, from noise; allowed with algorithm = "
                    "\"noise-cd\" and burn_in of 1 and more, otherwise set it to 1",
                    setup.train.start_temperature));
  }
  if (setup.train.far_starts > 0 && setup.train.algorithm == Algorithm::kCd) {
    throw ConfigError(
        fmt::format("train: far_starts = {}: with algorithm = \"cd\" chains start from data: allowed is 0, or set "
                    "algorithm = \"pcd\" or \"noise-cd\"",
                    setup.train.far_starts));
  }
  if (setup.train.visible == VisibleKind::kMean) {
    RequireMeans(setup.sampler,
                 FindSampler(setup.sampler.method).marginal || setup.train.hidden == HiddenKind::kProbability);
  }
  if (setup.train.discriminative > 0) {
    const bool probability =
        FindSampler(setup.sampler.method).marginal || setup.train.hidden == HiddenKind::kProbability;
    const char* const wanted = setup.label_units == 0           ? "model.labels = true"
                               : !probability                   ? "train.hidden = \"probability\""
                               : setup.sampler.temperature != 1 ? "sampler.temperature = 1"
                                                                : nullptr;
    if (wanted != nullptr) {
      throw ConfigError(fmt::format("train: discriminative = {}: it is known with {}: set it, or discriminative = 0",
                                    setup.train.discriminative, wanted));
    }
  }
  if (setup.train.keep_labels) {
    // Centred steps are of one objective in all parameters; and counts that never change are never quite those of the shares.
    const bool forever = setup.train.algorithm == Algorithm::kPcd && setup.train.restart_fraction == 0;
    const char* const why =
        setup.label_units == 0 ? "the model has no labels: allowed is false, or set model.labels=true"
        : setup.train.centred  ? "the biases of classes are learned apart: set train.centred=false"
        : forever ? "chains that never start anew are never of other classes: set train.restart_fraction above 0"
                  : nullptr;
    if (why != nullptr) throw ConfigError(fmt::format("train: keep_labels = true: {}", why));
  }
  const auto units = static_cast<std::size_t>(setup.visible - setup.label_units);
  if (setup.train.unit_scale == UnitScale::kData && (setup.mean.size() != units || setup.deviation.size() != units)) {
    throw ConfigError("train: unit_scale = \"data\": the data's mean and deviation of every visible unit are needed");
  }
  if (setup.start) {
    const auto [visible, hidden] = std::pair(setup.start->W.rows(), setup.start->W.cols());
    if (visible != setup.visible) {
      throw DataError(
          fmt::format("train: the model to start from has {} visible units, the data have {}: they must be as many",
                      visible, setup.visible));
    }
    if (hidden > setup.model.hidden) {
      throw ConfigError(fmt::format("model: hidden = {}: the model to start from has {}: allowed is as many and more",
                                    setup.model.hidden, hidden));
    }
  }
  if (setup.rows < 1) throw DataError("train: the data set has no rows: at least one is needed");
  const double updates = Updates(setup.train, setup.rows);
  const auto steps = static_cast<double>(std::max(setup.sampler.steps, setup.gaps ? setup.train.gap_steps + 1 : 0));
  if (updates * steps > static_cast<double>(Stream::kMaxStep)) {
    throw ConfigError(fmt::format("train: epochs = {}: that is {:.3g} updates, more than the random streams can number",
                                  setup.train.epochs, updates));
  }
}

Ranks& RanksOf(const Trainer::Setup& setup) { return setup.ranks != nullptr ? *setup.ranks : OneRank(); }

std::pair<Index, Index> OwnRows(const Trainer::Setup& setup) {
  return RowsOfRank(RanksOf(setup), setup.visible + setup.conditions, setup.model.hidden, setup.train.batch_size);
}

double Decay(Schedule schedule, std::uint64_t update, std::uint64_t total) {
  if (schedule == Schedule::kConstant) return 1;
  return CosineDecay(static_cast<std::int64_t>(update), static_cast<std::int64_t>(total));
}

// The deviation of each unit in the data, 1 at most; none where all units have the same scale.
std::vector<float> UnitScales(const Trainer::Setup& setup) {
  std::vector<float> scales;
  if (setup.train.unit_scale == UnitScale::kSame) return scales;
  for (const float deviation : setup.deviation) scales.push_back(std::min(1.0f, deviation));
  scales.resize(static_cast<std::size_t>(setup.visible), 1.0f);  // of labels
  return scales;
}

Model StartOf(const Trainer::Setup& setup) {
  const ModelOptions& options = setup.model;
  Model model = Model::Initial(setup.visible, options.hidden, setup.seed, options.initial_variance,
                               options.variance_floor, setup.label_units, setup.conditions);
  const std::vector<float> scales = UnitScales(setup);
  if (scales.empty() && !setup.start) return model;
  Parameters p = model.parameters();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    for (float& w : p.W.row(static_cast<Index>(i))) w *= scales[i];
  }
  if (!scales.empty()) std::ranges::copy(setup.mean, p.mu.begin());
  if (setup.start) {
    const auto given = setup.start->Tensors();
    const auto fresh = p.Tensors();
    for (std::size_t t = 0; t < given.size(); ++t) {
      for (Index k = 0; k < given[t].lines(); ++k) std::ranges::copy(given[t].line(k), fresh[t].line(k).begin());
    }
  }
  return Model(std::move(p), options.variance_floor, setup.label_units);
}

std::string Advice(const TrainOptions& train) {
  if (train.clip_norm == 0) return "likely cause: no gradient clipping; set train.clip_norm, for instance to 10";
  return fmt::format(
      "likely cause: steps too large; lower train.learning_rate (now {}), train.momentum (now {}) or train.clip_norm "
      "(now {}), or set sampler.step_scale = \"unit\"",
      train.learning_rate, train.momentum, train.clip_norm);
}

}  // namespace

std::uint64_t TotalUpdates(const TrainOptions& train, std::uint64_t rows) {
  return static_cast<std::uint64_t>(std::min(std::ceil(Updates(train, rows)), 0x1p63));
}

Trainer::Trainer(const Setup& setup, ReadBatch read, ThreadPool& pool)
    : setup_((CheckSetup(setup), setup)),
      read_(std::move(read)),
      pool_(pool),
      total_(TotalUpdates(setup.train, setup.rows)),
      model_(StartOf(setup)),
      contrastive_(setup.train, setup.seed, pool, setup.noise, setup.hooks, RanksOf(setup)),
      optimizer_(setup.train, setup.visible, setup.model.hidden, UnitScales(setup), setup.conditions),
      first_row_(OwnRows(setup).first),
      batch_(OwnRows(setup).second, setup.visible + setup.conditions) {
  CheckOptions(setup_.sampler);
  contrastive_.set_label_shares(setup_.label_shares);
  if (!setup_.gaps || setup_.gap_rows == 0 || setup_.train.gap_start == GapStart::kNoise) return;
  // No unit is on: at first, what is missing is drawn around mu.
  gap_states_.emplace(setup_.gap_rows, BitMatrix(1, setup_.model.hidden).view().groups());
  gap_numbers_.resize(static_cast<std::size_t>(setup_.train.batch_size));
}

void Trainer::TakeGapStates() {
  if (!gap_states_) return;
  setup_.gap_numbers(updates_, gap_numbers_);
  BitMatrix hidden(batch_.rows(), setup_.model.hidden);
  for (Index r = 0; r < hidden.rows(); ++r) {
    const Index number = gap_numbers_[static_cast<std::size_t>(first_row_ + r)];
    if (number < 0) continue;
    for (Index g = 0; g < gap_states_->cols(); ++g) hidden.view().word(r, g) = (*gap_states_)(number, g);
  }
  contrastive_.set_gap_states(std::move(hidden));
}

void Trainer::PutGapStates() {
  const std::optional<BitMatrix> hidden = contrastive_.GapStates();
  if (!hidden) return;
  for (Index r = 0; r < hidden->rows(); ++r) {
    const Index number = gap_numbers_[static_cast<std::size_t>(r)];
    if (number < 0) continue;
    for (Index g = 0; g < gap_states_->cols(); ++g) (*gap_states_)(number, g) = hidden->view().word(r, g);
  }
}

Parameters Trainer::BatchGradient(const SamplerOptions& sampler, bool report, Offsets& means) {
  if (setup_.conditions == 0) {
    Parameters gradient = contrastive_.Gradient(model_, sampler, batch_, updates_, std::exchange(memory_, {}), report);
    means = contrastive_.data_means();
    return gradient;
  }
  TakeShift(model_, batch_, pool_);
  Model joint = WithConditionUnits(model_);
  if (joint_) {
    joint_->Replace(std::move(joint));
  } else {
    joint_ = std::move(joint);
  }
  const Parameters of_units = contrastive_.Gradient(*joint_, sampler, batch_, updates_, {}, report);
  means = contrastive_.data_means();
  means.visible.resize(static_cast<std::size_t>(model_.visible()));
  return GradientGivenConditions(model_, of_units, contrastive_.shift_gradient(), pool_);
}

// Takes the gradient in the classes' biases out. Returns where they go in its place, a tenth of the way in the logarithm to where
// each class would be expected as often as it is: nothing pulls at c but these counts, so c needs no small steps, and must keep
// up with all other parameters, whatever their rates are.                                               [math.md (77)]
std::vector<float> Trainer::TakeLabelBiases(Parameters& gradient) const {
  constexpr double kPart = 0.1;
  constexpr double kLeast = 0.01;  // of a share, for the logarithm
  std::vector<float> next;
  const double temperature = LawOf(setup_.sampler).temperature;
  for (std::size_t k = 0; k < static_cast<std::size_t>(model_.label_units()); ++k) {
    const std::size_t unit = static_cast<std::size_t>(model_.gaussian_units()) + k;
    const double scale = temperature * double{model_.variance()[unit]};
    const double share = setup_.label_shares[k];
    const double expected = share + scale * double{gradient.mu[unit]};
    const double move = share > 0 ? -kPart * scale * std::log(std::max(expected / share, kLeast)) : 0;
    next.push_back(model_.mu()[unit] + static_cast<float>(move));
    gradient.mu[unit] = 0;
  }
  return next;
}

UpdateMetrics Trainer::Update(bool report) {
  const TrainOptions& train = setup_.train;
  UpdateMetrics metrics;
  metrics.update = updates_ + 1;
  metrics.epoch =
      static_cast<double>(metrics.update) * static_cast<double>(train.batch_size) / static_cast<double>(setup_.rows);
  metrics.learning_rate = train.learning_rate * Decay(train.learning_rate_schedule, updates_, total_);

  SamplerOptions sampler = setup_.sampler;
  sampler.step_size *= Decay(train.step_size_schedule, updates_, total_);
  // No move is rejected, but the law that is aimed at stays the same, and with it the gradient.
  if (metrics.epoch <= train.adjust_warmup_epochs) sampler.adjust_after = sampler.steps;
  metrics.step_size = sampler.step_size;

  const auto diverged = [&](const std::string& what) {
    throw NumericError(fmt::format("training diverged at update {}: {}; {}", metrics.update, what, Advice(train)));
  };
  read_(updates_, batch_);
  TakeGapStates();
  Parameters gradient;
  Offsets means;
  try {
    gradient = BatchGradient(sampler, report, means);
  } catch (const DataError& error) {
    diverged(error.what());
  }
  metrics.batch = contrastive_.report();

  std::optional<Offsets> offsets = offsets_;
  if (train.centred) {
    if (!offsets) offsets.emplace();
    MoveOffsets(*offsets, means, updates_);
    CentreGradient(model_, *offsets, gradient, pool_);
  }
  const bool apart = train.keep_labels && train.rate[Parameters::kMu] > 0;
  const std::vector<float> label_biases = apart ? TakeLabelBiases(gradient) : std::vector<float>();
  metrics.gradient_norm = optimizer_.Step(model_.parameters(), metrics.learning_rate, gradient, pool_);
  if (!std::isfinite(metrics.gradient_norm)) diverged("the gradient is not finite");
  std::ranges::copy(label_biases, gradient.mu.begin() + model_.gaussian_units());
  if (train.centred) UncentreStep(model_, *offsets, gradient, pool_);
  try {
    Model next(std::move(gradient), setup_.model.variance_floor, setup_.label_units);
    if (std::ranges::max(next.variance()) > kRunaway * setup_.model.initial_variance) {
      diverged(fmt::format("the variance of a visible unit reached {:.3g}", std::ranges::max(next.variance())));
    }
    memory_ = model_.Replace(std::move(next));
  } catch (const DataError& error) {
    diverged(error.what());
  }
  offsets_ = std::move(offsets);
  PutGapStates();
  ++updates_;
  if (train.average > 0) {
    if (!average_) average_.emplace();
    MoveAverage(*average_, model_.parameters(), train.average, updates_, pool_);
  }
  metrics.mean_variance = model_.mean_variance();
  const auto log_var = model_.log_var().first(static_cast<std::size_t>(model_.gaussian_units()));
  metrics.min_log_var = std::ranges::min(log_var);
  metrics.max_log_var = std::ranges::max(log_var);
  return metrics;
}

Model Trainer::Result() const {
  return average_ ? Model(*average_, setup_.model.variance_floor, setup_.label_units) : model_;
}

TrainState Trainer::State() const {
  return {updates_, model_.parameters(), optimizer_.moments(), contrastive_.chains(), offsets_, average_, gap_states_};
}

void Trainer::Restore(TrainState state) {
  const auto has = [](const std::vector<float>& values, Index count) { return std::ssize(values) == count; };
  const auto fits = [&](const Parameters& p) { return SameShapes(p, model_.parameters()); };
  if (!fits(state.parameters) || state.moments.size() != optimizer_.moments().size() ||
      !std::ranges::all_of(state.moments, fits)) {
    throw DataError(
        fmt::format("checkpoint: {} × {} weights and {} running means, but the settings ask for {} × {} and {}",
                    state.parameters.W.rows(), state.parameters.W.cols(), state.moments.size(), model_.visible(),
                    model_.hidden(), optimizer_.moments().size()));
  }
  if (state.chains &&
      (state.chains->visible.cols() != model_.visible() || state.chains->hidden.units() != model_.hidden() ||
       state.chains->hidden.rows() != state.chains->count())) {
    throw DataError(
        fmt::format("checkpoint: {} chains of {} visible, and {} of {} hidden units: expected are {} and {}",
                    state.chains->count(), state.chains->visible.cols(), state.chains->hidden.rows(),
                    state.chains->hidden.units(), model_.visible(), model_.hidden()));
  }
  // Of the last word, bits past the last unit: kernels count on there being none.
  const Index last = BitMatrix(1, model_.hidden()).view().groups() - 1;
  const auto stray = [&](std::uint64_t word) {
    return model_.hidden() % BitView::kGroup != 0 && word >> (model_.hidden() % BitView::kGroup) != 0;
  };
  bool strays = false;
  for (Index r = 0; state.chains && r < state.chains->count(); ++r) {
    strays |= stray(std::as_const(state.chains->hidden).view().word(r, last));
  }
  for (Index r = 0; state.gaps && state.gaps->cols() == last + 1 && r < state.gaps->rows(); ++r) {
    strays |= stray((*state.gaps)(r, last));
  }
  if (strays) throw DataError("checkpoint: hidden states have units that the model has not");
  const bool has_offsets =
      state.offsets && has(state.offsets->visible, model_.visible()) && has(state.offsets->hidden, model_.hidden());
  if (setup_.train.centred && state.updates > 0 && !has_offsets) {
    throw DataError("checkpoint: no offsets of the centred gradient for each unit, but the settings ask for it");
  }
  if (setup_.train.average > 0 && state.updates > 0 && !(state.average && fits(*state.average))) {
    throw DataError("checkpoint: no averages of the parameters, but the settings ask for them (train.average)");
  }
  // A state from before there were such states has none: its rows begin anew.
  if (gap_states_ && state.gaps) {
    if (state.gaps->rows() != gap_states_->rows() || state.gaps->cols() != gap_states_->cols()) {
      throw DataError(
          fmt::format("checkpoint: hidden states of {} rows with gaps, in {} words each: expected are {} in {}",
                      state.gaps->rows(), state.gaps->cols(), gap_states_->rows(), gap_states_->cols()));
    }
    gap_states_ = std::move(state.gaps);
  }
  model_ = Model(std::move(state.parameters), setup_.model.variance_floor, setup_.label_units);
  optimizer_.moments() = std::move(state.moments);
  optimizer_.set_steps(state.updates);
  contrastive_.set_chains(std::move(state.chains));
  offsets_ = std::move(state.offsets);
  average_ = std::move(state.average);
  updates_ = state.updates;
}

}  // namespace grbm
