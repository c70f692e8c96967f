// Langevin sampling of the marginal law of v; with or without Metropolis adjustment.
#include <cmath>

#include "sampler/schedule.h"
#include "sampler/table.h"

namespace grbm {

namespace {

// v' = v - α ∂Ẽ/∂v + √(2ατ_q) ξ. With m = μ + W p(h|v) the gradient is (v - m)/σ², so keep = 1 - α/σ².
//                                                                                                [math.md (23), (53)]
class MarginalMove : public Transition {
 public:
  MarginalMove(const Model& model, const SamplerOptions& options)
      : model_(model), options_(options), move_(model.visible()) {}

  Hidden hidden() const override { return Hidden::kProbability; }
  Acceptance acceptance() const override {
    return options_.adjust == Adjust::kNone ? Acceptance::kNone : Acceptance::kStep;
  }

  const Move& MoveAt(std::int64_t step) override {
    const double decay = options_.anneal ? CosineDecay(step, options_.steps) : 1.0;
    for (std::size_t i = 0; i < move_.keep.size(); ++i) {
      const double ratio = decay * StepRatio(model_, options_, i);
      move_.keep[i] = static_cast<float>(1 - ratio);
      move_.noise[i] =
          static_cast<float>(std::sqrt(2 * ratio * options_.move_temperature() * double{model_.variance()[i]}));
    }
    return move_;
  }
  bool moves_differ() const override { return options_.anneal; }

  // Against exp(-Ẽ/τ).                                                                                 [math.md (24)]
  double LogAcceptance(const StepSums& sums) const override {
    return (sums.from.marginal_energy() - sums.to.marginal_energy()) / options_.temperature + sums.proposal;
  }

 private:
  const Model& model_;
  SamplerOptions options_;
  Move move_;
};

std::unique_ptr<Transition> Make(const Model& model, const SamplerOptions& options) {
  return std::make_unique<MarginalMove>(model, options);
}

Law LawOfChains(const SamplerOptions& options) {
  if (options.adjust == Adjust::kNone) return {};
  return {Law::Kind::kMarginal, options.temperature};
}

}  // namespace

SamplerKind Langevin() {
  return {.name = "langevin",
          .make = Make,
          .law = LawOfChains,
          .marginal = true,
          .has_step_size = true,
          .metropolis = true};
}

}  // namespace grbm
