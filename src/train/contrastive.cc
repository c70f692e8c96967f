#include "grbm/train/contrastive.h"

#include <bit>
#include <numeric>

#include "grbm/model/energy.h"

namespace grbm {

namespace {

// Adds every state of the chains to the negative statistics as it passes.
class Accumulate : public Observer {
 public:
  Accumulate(EnergyStatistics& statistics, bool marginal, ThreadPool& pool)
      : statistics_(statistics), marginal_(marginal), pool_(pool) {}

  void OnStep(const ChainState& state) override {
    if (marginal_) {
      statistics_.AddMarginal(state.visible, state.logits, pool_);
    } else {
      statistics_.Add(state.visible, state.hidden, pool_);
    }
  }

 private:
  EnergyStatistics& statistics_;
  bool marginal_;
  ThreadPool& pool_;
};

double MeanSquaredDifference(ConstMatrix a, ConstMatrix b) {
  double sum = 0;
  for (Index r = 0; r < a.rows(); ++r) {
    for (Index i = 0; i < a.cols(); ++i) {
      const double d = double{a(r, i)} - double{b(r, i)};
      sum += d * d;
    }
  }
  return sum / static_cast<double>(a.rows() * a.cols());
}

double MeanBit(ConstBitView h) {
  Index set = 0;
  for (Index g = 0; g < h.groups(); ++g) {
    for (Index r = 0; r < h.rows(); ++r) set += std::popcount(h.word(r, g));
  }
  return static_cast<double>(set) / static_cast<double>(h.rows() * h.units());
}

Parameters Difference(Parameters a, const Parameters& b) {
  const auto subtract = [](std::span<float> x, std::span<const float> y) {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] -= y[k];
  };
  subtract(a.W.values(), b.W.values());
  subtract(a.b, b.b);
  subtract(a.mu, b.mu);
  subtract(a.log_var, b.log_var);
  return a;
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
  if (!positive_) {
    positive_ = std::make_unique<EnergyStatistics>(model);
    negative_ = std::make_unique<EnergyStatistics>(model);
    sampler_ = std::make_unique<Sampler>(model, sampler, pool_, OnUnstable::kAllow);
  } else {
    positive_->Reset(model);
    negative_->Reset(model);
    sampler_->Set(model, sampler);
  }
  const bool marginal = sampler.method == Method::kLangevin || options_.hidden == HiddenKind::kProbability;

  // Step 1. The positive phase: v from the data, h ~ p(h | v).
  const Matrix logits = HiddenLogits(model, data, pool_);
  const BitMatrix h = DrawHidden(logits, {Stream(seed_, Purpose::kPositiveHidden), update, 0}, pool_);
  if (marginal) {
    positive_->AddMarginal(data, logits, pool_);
  } else {
    positive_->Add(data, h, pool_);
  }
  report_.hidden_activity = MeanBit(h);
  report_.reconstruction = MeanSquaredDifference(data, VisibleMean(model, h, pool_));
  report_.unstable_units = sampler_->stability().unstable;

  // Step 2. The negative phase: the mean over all steps of the chains after the burn-in.
  Chains chains = StartChains(model, data, update);
  Accumulate accumulate(*negative_, marginal, pool_);
  const std::uint64_t first_step = update * static_cast<std::uint64_t>(sampler.steps);
  const auto accepted =
      sampler_->Run(chains, {.seed = seed_, .first_step = first_step, .burn_in = options_.burn_in}, &accumulate);
  report_.acceptance = std::reduce(accepted.begin(), accepted.end()) / static_cast<double>(accepted.size());
  if (options_.algorithm == Algorithm::kPcd) chains_ = std::move(chains);

  return Difference(positive_->MeanGradient(), negative_->MeanGradient());
}

}  // namespace grbm
