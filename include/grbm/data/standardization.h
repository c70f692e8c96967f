// The affine map between the data's own units and those of the model.
#pragma once

#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/model/model.h"

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

// The model of the same law where data are measured by `to`, of one where they are measured by `from`: what is drawn from
// both, brought back to the data's own units, is alike. Its floor is one that no variance is below.     [math.md (55)]
Model InUnits(const Model& model, const Standardization& from, const Standardization& to);

// The same where conditions are measured by `to`, of one where they are measured by `from`.                [math.md (83)]
Model InConditionUnits(const Model& model, const Standardization& from, const Standardization& to);

// Throws DataError, opened by `where`, unless both vectors are empty or have `visible` finite elements, deviations >
// 0.
void CheckStandardization(const Standardization& standardization, Index visible, const std::string& where);

}  // namespace grbm
