// Models of the plane against the mixture they were trained on.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/data/mixture.h"
#include "grbm/data/standardization.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/model/quadrature.h"

namespace grbm {

// "gmm-iso" or "gmm-aniso"; none for another name.
std::optional<Mixture> FindMixture(std::string_view name);

// log p of a law of two visible units, in the data's own units. Refers to both arguments.
LogDensity2 DensityInOwnUnits(const Quadrature& law, const Standardization& standardization);

// KL(law ‖ mixture), on the law's own lattice; KL(mixture ‖ law) is KlDivergence.
double KlFromLaw(const Quadrature& law, const Standardization& standardization, const Mixture& mixture);
// KL(fitted Gaussian ‖ mixture): what a model must beat.
double KlFromFittedGaussian(const Mixture& mixture);

// By component, the share of points within 3 standard deviations of its mean. points: rows × 2, two rows at least.
std::vector<Estimate> ModeShares(const Mixture& mixture, ConstMatrix points);
// The same of a density: its masses there, by quadrature, good to 1e-5 where nothing is narrower than a quarter of these deviations.
std::vector<double> ModeMasses(const Mixture& mixture, const LogDensity2& log_density);

}  // namespace grbm
