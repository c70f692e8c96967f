// Rows of Python's, block by block in the model's units.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "arrays.h"
#include "bindings.h"
#include "compute.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/codes.h"
#include "grbm/model/reach.h"

namespace grbm::python {

inline constexpr Index kRowsAtOnce = 1024;

// visit(rows in the model's units with what is given with them, pool), block by block: there is never a second copy of the data.
template <typename Visit>
void ForRows(const ModelFile& file, const py::array& given, const py::object& conditions, int threads,
             const Visit& visit) {
  const Dataset data = DatasetOf(given, {}, "X");
  const Matrix u = ConditionsOf(file, conditions, data.rows());
  if (data.visible() != file.model.gaussian_units()) {
    throw DataError(fmt::format("X: rows of {} values, but the model has {} visible units", data.visible(),
                                file.model.gaussian_units()));
  }
  OnPool(threads, [&](ThreadPool& pool, Signals& signals) {
    Matrix block(std::min(kRowsAtOnce, data.rows()), data.visible());
    for (Index first = 0; first < data.rows(); first += kRowsAtOnce) {
      signals.Check();
      const MutableMatrix rows = block.view().Rows(0, std::min(kRowsAtOnce, data.rows() - first));
      data.Read(first, rows);
      file.standardization.Apply(rows);
      CheckReach(file.model, rows, "X");
      const ConstMatrix with = u.cols() > 0 ? u.view().Rows(first, rows.rows()) : ConstMatrix();
      visit(GivenRows{rows, with, static_cast<std::uint32_t>(first)}, pool);
    }
    return true;
  });
}

}  // namespace grbm::python
