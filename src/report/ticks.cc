#include "report/ticks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace grbm {

namespace {

constexpr double kSlack = 1e-9;  // of a step: ends of the range count as within

std::string Superscript(int number) {
  static constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char digit : fmt::format("{}", number)) {
    out += digit == '-' ? std::string_view("⁻") : kDigits[static_cast<std::size_t>(digit - '0')];
  }
  return out;
}

// With a true minus sign; no "-0".
std::string Fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !zero ? "−" + text : text;
}

int Exponent(double value) { return static_cast<int>(std::floor(std::log10(value))); }

// The smallest of 1, 2, 5 times a power of ten that is not below `raw`.
double NiceStep(double raw) {
  const double power = std::pow(10.0, Exponent(raw));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - kSlack)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Ticks LinearTicks(double low, double high, int most) {
  Ticks out;
  const double step = NiceStep((high - low) / std::max(most, 1));
  const double first = std::ceil(low / step - kSlack);
  const double last = std::floor(high / step + kSlack);
  // Very large and very small numbers share a power of ten, unless that would only move their many digits.
  const int step_exponent = static_cast<int>(std::floor(std::log10(step) + kSlack));
  const int top = Exponent(std::max(std::abs(low), std::abs(high)));
  const bool far = top >= 5 || top < -3;
  const int power = far && (top < 0 || top > 12 || top - step_exponent <= 3) ? top : 0;
  const double unit = std::pow(10.0, power);
  const int decimals = std::clamp(power - step_exponent, 0, 15);
  if (power != 0) out.power = "×10" + Superscript(power);
  for (int i = 0; i <= static_cast<int>(std::min(last - first, 100.0)); ++i) {
    const double value = (first + i) * step;
    out.ticks.push_back({value, Fixed(value / unit, decimals)});
  }
  return out;
}

Ticks LogTicks(double low, double high, int most) {
  const int first = static_cast<int>(std::ceil(std::log10(low) - kSlack));
  const int last = static_cast<int>(std::floor(std::log10(high) + kSlack));
  Ticks out;
  const int every = std::max(1, (last - first) / std::max(most, 1) + 1);
  const bool decades = last - first >= 2;
  for (int exponent = first - 1; exponent <= last; ++exponent) {
    for (int factor = 1; factor <= 9; ++factor) {
      const double value = factor * std::pow(10.0, exponent);
      if (value < low * (1 - kSlack) || value > high * (1 + kSlack)) continue;
      std::string label;
      if (decades) {
        if (factor == 1 && (exponent - first) % every == 0) label = "10" + Superscript(exponent);
        if (label.empty() && every > 1) continue;
      } else if (factor == 1 || factor == 2 || factor == 5) {
        label = exponent >= -3 && exponent < 5 ? Fixed(value, std::max(0, -exponent))
                                               : fmt::format("{}×10{}", factor, Superscript(exponent));
      }
      out.ticks.push_back({value, label});
    }
  }
  const auto labelled =
      std::count_if(out.ticks.begin(), out.ticks.end(), [](const Tick& t) { return !t.label.empty(); });
  return labelled >= 2 ? out : LinearTicks(low, high, most);
}

}  // namespace grbm
