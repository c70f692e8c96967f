// What one sampler is: a Gaussian move of the visible units, what takes the place of the hidden ones, and a rule of
// acceptance. To add a sampler, write one file that makes a Transition and name it in the table of sampler.cc.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/model/model.h"
#include "grbm/sampler/options.h"

namespace grbm {

// v' = m + keep ∘ (v - m) + noise ∘ ξ, with m = μ + W h (or μ + W p(h|v)) and ξ standard normal. All samplers move
// so:
//   Gibbs            keep = 0           noise = √τ σ                                                [math.md (14)]
//   partial refresh  keep = ρ           noise = √(1-ρ²) √τ σ                                        [math.md (15)]
//   Gibbs-Langevin   keep = Π (1-c_k)   noise² = τσ² Σ 2 c_k β_k²                                   [math.md (17)]
//   Langevin         keep = 1 - α/σ²    noise² = 2ατ                                                [math.md (23)]
struct Move {
  std::vector<float> keep;   // by visible unit
  std::vector<float> noise;  // standard deviation, by visible unit

  explicit Move(Index visible) : keep(static_cast<std::size_t>(visible)), noise(static_cast<std::size_t>(visible)) {}
};

struct RowEnergies {
  double energy = 0;      // E(v, h); Ẽ(v) where there is no hidden state
  double log_hidden = 0;  // log p(h | v) at temperature 1; 0 where there is no hidden state
};

// From the logits x of p(h|v): E = Σ (v-μ)²/2σ² - h·x and log p(h|v) = h·x - Σ softplus(x). [math.md (21)] `hidden`
// has the state in its row `row`.
RowEnergies JointEnergies(const Model& model, std::span<const float> visible, std::span<const float> logits,
                          ConstBitView hidden, Index row);
// Ẽ = Σ (v-μ)²/2σ² - Σ softplus(x).                                                                     [math.md (5)]
RowEnergies MarginalEnergies(const Model& model, std::span<const float> visible, std::span<const float> logits);

// One chain's state, with what has been computed of it.
struct RowState {
  std::span<const float> visible;  // v
  std::span<const float> product;  // W h, or W p(h|v) for Langevin
  RowEnergies energies;            // where the rule of acceptance is kStep
};

class Transition {
 public:
  // What stands for h in the move: a draw from p(h|v), or its probabilities (then there is no hidden state).
  enum class Hidden { kDraw, kProbability };
  // What is accepted or rejected: nothing, v alone before h is drawn, or the whole step.
  enum class Acceptance { kNone, kVisible, kStep };

  virtual ~Transition() = default;

  virtual Hidden hidden() const { return Hidden::kDraw; }
  virtual Acceptance acceptance() const { return Acceptance::kNone; }
  // The temperature at which h is drawn.
  virtual double hidden_temperature() const { return 1.0; }

  // The move of step 0, 1, ...
  virtual const Move& MoveAt(std::int64_t step) = 0;

  // log of the acceptance ratio of a move. For kVisible, `to` has the product of `from` and no energies.
  virtual double LogAcceptance(const Move& /*move*/, const RowState& /*from*/, const RowState& /*to*/) const {
    return 0;
  }
};

std::unique_ptr<Transition> MakeGibbs(const Model& model, const SamplerOptions& options);
std::unique_ptr<Transition> MakePartialGibbs(const Model& model, const SamplerOptions& options);
std::unique_ptr<Transition> MakeGibbsLangevin(const Model& model, const SamplerOptions& options);
std::unique_ptr<Transition> MakeLangevin(const Model& model, const SamplerOptions& options);

// log q(v|v') - log q(v'|v) of the move, the reverse against the forward proposal, each with its own mean: Σ (r² -
// r̄²) / 2 noise², r = v' - m - keep(v - m), r̄ = v - m' - keep(v' - m').
double LogProposalRatio(const Model& model, const Move& move, const RowState& from, const RowState& to);

}  // namespace grbm
