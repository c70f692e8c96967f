#include "data/sparse.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "grbm/core/error.h"

namespace grbm {

namespace {

void Check(const SparseMatrix& sparse, const std::string& where) {
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
    const auto at = ToSize(line);
    if (sparse.indptr[at] <= sparse.indptr[at + 1]) continue;
    throw DataError(fmt::format("{}: line {} of the sparse matrix ends before it starts", where, line));
  }
  for (const std::int64_t place : sparse.indices) {
    if (place >= 0 && place < places) continue;
    throw DataError(fmt::format("{}: index {} of the sparse matrix: allowed are 0 to {}", where, place, places - 1));
  }
}

// The same matrix by its rows: entries of a row in the order of columns.
struct ByRows {
  std::vector<float> values;
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> indptr;

  explicit ByRows(const SparseMatrix& columns)
      : values(columns.values.size()), indices(columns.indices.size()), indptr(ToSize(columns.rows) + 1) {
    for (const std::int64_t row : columns.indices) ++indptr[ToSize(row) + 1];
    std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
    std::vector<std::int64_t> next = indptr;
    for (std::size_t c = 0; c < ToSize(columns.columns); ++c) {
      for (auto k = ToSize(columns.indptr[c]); k < ToSize(columns.indptr[c + 1]); ++k) {
        const auto to = ToSize(next[ToSize(columns.indices[k])]++);
        values[to] = columns.values[k];
        indices[to] = static_cast<std::int64_t>(c);
      }
    }
  }
};

}  // namespace

void AppendDense(const SparseMatrix& sparse, const std::string& where, RowStore& store) {
  Check(sparse, where);
  if (sparse.by_columns) {
    const ByRows rows(sparse);
    return AppendDense({sparse.rows, sparse.columns, false, rows.values, rows.indices, rows.indptr}, where, store);
  }
  store.Expect(sparse.rows);
  std::vector<float> row(ToSize(sparse.columns));
  for (std::size_t r = 0; r < ToSize(sparse.rows); ++r) {
    std::ranges::fill(row, 0.0f);
    for (auto k = ToSize(sparse.indptr[r]); k < ToSize(sparse.indptr[r + 1]); ++k) {
      row[ToSize(sparse.indices[k])] += sparse.values[k];
    }
    store.Append(row);
  }
}

}  // namespace grbm
