// The sums over states behind the gradients of the energies, on panels.
#pragma once

#include <vector>

#include "grbm/model/gradient.h"
#include "model/packed.h"

namespace grbm {

// The term v_i Σ_j W_ij h_j of the gradient in log σ² needs no sum of its own: it is Σ_j W_ij Σ v_i h_j.
class StateSums {
 public:
  // The variance of v around a mean that is known: `relative` σ² + `absolute`.
  struct Noise {
    double relative = 0;
    double absolute = 0;
  };

  using Hidden = EnergyStatistics::Hidden;
  using Visible = EnergyStatistics::Visible;

  StateSums(const Model& model, Hidden hidden, Visible visible);
  void Reset(const Model& model, ThreadPool& pool);

  void Add(kernels::ConstPanelView v, ConstBitView h, ThreadPool& pool);
  void Add(kernels::ConstPanelView v, kernels::ConstPanelView p, ThreadPool& pool);
  // Of v ~ N(mean, noise), the sums that are expected given p = sigmoid(inverse_temperature · logits of v): as those of v
  // with p, without most of the noise.                                                               [math.md (47)]
  void AddMeans(kernels::ConstPanelView mean, Noise noise, kernels::ConstPanelView p, double inverse_temperature,
                ThreadPool& pool);
  // Adds the sums of other states.
  void Add(const StateSums& other, ThreadPool& pool);
  // As if each state so far had counted `factor` times.
  void Scale(double factor, ThreadPool& pool);

  Hidden hidden() const { return hidden_kind_; }
  Visible visible() const { return visible_kind_; }
  const Model& model() const { return *model_; }
  double count() const { return count_; }
  // Of the states added so far.
  std::vector<float> MeanVisible() const;
  std::vector<float> MeanHidden() const;
  // gradient = factor · Σ ∂E/∂θ.
  void Gradient(double factor, Parameters& gradient, ThreadPool& pool);

 private:
  void AddVisible(kernels::ConstPanelView v, ThreadPool& pool);
  // Adds to Σ h vᵀ what is due to the slopes.
  void SettleSlopes(ThreadPool& pool);

  const Model* model_;
  Hidden hidden_kind_;
  Visible visible_kind_;
  double count_ = 0;
  kernels::Panels outer_;       // Σ h vᵀ, hidden × visible
  std::vector<double> hidden_;  // Σ h, padded to whole panels
  std::vector<double> offset_;  // Σ (v - μ), padded
  std::vector<double> square_;  // Σ (v - μ)², padded
  // Σ ∂p/∂x times the noise's variance, for noise relative to σ² and absolute, padded; empty where there is none.
  std::vector<double> relative_slope_;
  std::vector<double> absolute_slope_;
  BitMatrix transposed_;  // of the last h
};

// Those behind statistics.
StateSums& SumsOf(EnergyStatistics& statistics);

}  // namespace grbm
