// The mixtures of three Gaussians in the plane on which models are judged exactly.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

using Point2 = std::array<double, 2>;

// log of a density of the plane at (x, y).
using LogDensity2 = std::function<double(double x, double y)>;

struct MixtureSamples {
  Matrix points;                // count × 2
  std::vector<int> components;  // from which each was drawn
};

// A weighted sum of Gaussians whose axes are those of the plane.
struct Mixture {
  struct Component {
    double weight = 0;  // they sum to 1
    Point2 mean{};
    Point2 deviation{};  // standard deviations
  };
  std::vector<Component> components;

  double LogDensity(double x, double y) const;
  // Independent points; point i is a function of the seed and i.
  MixtureSamples Sample(std::uint64_t seed, Index count) const;
  // Of the mixture itself, not of a sample.
  Point2 Mean() const;
  std::array<Point2, 2> Covariance() const;
  // The Gaussian of the same mean and covariance: of all Gaussians the one nearest in KL divergence.
  LogDensity2 FittedGaussian() const;
};

// Weights .33, .33, .34, means (-5, -5), (5, -5), (0, 5); deviations 1, or (1.25, .5), (1.25, .5), (.5, 1.25).
Mixture IsotropicMixture();
Mixture AnisotropicMixture();

// KL(mixture ‖ model) = ∫ p (log p - log q), in nats, by the trapezoidal rule on a lattice of `resolution` points per
// smallest deviation that reaches 9 deviations beyond each component. With a resolution of 4 and more the error comes
// from q alone: log q should be smooth at that scale. Infinite where q is 0 and p is not; throws NumericError where log
// q is NaN.
double KlDivergence(const Mixture& mixture, const LogDensity2& model, int resolution = 8);
// What a model must beat to have learned anything: KL(mixture ‖ its fitted Gaussian), 1.909 for the isotropic one.
double KlOfFittedGaussian(const Mixture& mixture);

}  // namespace grbm
