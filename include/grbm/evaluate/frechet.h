// Distances between two sets of features: Fréchet's, of Gaussians fitted to them, and the kernel distance.
#pragma once

#include <functional>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

// Mean and covariance of features, streamed in double by blocks of rows; no row is kept.
class FeatureMoments {
 public:
  explicit FeatureMoments(Index dimension);
  // What Mean() and Covariance() of `count` rows were.
  FeatureMoments(Index count, std::vector<double> mean, const BasicMatrix<double>& covariance);

  // features: rows × dimension. How rows are split over calls matters to rounding only.
  void Add(ConstMatrix features);
  // As if all rows of `other` had been added.
  void Add(const FeatureMoments& other);

  Index count() const { return count_; }
  Index dimension() const { return static_cast<Index>(mean_.size()); }
  const std::vector<double>& Mean() const { return mean_; }
  // Divided by count - 1; count ≥ 2.
  BasicMatrix<double> Covariance() const;

 private:
  Index count_ = 0;
  std::vector<double> mean_;
  BasicMatrix<double> scatter_;  // Σ (x - mean)(x - mean)ᵀ, its lower triangle
};

struct FrechetDistance {
  double distance;
  // One side has no more rows than dimensions: its covariance is singular, and the distance is far above the one that
  // more rows would give.
  bool rank_deficient;
};

// ‖m₁ - m₂‖² + tr(Σ₁ + Σ₂ - 2 (Σ₁Σ₂)^½)                                                                [math.md (50)]
// Both sides have at least two rows; otherwise, or where their dimensions differ, throws DataError. Throws NumericError
// where a feature was not finite. `check` is called now and then, and may throw to end it.
FrechetDistance Frechet(const FeatureMoments& a, const FeatureMoments& b, const std::function<void()>& check = {});

struct KernelDistance {
  double distance;
  double standard_error;  // of the mean over subsets; NaN where there is only one
  Index subsets;
};

// The unbiased estimate of MMD² with the kernel (x·y/dimension + 1)³: the mean over disjoint subsets, subset i being rows
// i·size ... (i+1)·size - 1 of both. Rows of a last, partial subset are left out.                       [math.md (51)]
// Both sides have at least `subset_size` ≥ 2 rows; otherwise, or where their dimensions differ, throws DataError. `check`
// is called before each subset, and may throw to end it.
KernelDistance Kernel(ConstMatrix a, ConstMatrix b, Index subset_size, const std::function<void()>& check = {});

}  // namespace grbm
