// Gibbs sampling and its partial refresh: both conditionals are exact, nothing is ever rejected.
#include <cmath>

#include "sampler/table.h"

namespace grbm {

namespace {

class Refresh : public Transition {
 public:
  // v' = m + ρ (v - m) + √(1-ρ²) √τ σ ξ leaves N(m, τσ²) as it is; ρ = 0 is Gibbs.               [math.md (14), (15)]
  Refresh(const Model& model, double temperature, double rho) : temperature_(temperature), move_(model.visible()) {
    for (std::size_t i = 0; i < move_.keep.size(); ++i) {
      const auto keep = static_cast<float>(rho);
      const double rounded = keep;  // the noise fits the keep that is used
      move_.keep[i] = keep;
      move_.noise[i] =
          static_cast<float>(std::sqrt((1 - rounded) * (1 + rounded) * temperature * double{model.variance()[i]}));
    }
  }

  double hidden_temperature() const override { return temperature_; }
  const Move& MoveAt(std::int64_t) override { return move_; }

 private:
  double temperature_;
  Move move_;
};

std::unique_ptr<Transition> MakeGibbs(const Model& model, const SamplerOptions& options) {
  return std::make_unique<Refresh>(model, options.temperature, 0.0);
}

std::unique_ptr<Transition> MakePartialGibbs(const Model& model, const SamplerOptions& options) {
  return std::make_unique<Refresh>(model, options.temperature, 1 - options.refresh);
}

// Both conditionals are those of exp(-E/τ).
Law LawOfBoth(const SamplerOptions& options) { return {Law::Kind::kJoint, options.temperature}; }

}  // namespace

SamplerKind Gibbs() { return {.name = "gibbs", .make = MakeGibbs, .law = LawOfBoth}; }
SamplerKind PartialGibbs() { return {.name = "partial-gibbs", .make = MakePartialGibbs, .law = LawOfBoth}; }

}  // namespace grbm
