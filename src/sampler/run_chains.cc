// Runs of an engine's chains, with whoever watches them.
#include <algorithm>
#include <optional>

#include "grbm/core/error.h"
#include "grbm/model/energy.h"
#include "sampler/engine.h"

namespace grbm {

namespace {

void CheckSums(const Engine& engine, const StateSums& sums, const SamplerHooks& hooks) {
  const bool of_probabilities = sums.hidden() == StateSums::Hidden::kProbability;
  const bool of_means = sums.visible() == StateSums::Visible::kMean;
  if (hooks.step) {
    if (!of_means) return;
    throw ConfigError("train: visible = \"mean\": the mean of a hooked step is not known: set visible = \"sample\"");
  }
  if (engine.marginal() && !of_probabilities) {
    throw ConfigError("sampler: langevin has no hidden states: its statistics must be of p(h | v)");
  }
  if (of_means) RequireMeans(engine.options(), of_probabilities);
}

// A step by a hook, which knows chains alone.
class HookedChains {
 public:
  HookedChains(Engine& engine, const SamplerHooks& hooks)
      : engine_(engine),
        hooks_(hooks),
        chains_{engine.first(), Matrix(engine.count(), engine.model().visible()),
                BitMatrix(engine.count(), engine.model().hidden())} {
    engine.Store(chains_.visible, chains_.hidden);
  }

  void Step(std::uint64_t step, bool probabilities) {
    hooks_.step(engine_.model(), chains_, step);
    CheckVisible(engine_.model(), chains_.visible, "hooked step");
    CheckHidden(engine_.model(), chains_.hidden, chains_.count(), "hooked step");
    engine_.Load(chains_.visible, chains_.hidden);
    if (probabilities) engine_.UpdateProbabilities();
  }

 private:
  Engine& engine_;
  const SamplerHooks& hooks_;
  Chains chains_;
};

}  // namespace

std::vector<Index> RunChains(Engine& engine, const RunPlace& place, const SamplerHooks& hooks, Observer* observer,
                             std::span<const RowSums> sums) {
  if (!sums.empty()) CheckSums(engine, *sums.front().sums, hooks);
  const bool of_probabilities = !sums.empty() && sums.front().sums->hidden() == StateSums::Hidden::kProbability;
  const bool of_means = !sums.empty() && sums.front().sums->visible() == StateSums::Visible::kMean;
  engine.Keep({.probabilities = of_probabilities, .means = of_means});
  std::optional<HookedChains> hooked;
  if (hooks.step) {
    hooked.emplace(engine, hooks);
  } else {
    engine.Begin(place);
  }
  std::vector<Index> accepted;
  Matrix visible;  // for the observer
  for (std::int64_t t = 0; t < engine.options().steps; ++t) {
    if (hooks.before_step) hooks.before_step();
    if (hooked) {
      hooked->Step(place.first_step + static_cast<std::uint64_t>(t), of_probabilities);
    } else {
      engine.Step(place, t);
    }
    accepted.push_back(std::ranges::count(engine.accepted(), 1));
    if (t < place.burn_in) continue;
    for (const RowSums& part : sums) engine.AddTo(*part.sums, part.rows);
    if (observer != nullptr) {
      if (visible.rows() == 0) visible = Matrix(engine.count(), engine.model().visible());
      engine.StoreVisible(visible);
      const bool has_hidden = hooked || !engine.marginal();
      observer->OnStep(
          {t + 1, engine.first(), visible, has_hidden ? engine.hidden() : ConstBitView(), engine.accepted()});
    }
  }
  if (!hooked) engine.End(place);
  return accepted;
}

}  // namespace grbm
