// The Gaussian-Bernoulli restricted Boltzmann machine: its parameters and what is derived from them. Equation numbers
// refer to docs/math.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/parameters.h"

namespace grbm {

class PackedWeights;

// A model is its parameters, checked: shapes fit, every number is finite, and log_var is at least
// log(variance_floor).
//
// The last `label_units` of the visible units are the classes of a label, of which one is 1 and the others are 0. Their μ
// is the classes' bias, and their variance is 1: it is no parameter, and has no floor.                  [math.md (70)]
//
// With conditions, given values u shift both biases: μ + A u and b + B u. Such a model is computed with given them, see
// conditions.h.                                                                                         [math.md (80)]
class Model {
 public:
  static constexpr double kDefaultVarianceFloor = 1e-8;

  // Throws DataError that names the parameter and the place where one is not as it should be. Variances below the
  // floor are raised to it.
  explicit Model(Parameters parameters, double variance_floor = kDefaultVarianceFloor, Index label_units = 0,
                 Index condition_units = 0);

  // The start of training: W ~ N(0, initial_variance / (visible + hidden)), biases 0.                  [math.md (30)]
  static Model Initial(Index visible, Index hidden, std::uint64_t seed, double initial_variance = 1.0,
                       double variance_floor = kDefaultVarianceFloor, Index label_units = 0, Index conditions = 0);

  Index visible() const { return parameters_.W.rows(); }  // label units among them
  Index label_units() const { return label_units_; }
  // The last of the visible units that no sampler moves: conditions that are given (WithConditionUnits).
  Index condition_units() const { return condition_units_; }
  Index gaussian_units() const { return visible() - label_units_ - condition_units_; }
  Index hidden() const { return parameters_.W.cols(); }

  const Parameters& parameters() const { return parameters_; }
  ConstMatrix W() const { return parameters_.W; }
  std::span<const float> b() const { return parameters_.b; }
  std::span<const float> mu() const { return parameters_.mu; }
  std::span<const float> log_var() const { return parameters_.log_var; }
  ConstMatrix A() const { return parameters_.A; }
  ConstMatrix B() const { return parameters_.B; }
  // How many values u that shift the biases.
  Index conditions() const { return parameters_.A.cols(); }
  // Throws ConfigError where there are any: energies and laws are those given them.
  void RequireNoConditions() const;
  double variance_floor() const { return variance_floor_; }

  // σ², 1/σ² and, of the Gaussian units, the mean of σ²: computed once.
  std::span<const float> variance() const { return variance_; }
  std::span<const float> inverse_variance() const { return inverse_variance_; }
  double mean_variance() const { return mean_variance_; }

  // The weights in the order in which the kernels read them: packed once, when they are first asked for.
  const PackedWeights& packed(ThreadPool& pool) const;
  // Becomes `next`, which must have the same shape and whose packed weights go where its own were. Returns what its
  // parameters were.
  Parameters Replace(Model next);

  // The model of exp(-E/temperature): (W, μ, b/τ, τσ²), and (A, B/τ) of conditions, with the floor of the variances at τ times its own.
  //                                                                                                     [math.md (8)]
  Model Tempered(double temperature) const;

 private:
  Parameters parameters_;
  double variance_floor_;
  Index label_units_;
  Index condition_units_;
  std::vector<float> variance_;
  std::vector<float> inverse_variance_;
  double mean_variance_ = 0;
  struct Packing;
  std::shared_ptr<Packing> packing_;  // shared by copies, which have the same parameters
};

}  // namespace grbm
