// Gibbs-Langevin sampling: Langevin dynamics of v given h, then h given v; with or without a rule of acceptance.
#include <cmath>
#include <vector>

#include "sampler/schedule.h"
#include "sampler/table.h"

namespace grbm {

namespace {

// The K inner steps v ← v - α_k (v - m)/σ² + √(2α_kτ_q) ξ_k, with c_k = α_k/σ², compose to one Gaussian:
//   keep = Π (1 - c_k), noise² = τ_qσ² Σ 2 c_k β_k², β_k = Π_{j>k} (1 - c_j)                 [math.md (17), (53)]
// Run backwards, each product is the last one times a factor; where it is down to nothing, the earlier steps are forgotten.
Move InnerSteps(const Model& model, const SamplerOptions& options) {
  Move move(model.visible());
  const auto inner = static_cast<std::size_t>(options.langevin_steps);
  std::vector<double> decay(inner, 1);
  for (std::size_t k = 0; options.anneal && k < inner; ++k) {
    decay[k] = CosineDecay(static_cast<std::int64_t>(k), options.langevin_steps);
  }
  for (std::size_t i = 0; i < move.keep.size(); ++i) {
    const double ratio = StepRatio(model, options, i);
    double beta = 1;
    double variance = 0;
    for (std::size_t k = inner; k-- > 0 && std::abs(beta) > 1e-50;) {
      const double c = ratio * decay[k];
      variance += 2 * c * beta * beta;
      beta *= 1 - c;
    }
    move.keep[i] = static_cast<float>(beta);
    move.noise[i] = static_cast<float>(std::sqrt(options.move_temperature() * double{model.variance()[i]} * variance));
  }
  return move;
}

class Unadjusted : public Transition {
 public:
  Unadjusted(const Model& model, const SamplerOptions& options)
      : move_(InnerSteps(model, options)), temperature_(options.temperature) {}

  const Move& MoveAt(std::int64_t) override { return move_; }

 protected:
  double temperature() const { return temperature_; }

 private:
  Move move_;
  double temperature_;
};

// The paper's rule: (v, h) together against exp(-E/τ), with h proposed at temperature 1.         [math.md (20), (53)]
class JointlyAdjusted : public Unadjusted {
 public:
  using Unadjusted::Unadjusted;

  Acceptance acceptance() const override { return Acceptance::kStep; }

  double LogAcceptance(const StepSums& sums) const override {
    return (sums.from.energy() - sums.to.energy()) / temperature() + sums.proposal + sums.from.log_hidden() -
           sums.to.log_hidden();
  }
};

// Ours: v alone against N(m, τσ²), then h by Gibbs at temperature τ.                                   [math.md (22)]
class ConditionallyAdjusted : public Unadjusted {
 public:
  using Unadjusted::Unadjusted;

  Acceptance acceptance() const override { return Acceptance::kVisible; }
  double hidden_temperature() const override { return temperature(); }

  double LogAcceptance(const StepSums& sums) const override { return sums.conditional / temperature() + sums.proposal; }
};

std::unique_ptr<Transition> Make(const Model& model, const SamplerOptions& options) {
  switch (options.adjust) {
    case Adjust::kMetropolis:
      return std::make_unique<JointlyAdjusted>(model, options);
    case Adjust::kConditional:
      return std::make_unique<ConditionallyAdjusted>(model, options);
    case Adjust::kNone:
      break;
  }
  return std::make_unique<Unadjusted>(model, options);
}

// Both rules accept against exp(-E/τ). Without one, v is drawn at temperature τ and h at 1, and no law has both.
Law LawOfChains(const SamplerOptions& options) {
  if (options.adjust == Adjust::kNone) return {};
  return {Law::Kind::kJoint, options.temperature};
}

}  // namespace

SamplerKind GibbsLangevin() {
  return {.name = "gibbs-langevin",
          .make = Make,
          .law = LawOfChains,
          .has_step_size = true,
          .metropolis = true,
          .conditional = true};
}

}  // namespace grbm
