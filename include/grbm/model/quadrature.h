// Exact answers for models with one or two visible units beside their labels and any number of hidden ones, by quadrature
// over v.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/model/model.h"
#include "grbm/model/visible_law.h"

namespace grbm {

// The law exp(-Ẽ(v)/temperature) / Z on a lattice of points v with equal weights; at temperature 1, p(v). With labels
// Σ_y exp(-Ẽ(v, y)/temperature) / Z, and log Z is that of v and y. Note that
// at other temperatures this is not the marginal of exp(-E/temperature): that is
// Quadrature(model.Tempered(temperature)).
//
// At temperature 1 p(v) is a mixture of Gaussians of variances σ², for which the trapezoidal rule at a spacing of σ/2
// has a relative error of about exp(-8π²); cells whose density an upper bound shows to be below 1e-20 of the largest
// are left out, so the lattice follows the mass wherever it is. log Z is then as exact as doubles: to 1e-6 in the worst
// model that is not refused.                                                                           [math.md (27)]
class Quadrature {
 public:
  static constexpr Index kMaxVisible = 2;

  // Throws ConfigError for more than kMaxVisible visible units, NumericError where the mass covers too many points for
  // some seconds of work, or where the weights are so large that doubles lose more than 1e-6 of the log-density. Either
  // shows within a fraction of a second.
  explicit Quadrature(Model model, double temperature = 1.0);
  explicit Quadrature(const VisibleLaw& law) : Quadrature(law.model, law.temperature) {}

  double log_partition() const { return log_partition_; }
  // log of the density at v.
  double LogDensity(std::span<const double> v) const;
  // E[f(v)].
  double Expectation(const std::function<double(std::span<const double>)>& f) const;

  // The lattice: points × visible, and the probability of each.
  const BasicMatrix<double>& points() const { return points_; }
  std::span<const double> probabilities() const { return probabilities_; }

 private:
  VisibleLaw law_;
  double log_partition_ = 0;
  BasicMatrix<double> points_;
  std::vector<double> probabilities_;
};

}  // namespace grbm
