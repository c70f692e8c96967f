// The map between the data's own units and those of the model.
#pragma once

#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/model/model.h"

namespace grbm {

// model = (data - mean) / deviation, unit by unit. Empty vectors: the identity. With a margin, which only units have whose
// data are never below 0, zeros first move down by it, and all that is not above 0 is brought back to 0.  [math.md (85)]
struct Standardization {
  std::vector<float> mean;
  std::vector<float> deviation;
  std::vector<float> margin = {};  // empty: none; otherwise one per unit, in the data's own units

  bool identity() const { return mean.empty(); }
  // In place; values: rows × visible.
  void Apply(MutableMatrix values) const;
  void Invert(MutableMatrix values) const;
  // In place, in the model's units: what is shown as 0 becomes what a plain 0, without margin, would be.
  void Shown(MutableMatrix values) const;

  bool operator==(const Standardization&) const = default;
};

// The model of the same law where data are measured by `to`, of one where they are measured by `from`: what is drawn from
// both, brought back to the data's own units, is alike, if their margins are. Its floor is one that no variance is below.
// [math.md (55)]
Model InUnits(const Model& model, const Standardization& from, const Standardization& to);

// The same where conditions are measured by `to`, of one where they are measured by `from`.                [math.md (83)]
Model InConditionUnits(const Model& model, const Standardization& from, const Standardization& to);

// Throws DataError, opened by `where`, unless all vectors are empty or have `visible` finite elements, deviations above and
// margins at least 0. There may be no margins.
void CheckStandardization(const Standardization& standardization, Index visible, const std::string& where);

// Zeros that lie lower by a margin leave no place for values below 0: throws DataError for them. No margin: all are taken.
//                                                                                                       [math.md (85)]
void CheckMargin(std::span<const float> margin, std::span<const float> values, Index row, const std::string& source);

}  // namespace grbm
