// Sparse matrices, as files keep them, to dense ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/row_store.h"
#include "grbm/core/matrix.h"

namespace grbm {

// A compressed matrix: values[indptr[l]] ... values[indptr[l + 1] - 1] are of line l, at the places `indices`. Lines are
// rows (CSR), or columns (CSC).
struct SparseMatrix {
  Index rows = 0;
  Index columns = 0;
  bool by_columns = false;
  std::span<const float> values;
  std::span<const std::int64_t> indices;
  std::span<const std::int64_t> indptr;
};

// Its rows, one after the other. Values of one place are added up, as SciPy does. Throws DataError, opened by `where`, for
// indices that do not fit.
void AppendDense(const SparseMatrix& sparse, const std::string& where, RowStore& store);

}  // namespace grbm
