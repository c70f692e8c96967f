// What one sampler is: a Gaussian move of the visible units, what takes the place of the hidden ones, and a rule of
// acceptance. To add a sampler, write one file that makes a Transition and says what kind it is, and name it in the table of
// src/sampler/table.cc; a program that uses the library hands its kind to AddSampler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/model/model.h"
#include "grbm/sampler/law.h"
#include "grbm/sampler/options.h"

namespace grbm {

// v' = m + keep ∘ (v - m) + noise ∘ ξ, with m = μ + W h (or μ + W p(h|v)) and ξ standard normal. All samplers move
// so:
//   Gibbs            keep = 0           noise = √τ σ                                                [math.md (14)]
//   partial refresh  keep = ρ           noise = √(1-ρ²) √τ σ                                        [math.md (15)]
//   Gibbs-Langevin   keep = Π (1-c_k)   noise² = τ_qσ² Σ 2 c_k β_k²                           [math.md (17), (53)]
//   Langevin         keep = 1 - α/σ²    noise² = 2ατ_q                                        [math.md (23), (53)]
struct Move {
  std::vector<float> keep;   // by visible unit
  std::vector<float> noise;  // standard deviation, by visible unit

  explicit Move(Index visible) : keep(static_cast<std::size_t>(visible)), noise(static_cast<std::size_t>(visible)) {}
};

// What a rule of acceptance knows of a step from (v, h) to (v', h'), x being the logits of p(h | v), m = μ + W h (or
// μ + W p(h|v)) the mean of the move and m' that of the way back.
struct StepSums {
  struct State {
    double quadratic = 0;  // Σ (v - μ)²/2σ²
    double active = 0;     // Σ h x; 0 where there is no hidden state
    double softplus = 0;   // Σ log(1 + exp x)

    double energy() const { return quadratic - active; }             // E                               [math.md (21)]
    double marginal_energy() const { return quadratic - softplus; }  // Ẽ                                [math.md (5)]
    double log_hidden() const { return active - softplus; }          // log p(h | v) at temperature 1   [math.md (21)]
  };
  State from;
  State to;
  double proposal = 0;     // log q(v|v') - log q(v'|v), the reverse against the forward move
  double conditional = 0;  // Σ ((v - m)² - (v' - m)²)/2σ²: log N(v'; m, σ²) - log N(v; m, σ²)
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
  // The temperature at which h is drawn: that of the law, unless h is a proposal.
  virtual double hidden_temperature() const { return 1.0; }

  // The move of step 0, 1, ...
  virtual const Move& MoveAt(std::int64_t step) = 0;
  // Whether steps have moves of their own; otherwise one is asked for once.
  virtual bool moves_differ() const { return false; }

  // log of the acceptance ratio of a step. For kVisible, h and with it the mean stay as they are, and only `proposal`
  // and `conditional` are known.
  virtual double LogAcceptance(const StepSums& /*sums*/) const { return 0; }
};

// What the rest of the program needs to know of a sampler.
struct SamplerKind {
  std::string name;  // as sampler.method has it
  std::unique_ptr<Transition> (*make)(const Model& model, const SamplerOptions& options);
  Law (*law)(const SamplerOptions& options);  // that its chains have
  // Whether its chains have no hidden state: those of Transition::Hidden::kProbability.
  bool marginal = false;
  // Whether moves have step_size, which some units may not stand [math.md (26)]; without, it draws from conditionals.
  bool has_step_size = false;
  // The rules of acceptance that it offers, beside none.
  bool metropolis = false;
  bool conditional = false;
};

const SamplerKind& FindSampler(Method method);
// A further sampler, for all that is read, trained or drawn from now on. Call it before chains run. Throws ConfigError where
// there is one of that name.
Method AddSampler(SamplerKind kind);

}  // namespace grbm
