#include "data/sparse.h"

#include <fmt/core.h>

#include "grbm/core/error.h"

namespace grbm {

Matrix ToDense(const SparseMatrix& sparse, const std::string& where) {
  const Index lines = sparse.by_columns ? sparse.columns : sparse.rows;
  const Index places = sparse.by_columns ? sparse.rows : sparse.columns;
  const auto stored = static_cast<std::int64_t>(sparse.values.size());
  if (sparse.rows < 0 || sparse.columns < 0 || std::ssize(sparse.indptr) != lines + 1 || sparse.indptr.front() != 0 ||
      sparse.indptr.back() != stored || std::ssize(sparse.indices) != stored) {
    throw DataError(
        fmt::format("{}: a sparse matrix of {} × {} with {} values, {} indices and {} line starts: they do "
                    "not fit together",
                    where, sparse.rows, sparse.columns, stored, sparse.indices.size(), sparse.indptr.size()));
  }
  for (Index line = 0; line < lines; ++line) {
    const auto at = static_cast<std::size_t>(line);
    if (sparse.indptr[at] <= sparse.indptr[at + 1]) continue;
    throw DataError(fmt::format("{}: line {} of the sparse matrix ends before it starts", where, line));
  }
  for (const std::int64_t place : sparse.indices) {
    if (place >= 0 && place < places) continue;
    throw DataError(fmt::format("{}: index {} of the sparse matrix: allowed are 0 to {}", where, place, places - 1));
  }
  Matrix dense(sparse.rows, sparse.columns);
  std::ranges::fill(dense.values(), 0.0f);
  for (Index line = 0; line < lines; ++line) {
    const auto at = static_cast<std::size_t>(line);
    for (auto k = static_cast<std::size_t>(sparse.indptr[at]); k < static_cast<std::size_t>(sparse.indptr[at + 1]);
         ++k) {
      const Index place = sparse.indices[k];
      dense.row(sparse.by_columns ? place : line)[static_cast<std::size_t>(sparse.by_columns ? line : place)] +=
          sparse.values[k];
    }
  }
  return dense;
}

}  // namespace grbm
