#include "grbm/train/contrastive.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>

#include "grbm/model/energy.h"
#include "model/state_sums.h"

namespace grbm {

namespace {

// The chains of models with fewer weights than kLargeModel run in pieces that never wait for each other within an update.
// A step of a small model is too short to be shared: its pieces are of at most kPieceRows chains, a thread for each. Others
// run in two halves, with half of the threads for each. The pieces depend on the model and the number of chains alone,
// and their sums are added in order, so that threads leave no trace.
constexpr Index kLargeModel = 1 << 20;
constexpr Index kSmallModel = 1 << 15;
constexpr Index kPieceRows = 50;

double MeanBit(ConstBitView h) {
  Index set = 0;
  for (Index g = 0; g < h.groups(); ++g) {
    for (Index r = 0; r < h.rows(); ++r) set += std::popcount(h.word(r, g));
  }
  return static_cast<double>(set) / static_cast<double>(h.rows() * h.units());
}

// The mean over hidden units of the variance of each between rows.
double Spread(ConstBitView h) {
  std::vector<double> on(static_cast<std::size_t>(h.units()));
  for (Index g = 0; g < h.groups(); ++g) {
    for (Index r = 0; r < h.rows(); ++r) {
      for (std::uint64_t word = h.word(r, g); word != 0; word &= word - 1) {
        on[static_cast<std::size_t>(g * kernels::kGroup + std::countr_zero(word))] += 1;
      }
    }
  }
  const auto rows = static_cast<double>(h.rows());
  double sum = 0;
  for (const double count : on) sum += count / rows * (1 - count / rows);
  return sum / static_cast<double>(h.units());
}

// The part of a chain that begins after `done` of its steps.
SamplerOptions Part(SamplerOptions options, std::int64_t done, std::int64_t steps) {
  options.steps = steps;
  options.adjust_after = std::max<std::int64_t>(0, options.adjust_after - done);
  return options;
}

// Each chain as often as its weight says, to within one: n marks at equal distances, the first at `start` of a
// distance, on the line of all weights.
Chains Resample(const Chains& chains, std::span<const double> log_weights, double start) {
  const double largest = std::ranges::max(log_weights);
  std::vector<double> ends;
  for (const double w : log_weights) ends.push_back((ends.empty() ? 0 : ends.back()) + std::exp(w - largest));
  Chains out = chains;
  Index from = 0;
  for (Index r = 0; r < chains.count(); ++r) {
    const double mark = (static_cast<double>(r) + start) / static_cast<double>(chains.count()) * ends.back();
    while (from + 1 < chains.count() && ends[static_cast<std::size_t>(from)] <= mark) ++from;
    CopyRows(chains.visible.view().Rows(from, 1), out.visible.view().Rows(r, 1));
    CopyRows(chains.hidden.view().Rows(from, 1), out.hidden.view().Rows(r, 1));
  }
  return out;
}

}  // namespace

Contrastive::Contrastive(const TrainOptions& options, std::uint64_t seed, ThreadPool& pool, double noise,
                         SamplerHooks hooks)
    : options_(options), seed_(seed), pool_(pool), noise_(noise), hooks_(std::move(hooks)) {}
Contrastive::~Contrastive() = default;

Chains Contrastive::StartChains(const Model& model, ConstMatrix data, std::uint64_t update) {
  const double temperature = sampler_->law().hidden_temperature();
  if (options_.algorithm == Algorithm::kCd) return ChainsFrom(model, data, seed_, pool_, 0, update, temperature);
  Chains noise = NoiseChains(model, data.rows(), seed_, pool_, 0, update, temperature);
  if (options_.algorithm == Algorithm::kNoiseCd || !chains_ || chains_->count() != noise.count()) return noise;
  Chains chains = *chains_;
  const Stream restart(seed_, Purpose::kRestart);
  for (Index r = 0; r < chains.count(); ++r) {
    if (restart.UniformDouble(update, static_cast<std::uint32_t>(r)) >= options_.restart_fraction) continue;
    CopyRows(noise.visible.view().Rows(r, 1), chains.visible.view().Rows(r, 1));
    CopyRows(noise.hidden.view().Rows(r, 1), chains.hidden.view().Rows(r, 1));
  }
  return chains;
}

// How much more the law of the model at temperature `next` weighs each chain than that at `now`.
std::vector<double> Contrastive::LogWeights(const Model& model, const SamplerOptions& sampler, double now, double next,
                                            const Chains& chains) {
  const Law law = LawOf(sampler);
  if (law.kind == Law::Kind::kMarginal && law.temperature != 1) {
    // exp(-Ẽ/τ) is a law of v alone; at τ = 1 it has (v, h) of exp(-E) as well, and E will do.
    std::vector<double> log_weights = MarginalEnergies(model.Tempered(now), chains.visible, pool_);
    const std::vector<double> colder = MarginalEnergies(model.Tempered(next), chains.visible, pool_);
    for (std::size_t r = 0; r < colder.size(); ++r) log_weights[r] = (log_weights[r] - colder[r]) / law.temperature;
    return log_weights;
  }
  std::vector<double> log_weights = Energies(model, chains.visible, chains.hidden, pool_);
  const double colder = (1 / next - 1 / now) / sampler.temperature;
  for (double& w : log_weights) w *= -colder;
  return log_weights;
}

// Population annealing: one step of the model at each temperature, after which chains give way to others by how much
// more the next temperature weighs them. Returns the share of moves accepted at each step.            [math.md (45)]
std::vector<double> Contrastive::Cool(const Model& model, const SamplerOptions& sampler, std::uint64_t first_step,
                                      Chains& chains) {
  const auto temperature = [&](std::int64_t t) {
    const double left = 1 - static_cast<double>(t) / static_cast<double>(options_.burn_in);
    return std::pow(options_.start_temperature, left);
  };
  const Stream stream(seed_, Purpose::kResample);
  std::vector<double> accepted;
  for (std::int64_t t = 0; t < options_.burn_in; ++t) {
    const std::uint64_t step = first_step + static_cast<std::uint64_t>(t);
    const Model hot = model.Tempered(temperature(t));
    sampler_->Set(hot, Part(sampler, t, 1));
    accepted.push_back(sampler_->Run(chains, {.seed = seed_, .first_step = step}).front());
    const std::vector<double> log_weights = LogWeights(model, sampler, temperature(t), temperature(t + 1), chains);
    chains = Resample(chains, log_weights, stream.UniformDouble(step, 0));
  }
  sampler_->Set(model, Part(sampler, options_.burn_in, sampler.steps - options_.burn_in));
  return accepted;
}

Parameters Contrastive::Gradient(const Model& model, const SamplerOptions& sampler, ConstMatrix data,
                                 std::uint64_t update, Parameters memory) {
  const auto hidden = sampler.method == Method::kLangevin || options_.hidden == HiddenKind::kProbability
                          ? EnergyStatistics::Hidden::kProbability
                          : EnergyStatistics::Hidden::kState;
  if (!statistics_) {
    const auto visible =
        options_.visible == VisibleKind::kMean ? EnergyStatistics::Visible::kMean : EnergyStatistics::Visible::kState;
    statistics_ = std::make_unique<EnergyStatistics>(model, hidden, visible);
    sampler_ = std::make_unique<Sampler>(model, sampler, pool_, OnUnstable::kAllow, hooks_);
  } else {
    statistics_->Reset(model, pool_);
    sampler_->Set(model, sampler);
  }
  report_.unstable_units = sampler_->stability().unstable;

  // Step 1. The positive phase: v from the data, h ~ p(h | v) of the chains' law.
  const Matrix noisy = noise_ > 0 ? WithNoise(data, update) : Matrix();
  const ConstMatrix seen = noise_ > 0 ? ConstMatrix(noisy) : data;
  AddData(model, data, seen, update);

  // Step 2. The negative phase: the mean over all steps of the chains after the burn-in. The data counts against it as
  // often as there are such steps, so that one set of sums will do.
  const auto counted = static_cast<double>(sampler.steps - options_.burn_in);
  statistics_->sums().Scale(-counted, pool_);
  Chains chains = StartChains(model, seen, update);
  RunPlace place{
      .seed = seed_, .first_step = update * static_cast<std::uint64_t>(sampler.steps), .burn_in = options_.burn_in};
  std::vector<double> accepted;
  if (options_.start_temperature > 1) {
    accepted = Cool(model, sampler, place.first_step, chains);
    place.first_step += static_cast<std::uint64_t>(options_.burn_in);
    place.burn_in = 0;
  }
  std::ranges::copy(RunChains(model, chains, place), std::back_inserter(accepted));
  report_.acceptance = std::reduce(accepted.begin(), accepted.end()) / static_cast<double>(accepted.size());
  report_.variety = data_spread_ > 0 ? Spread(chains.hidden) / data_spread_ : 1;
  if (options_.algorithm == Algorithm::kPcd) chains_ = std::move(chains);

  if (memory.W.rows() != model.visible() || memory.W.cols() != model.hidden()) {
    memory = Parameters(model.visible(), model.hidden());
  }
  // Step 3. Of exp(-E/τ), the energy is E/τ.
  const double scale = sampler_->law().temperature * static_cast<double>(data.rows()) * counted;
  statistics_->sums().Gradient(-1 / scale, memory, pool_);
  return memory;
}

// Chains that run on their own from the first step to the last.
struct Contrastive::Piece {
  Piece(const Model& model, const SamplerOptions& options, const EnergyStatistics& like, int threads,
        const SamplerHooks& hooks)
      : pool(threads),
        sampler(model, options, pool, OnUnstable::kAllow, hooks),
        statistics(model, like.hidden(), like.visible()) {}

