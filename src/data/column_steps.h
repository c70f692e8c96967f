// Whether 32-bit floats can tell the values of a column apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

// Sees values as they were given, in double. A column whose spread is small beside its size, such as one of time stamps,
// comes out in few steps as 32-bit floats, or as a constant. Spreads that are rounding of doubles do not count.
class ColumnSteps {
 public:
  explicit ColumnSteps(Index columns) : columns_(static_cast<std::size_t>(columns)) {}

  void Add(std::size_t column, double value);
  // A row, of any type of numbers.
  template <typename Number>
  void Add(std::span<const Number> row) {
    for (std::size_t c = 0; c < row.size(); ++c) Add(c, static_cast<double>(row[c]));
  }

  // Which columns, how bad, and what to do, opened by `source`; empty where nothing is lost.
  std::string Warning(const std::string& source) const;

 private:
  struct Column {
    double low = 0;
    double high = 0;
    bool seen = false;

    double step() const;  // between neighbouring floats of its size
    bool loses() const;
  };
  std::vector<Column> columns_;
};

}  // namespace grbm
