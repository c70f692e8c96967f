#include "data/column_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace grbm {

namespace {

constexpr double kFewestSteps = 100;   // rounding is then a hundredth of the spread
constexpr double kNoSpread = 0x1p-40;  // of a column's size: what double precision leaves of equal values
constexpr std::size_t kMostNamed = 5;

}  // namespace

template <typename Number>
double ColumnSteps<Number>::Column::size() const {
  return std::max(std::abs(static_cast<double>(low)), std::abs(static_cast<double>(high)));
}

template <typename Number>
double ColumnSteps<Number>::Column::step() const {
  return std::max(double{std::numeric_limits<float>::denorm_min()},
                  std::ldexp(double{std::numeric_limits<float>::epsilon()}, std::ilogb(size())));
}

template <typename Number>
bool ColumnSteps<Number>::Column::loses() const {
  if constexpr (std::is_integral_v<Number>) {
    // Exact, as a difference of unsigned numbers.
    const auto spread = static_cast<double>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
    return spread > 0 && spread < kFewestSteps * step();
  } else {
    const double spread = high - low;
    return std::isfinite(spread) && spread > kNoSpread * size() && spread < kFewestSteps * step();
  }
}

template <typename Number>
std::string ColumnSteps<Number>::Warning(const std::string& source, std::span<const std::string> texts) const {
  std::string named;
  std::size_t count = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& c = columns_[i];
    if (!c.loses() || ++count > kMostNamed) continue;
    named += fmt::format("{}column {} from {} to {} in steps of {:.3g}", count > 1 ? ", " : "",
                         texts.empty() ? fmt::format("{}", i) : texts[i], c.low, c.high, c.step());
  }
  if (count == 0) return {};
  if (count > kMostNamed) named += fmt::format(" and {} more", count - kMostNamed);
  return fmt::format("{}: 32-bit floats lose differences between the values of {}{}: take off an offset first", source,
                     named, texts.empty() ? " (counted from 0)" : "");
}

template class ColumnSteps<double>;
template class ColumnSteps<std::int32_t>;
template class ColumnSteps<std::uint32_t>;
template class ColumnSteps<std::int64_t>;
template class ColumnSteps<std::uint64_t>;

}  // namespace grbm
