// Whether 32-bit floats can tell the values of a column apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

// Sees values as they were given: doubles, or whole numbers of 32 or 64 bits. A column whose spread is small beside its size,
// such as one of time stamps, comes out in few steps as 32-bit floats, or as a constant. Spreads that are rounding of doubles
// do not count.
template <typename Number>
class ColumnSteps {
 public:
  explicit ColumnSteps(Index columns) : columns_(ToSize(columns)) {}

  void Add(std::size_t column, Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
      if (std::isnan(value)) return;
    }
    Column& c = columns_[column];
    c.low = c.seen ? std::min(c.low, value) : value;
    c.high = c.seen ? std::max(c.high, value) : value;
    c.seen = true;
  }
  void Add(std::span<const Number> row) {
    for (std::size_t c = 0; c < row.size(); ++c) Add(c, row[c]);
  }

  // Which columns, how bad, and what to do, opened by `source`; empty where nothing is lost. Columns are called by `texts`,
  // or, where there are none, counted from 0.
  std::string Warning(const std::string& source, std::span<const std::string> texts = {}) const;

 private:
  struct Column {
    Number low = 0;
    Number high = 0;
    bool seen = false;

    double size() const;  // of the larger end
    double step() const;  // between neighbouring floats of its size
    bool loses() const;
  };
  std::vector<Column> columns_;
};

}  // namespace grbm
