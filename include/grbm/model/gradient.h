// Gradients of the energies in the parameters, as means over states that are added one batch at a time.
#pragma once

#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/model.h"

namespace grbm {

// What the gradients need to know of the states seen so far; no state is kept. The term v_i Σ_j W_ij h_j of the
// gradient in log σ² needs no sum of its own: it is Σ_j W_ij Σ v_i h_j.
class EnergyStatistics {
 public:
  explicit EnergyStatistics(const Model& model);

  // Forgets all; from now on for this model, which must have the same shape and outlive the statistics.
  void Reset(const Model& model);

  // Adds states (v, h): for the gradient of E.                                                          [math.md (9)]
  void Add(ConstMatrix v, ConstBitView h, ThreadPool& pool);
  // Adds states v with the logits of p(h | v), which stands in for h: for the gradient of Ẽ.           [math.md (10)]
  void AddMarginal(ConstMatrix v, ConstMatrix logits, ThreadPool& pool);

  double count() const { return count_; }

  // The mean of ∂E/∂θ (or ∂Ẽ/∂θ) over the states added, of which there must be one at least.
  Parameters MeanGradient() const;

 private:
  void AddVisible(ConstMatrix v, ThreadPool& pool);

  const Model* model_;
  double count_ = 0;
  Matrix outer_;                // Σ v hᵀ, visible × hidden
  std::vector<double> hidden_;  // Σ h
  std::vector<double> offset_;  // Σ (v - μ)
  std::vector<double> square_;  // Σ (v - μ)²
};

}  // namespace grbm
