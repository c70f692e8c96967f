// The affine map between the data's own units and those of the model.
#pragma once

#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

// model = (data - mean) / deviation, unit by unit. Empty vectors: the identity.
struct Standardization {
  std::vector<float> mean;
  std::vector<float> deviation;

  bool identity() const { return mean.empty(); }
  // In place; values: rows × visible.
  void Apply(MutableMatrix values) const;
  void Invert(MutableMatrix values) const;

  bool operator==(const Standardization&) const = default;
};

// Throws DataError, opened by `where`, unless both vectors are empty or have `visible` finite elements, deviations >
// 0.
void CheckStandardization(const Standardization& standardization, Index visible, const std::string& where);

}  // namespace grbm
