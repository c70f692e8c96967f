// Gradients of the energies in the parameters, as means over states that are added one batch at a time.
#pragma once

#include <memory>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/model.h"

namespace grbm {

class StateSums;

// What the gradients need to know of the states seen so far; no state is kept.
class EnergyStatistics {
 public:
  // What is added of the hidden units: states, for the gradient of E [math.md (9)], or p(h | v), for its mean over h given
  // v: at temperature 1 the gradient of the marginal energy Ẽ [math.md (10)].
  enum class Hidden { kState, kProbability };
  // What a sampler adds of the visible units of each step: states, or what is expected of them given the step before.
  enum class Visible { kState, kMean };

  explicit EnergyStatistics(const Model& model, Hidden hidden = Hidden::kState, Visible visible = Visible::kState);
  ~EnergyStatistics();

  // Forgets all; from now on for this model, which must have the same shape and outlive the statistics.
  void Reset(const Model& model, ThreadPool& pool);

  Hidden hidden() const;
  Visible visible() const;
  // Adds states (v, h), for kState.
  void Add(ConstMatrix v, ConstBitView h, ThreadPool& pool);
  // Adds states v with p(h | v) under exp(-E/temperature), for kProbability.
  void Add(ConstMatrix v, ThreadPool& pool, double temperature = 1);

  double count() const;

  // The mean of ∂E/∂θ (or ∂Ẽ/∂θ) over the states added, of which there must be one at least.
  Parameters MeanGradient(ThreadPool& pool) const;

 private:
  friend StateSums& SumsOf(EnergyStatistics& statistics);

  std::unique_ptr<StateSums> sums_;
};

}  // namespace grbm
