// Numbers on the command line: the whole word is one, and within its limits. Nothing is rounded, cut or wrapped around.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>

#include "command_line.h"
#include "grbm/core/error.h"

namespace grbm::app {

// Decimal digits, with a minus where the limits allow it. `where` opens the message.
template <typename T>
T ParseNumber(const std::string& text, const std::string& where, T min, T max) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  bool good = error == std::errc() && rest == end && value >= min && value <= max;
  if constexpr (std::floating_point<T>) good = good && std::isfinite(value);
  if (good) return value;
  throw ConfigError(fmt::format("{} {}: allowed is a {}number from {} to {}", where, text,
                                std::integral<T> ? "whole " : "", min, max));
}

template <typename T>
Option AddNumber(Command command, const std::string& name, T& value, const std::string& help, T min, T max) {
  const std::string shown = name.substr(name.find("--"));
  const bool limited = max != std::numeric_limits<T>::max();
  const char* kind = std::floating_point<T> ? "FLOAT" : std::unsigned_integral<T> ? "UINT" : "INT";
  return command
      .AddOption(
          name, [=, &value](const std::string& text) { value = ParseNumber<T>(text, shown, min, max); },
          [&value] { return fmt::format("{}", value); }, help)
      .SetTypeName(limited ? fmt::format("{} in [{} - {}]", kind, min, max) : kind);
}

inline Option AddSeed(Command command, std::uint64_t& seed, const std::string& help = "Seed of all random numbers") {
  return AddNumber<std::uint64_t>(command, "--seed", seed, help, 0, std::numeric_limits<std::uint64_t>::max())
      .ShowDefault();
}

inline Option AddThreads(Command command, int& threads,
                         const std::string& help = "Threads; 0: one per core. Results do not depend on it") {
  return AddNumber<int>(command, "--threads", threads, help, 0, 4096);
}

}  // namespace grbm::app
