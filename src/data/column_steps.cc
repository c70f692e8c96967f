#include "data/column_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace grbm {

namespace {

constexpr double kFewestSteps = 100;   // rounding is then a hundredth of the spread
constexpr double kNoSpread = 0x1p-40;  // of a column's size: what double precision leaves of equal values
constexpr std::size_t kMostNamed = 5;

}  // namespace

double ColumnSteps::Column::step() const {
  const double size = std::max(std::abs(low), std::abs(high));
  return std::max(double{std::numeric_limits<float>::denorm_min()},
                  std::ldexp(double{std::numeric_limits<float>::epsilon()}, std::ilogb(size)));
}

bool ColumnSteps::Column::loses() const {
  const double spread = high - low;
  const double size = std::max(std::abs(low), std::abs(high));
  return std::isfinite(spread) && spread > kNoSpread * size && spread < kFewestSteps * step();
}

void ColumnSteps::Add(std::size_t column, double value) {
  if (std::isnan(value)) return;
  Column& c = columns_[column];
  c.low = c.seen ? std::min(c.low, value) : value;
  c.high = c.seen ? std::max(c.high, value) : value;
  c.seen = true;
}

std::string ColumnSteps::Warning(const std::string& source) const {
  std::string named;
  std::size_t count = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& c = columns_[i];
    if (!c.loses() || ++count > kMostNamed) continue;
    named +=
        fmt::format("{}column {} from {} to {} in steps of {:.3g}", count > 1 ? ", " : "", i, c.low, c.high, c.step());
  }
  if (count == 0) return {};
  if (count > kMostNamed) named += fmt::format(" and {} more", count - kMostNamed);
  return fmt::format(
      "{}: 32-bit floats lose differences between the values of {} (counted from 0): take off an offset first", source,
      named);
}

}  // namespace grbm
