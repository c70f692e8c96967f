// Markov chains on a model: many chains at once, on all threads, with the same bits for any number of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/gradient.h"
#include "grbm/model/model.h"
#include "grbm/sampler/law.h"
#include "grbm/sampler/options.h"

namespace grbm {

// The states of `count` chains. Chain number first + row is what the random streams know a row by: a chain's path
// depends on its number, never on how many others run beside it.
struct Chains {
  std::uint32_t first = 0;
  Matrix visible;    // chains × visible
  BitMatrix hidden;  // chains × hidden

  Index count() const { return visible.rows(); }
};

// v ~ N(0, 1), labels alike, h ~ p(h | v) at a temperature: where generation and training from noise begin.
Chains NoiseChains(const Model& model, Index count, std::uint64_t seed, ThreadPool& pool, std::uint32_t first = 0,
                   std::uint64_t step = 0, double hidden_temperature = 1);
// The same of a model with condition units, each chain with a row of conditions: chains × condition units.
Chains NoiseChains(const Model& model, ConstMatrix conditions, std::uint64_t seed, ThreadPool& pool,
                   std::uint32_t first = 0, std::uint64_t step = 0, double hidden_temperature = 1);
// v as given, h as above.
Chains ChainsFrom(const Model& model, ConstMatrix visible, std::uint64_t seed, ThreadPool& pool,
                  std::uint32_t first = 0, std::uint64_t step = 0, double hidden_temperature = 1);

// All chains after a step, as an observer sees them. The views hold during the call only.
struct ChainState {
  std::int64_t step;                       // 1 to steps
  std::uint32_t first;                     // number of the first chain
  ConstMatrix visible;                     // chains × visible
  ConstBitView hidden;                     // chains × hidden; Langevin has no hidden state: 0 rows
  std::span<const std::uint8_t> accepted;  // by chain: 1 where the last move was made, 0 where it was rejected
};

// Sees every state after the burn-in. The base class does nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnStep(const ChainState& /*state*/) {}
};

// Where a run is in the random streams, and what of it is observed.
struct RunPlace {
  std::uint64_t seed = 1;
  std::uint64_t first_step = 0;  // step number of the streams at which the run begins; it uses `steps` numbers
  std::int64_t burn_in = 0;      // steps that neither observer nor statistics see
};

// What a program that runs chains puts into them; both may be missing.
struct SamplerHooks {
  // Called before every step of chains, maybe by several threads at once. What it throws ends the run: chains are then as
  // they were before it.
  std::function<void()> before_step = {};
  // A step in place of the method's own, for chains that this library does not know: leaves a state of the same shape in
  // `chains`, with condition units as they were. `step` is its number in the random streams. Nothing is known of its law, and
  // nothing is ever rejected.
  std::function<void(const Model& model, Chains& chains, std::uint64_t step)> step = {};
};

class Engine;

// Units for which a Langevin step overshoots so far that it diverges: 1 - α/σ² outside (-1, 1).        [math.md (26)]
struct Stability {
  Index unstable = 0;  // how many units
  Index worst = 0;     // the unit with the largest α/σ²
  double ratio = 0;    // its α/σ², which must be below 2
};
Stability CheckStability(const Model& model, const SamplerOptions& options);
// Throws ConfigError, which says what to set, where there is such a unit.
void RequireStable(const Model& model, const SamplerOptions& options);

// Throws ConfigError for samplers whose steps have no mean that statistics of Visible::kMean could use.
void RequireMeans(const SamplerOptions& options, bool of_probabilities);

// What to do about unstable units: refuse them, or leave it to the caller to count them.
enum class OnUnstable { kThrow, kAllow };

class Sampler {
 public:
  // Throws ConfigError where the options are wrong, or (kThrow) the step too large for some unit. The model and the
  // pool must outlive the sampler.
  Sampler(const Model& model, const SamplerOptions& options, ThreadPool& pool,
          OnUnstable on_unstable = OnUnstable::kThrow, SamplerHooks hooks = {});
  ~Sampler();

  // Goes on with other parameters or settings; the space for the chains is kept.
  void Set(const Model& model, const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  Law law() const { return hooks_.step ? Law{} : LawOf(options_); }
  const Stability& stability() const { return stability_; }

  // Runs every chain for options().steps steps. Returns the share of moves accepted at each step. After the burn-in,
  // the observer sees every state, and the statistics take it in; for Langevin they must be of p(h | v), which is that
  // of law().
  std::vector<double> Run(Chains& chains, const RunPlace& place, Observer* observer = nullptr,
                          EnergyStatistics* statistics = nullptr);

 private:
  SamplerOptions options_;
  OnUnstable on_unstable_;
  SamplerHooks hooks_;
  Stability stability_;
  std::unique_ptr<Engine> engine_;
};

// What to show of a state as Final::kMean: μ + W h or, with options.final_steps, v after so many steps to
// μ + W p(h | v); `after_step` may change v after each. Labels and conditions stay.                                   [math.md (48)]
Matrix FinalMean(const Model& model, ConstMatrix visible, ConstBitView hidden, const SamplerOptions& options,
                 ThreadPool& pool, const std::function<void(Matrix&)>& after_step = {});
// What to show of the last state, as options.final says: the mean, or v. A model alone does not know of images: here
// Final::kAuto is v, and callers that know put in what it stands for (ShownFinal).
Matrix FinalVisible(const Model& model, const Chains& chains, const SamplerOptions& options, ThreadPool& pool);

}  // namespace grbm
