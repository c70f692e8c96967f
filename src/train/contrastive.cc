#include "grbm/train/contrastive.h"

#include <bit>
#include <numeric>

#include "grbm/model/energy.h"
#include "model/state_sums.h"

namespace grbm {

namespace {

double MeanBit(ConstBitView h) {
  Index set = 0;
  for (Index g = 0; g < h.groups(); ++g) {
    for (Index r = 0; r < h.rows(); ++r) set += std::popcount(h.word(r, g));
  }
  return static_cast<double>(set) / static_cast<double>(h.rows() * h.units());
}

}  // namespace

Contrastive::Contrastive(const TrainOptions& options, std::uint64_t seed, ThreadPool& pool)
    : options_(options), seed_(seed), pool_(pool) {}

Chains Contrastive::StartChains(const Model& model, ConstMatrix data, std::uint64_t update) {
  if (options_.algorithm == Algorithm::kCd) return ChainsFrom(model, data, seed_, pool_, 0, update);
  Chains noise = NoiseChains(model, data.rows(), seed_, pool_, 0, update);
  if (options_.algorithm == Algorithm::kNoiseCd || !chains_ || chains_->count() != noise.count()) return noise;
  Chains chains = std::move(*chains_);
  const Stream restart(seed_, Purpose::kRestart);
  for (Index r = 0; r < chains.count(); ++r) {
    if (restart.UniformDouble(update, static_cast<std::uint32_t>(r)) >= options_.restart_fraction) continue;
    CopyRows(noise.visible.view().Rows(r, 1), chains.visible.view().Rows(r, 1));
    CopyRows(noise.hidden.view().Rows(r, 1), chains.hidden.view().Rows(r, 1));
  }
  return chains;
}

Parameters Contrastive::Gradient(const Model& model, const SamplerOptions& sampler, ConstMatrix data,
                                 std::uint64_t update) {
  const auto hidden = sampler.method == Method::kLangevin || options_.hidden == HiddenKind::kProbability
                          ? EnergyStatistics::Hidden::kProbability
                          : EnergyStatistics::Hidden::kState;
  if (!positive_) {
    positive_ = std::make_unique<EnergyStatistics>(model, hidden);
    negative_ = std::make_unique<EnergyStatistics>(model, hidden);
    sampler_ = std::make_unique<Sampler>(model, sampler, pool_, OnUnstable::kAllow);
  } else {
    positive_->Reset(model);
    negative_->Reset(model);
    sampler_->Set(model, sampler);
  }
  report_.unstable_units = sampler_->stability().unstable;

  // Step 1. The positive phase: v from the data, h ~ p(h | v).
  AddData(model, data, update);

  // Step 2. The negative phase: the mean over all steps of the chains after the burn-in.
  Chains chains = StartChains(model, data, update);
  const std::uint64_t first_step = update * static_cast<std::uint64_t>(sampler.steps);
  const RunPlace place{.seed = seed_, .first_step = first_step, .burn_in = options_.burn_in};
  const auto accepted = sampler_->Run(chains, place, nullptr, negative_.get());
  report_.acceptance = std::reduce(accepted.begin(), accepted.end()) / static_cast<double>(accepted.size());
  if (options_.algorithm == Algorithm::kPcd) chains_ = std::move(chains);

  Parameters gradient(model.visible(), model.hidden());
  positive_->AddMeanGradient(1, gradient, pool_);
  negative_->AddMeanGradient(-1, gradient, pool_);
  return gradient;
}

void Contrastive::AddData(const Model& model, ConstMatrix data, std::uint64_t update) {
  CheckVisible(model, data, "data");
  const PackedWeights& weights = model.packed(pool_);
  kernels::Panels v(data.rows(), model.visible());
  PackRows(data, v, pool_);
  BitMatrix h(data.rows(), model.hidden());
  const DrawPlace draw{Stream(seed_, Purpose::kPositiveHidden), update, 0};
  kernels::HiddenResult result;
  result.bits = h;
  result.draw = &draw;
  const bool of_probabilities = positive_->hidden() == EnergyStatistics::Hidden::kProbability;
  kernels::Panels p(of_probabilities ? data.rows() : 0, model.hidden());
  if (of_probabilities) result.probabilities = p;
  UpdateHidden(weights, v, result, pool_);
  if (of_probabilities) {
    positive_->sums().Add(v, p.view(), pool_);
  } else {
    positive_->sums().Add(v, ConstBitView(h), pool_);
  }
  report_.hidden_activity = MeanBit(h);
  report_.reconstruction = MeanSquaredDifference(data, VisibleMean(model, h, pool_));
}

}  // namespace grbm
