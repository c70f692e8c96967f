// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace grbm {

// The number that the whole text is; none where it is something else, or does not fit. Floats may be infinite or NaN.
template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace grbm