  ThreadPool pool;
  Sampler sampler;
  EnergyStatistics statistics;
  Chains chains;
  std::vector<double> accepted;
};

std::vector<double> Contrastive::RunChains(const Model& model, Chains& chains, const RunPlace& place) {
  const Index weights = model.visible() * model.hidden();
  if (weights >= kLargeModel || hooks_.step) return sampler_->Run(chains, place, nullptr, statistics_.get());

  const bool small = weights < kSmallModel;
  const Index count = small ? (chains.count() + kPieceRows - 1) / kPieceRows : std::min<Index>(2, chains.count());
  const int threads = small ? 1 : std::max(1, pool_.threads() / 2);
  while (static_cast<Index>(pieces_.size()) < count) {
    pieces_.push_back(std::make_unique<Piece>(model, sampler_->options(), *statistics_, threads, hooks_));
  }
  const Index rows = (chains.count() + count - 1) / count;
  pool_.ParallelFor(count, [&](Index k) {
    Piece& piece = *pieces_[static_cast<std::size_t>(k)];
    const Index first = k * rows;
    const Index size = std::min(rows, chains.count() - first);
    const MutableMatrix visible = chains.visible.view().Rows(first, size);
    const BitView hidden = chains.hidden.view().Rows(first, size);
    if (piece.chains.count() != size)
      piece.chains = {0, Matrix(size, model.visible()), BitMatrix(size, model.hidden())};
    piece.chains.first = chains.first + static_cast<std::uint32_t>(first);
    CopyRows(visible, piece.chains.visible);
    CopyRows(hidden, piece.chains.hidden);
    piece.sampler.Set(model, sampler_->options());
    piece.statistics.Reset(model, piece.pool);
    piece.accepted = piece.sampler.Run(piece.chains, place, nullptr, &piece.statistics);
    CopyRows(piece.chains.visible, visible);
    CopyRows(piece.chains.hidden, hidden);
  });
  std::vector<double> accepted(static_cast<std::size_t>(sampler_->options().steps));
  for (Index k = 0; k < count; ++k) {
    Piece& piece = *pieces_[static_cast<std::size_t>(k)];
    statistics_->sums().Add(piece.statistics.sums(), pool_);
    const double share = static_cast<double>(piece.chains.count()) / static_cast<double>(chains.count());
    for (std::size_t t = 0; t < accepted.size(); ++t) accepted[t] += share * piece.accepted[t];
  }
  return accepted;
}

Matrix Contrastive::WithNoise(ConstMatrix data, std::uint64_t update) const {
  Matrix noisy(data.rows(), data.cols());
  const auto deviation = static_cast<float>(std::sqrt(noise_));
  const Stream stream(seed_, Purpose::kNoise);
  constexpr Index kLeastDraws = 1 << 12;  // that are worth a thread
  pool_.ParallelForRanges(data.rows(), kLeastDraws / std::max<Index>(1, data.cols()), [&](Index first, Index end) {
    for (Index r = first; r < end; ++r) {
      const std::span<float> row = noisy.row(r);
      kernels::DrawNormals({stream, update, 0}, r, row);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = data.row(r)[i] + deviation * row[i];
    }
  });
  return noisy;
}

void Contrastive::AddData(const Model& model, ConstMatrix data, ConstMatrix noisy, std::uint64_t update) {
  CheckVisible(model, data, "data");
  const PackedWeights& weights = model.packed(pool_);
  kernels::Panels v(data.rows(), model.visible());
  PackRows(noisy, v, pool_);
  BitMatrix h(data.rows(), model.hidden());
  const DrawPlace draw{Stream(seed_, Purpose::kPositiveHidden), update, 0};
  kernels::HiddenResult result;
  result.bits = h;
  result.draw = &draw;
  result.inverse_temperature = static_cast<float>(1 / sampler_->law().hidden_temperature());
  result.probability_scale = result.inverse_temperature;
  const bool of_probabilities = statistics_->hidden() == EnergyStatistics::Hidden::kProbability;
  kernels::Panels p(of_probabilities ? data.rows() : 0, model.hidden());
  if (of_probabilities) result.probabilities = p;
  UpdateHidden(weights, v, result, pool_);
  if (noise_ > 0 && statistics_->visible() == EnergyStatistics::Visible::kMean) {
    PackRows(data, v, pool_);
    statistics_->sums().AddMeans(v, {.absolute = noise_}, p.view(), double{result.probability_scale}, pool_);
  } else if (of_probabilities) {
    statistics_->sums().Add(v, p.view(), pool_);
  } else {
    statistics_->sums().Add(v, ConstBitView(h), pool_);
  }
  data_means_ = {statistics_->sums().MeanVisible(), statistics_->sums().MeanHidden()};
  data_spread_ = Spread(h);
  report_.hidden_activity = MeanBit(h);
  report_.reconstruction = MeanSquaredDifference(data, VisibleMean(model, h, pool_));
}

}  // namespace grbm
