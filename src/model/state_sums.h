// The sums over states behind the gradients of the energies, on panels.
#pragma once

#include <vector>

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

  explicit StateSums(const Model& model);
  void Reset(const Model& model);

  void Add(kernels::ConstPanelView v, ConstBitView h, ThreadPool& pool);
  void Add(kernels::ConstPanelView v, kernels::ConstPanelView p, ThreadPool& pool);
  // Of v ~ N(mean, noise), the sums that are expected given p = sigmoid(inverse_temperature · logits of v): as those of v
  // with p, without most of the noise.                                                               [math.md (47)]
  void AddMeans(kernels::ConstPanelView mean, Noise noise, kernels::ConstPanelView p, double inverse_temperature,
                ThreadPool& pool);
  // Adds the sums of other states.
  void Add(StateSums& other, ThreadPool& pool);
  // As if each state so far had counted `factor` times.
  void Scale(double factor, ThreadPool& pool);

  const Model& model() const { return *model_; }
  double count() const { return count_; }
  // Of the states added so far.
  std::vector<float> MeanVisible() const;
  std::vector<float> MeanHidden() const;
  // gradient = factor · Σ ∂E/∂θ.
  void Gradient(double factor, Parameters& gradient, ThreadPool& pool);

 private:
  void AddVisible(kernels::ConstPanelView v, ThreadPool& pool);
  // Reset and Scale leave `outer_` as it is, for the next pass over it to do what they ask for. Where there is none:
  void Settle(ThreadPool& pool);
  // How products are added to `outer_` next.
  kernels::Sums Next(ThreadPool& pool);
  // Adds to Σ h vᵀ what is due to the slopes.
  void SettleSlopes(ThreadPool& pool);

  const Model* model_;
  double count_ = 0;
  kernels::Panels outer_;       // Σ h vᵀ, hidden × visible, but for what is to be done:
  bool reset_ = false;          // to be taken for 0,
  float scale_ = 1;             // to be multiplied
  std::vector<double> hidden_;  // Σ h, padded to whole panels
  std::vector<double> offset_;  // Σ (v - μ), padded
  std::vector<double> square_;  // Σ (v - μ)², padded
  // Σ ∂p/∂x times the noise's variance, for noise relative to σ² and absolute, padded; empty where there is none.
  std::vector<double> relative_slope_;
  std::vector<double> absolute_slope_;
  BitMatrix transposed_;  // of the last h
};

}  // namespace grbm
