// Whether floats suffice for a model: parameters that are finite, but so large that sums of them are not.
#pragma once

#include <span>
#include <string_view>

#include "grbm/core/matrix.h"
#include "grbm/model/model.h"

namespace grbm {

// Throws NumericError, opened by `where`, which names the parameter that is absurd, where a mean μ + W h or, with visible
// units of absolute values up to `largest`, a logit b + Wᵀ(v/σ²) can leave the range of floats.
void CheckReach(const Model& model, std::span<const double> largest, std::string_view where);
// The same for chains from noise at a temperature.
void CheckReach(const Model& model, double temperature, std::string_view where);
// The same for data in the model's units: rows × visible, with or without labels.
void CheckReach(const Model& model, ConstMatrix data, std::string_view where);

}  // namespace grbm
