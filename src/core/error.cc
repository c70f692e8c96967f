#include "grbm/core/error.h"

#include <fmt/core.h>

namespace grbm {

std::string OneLine(const std::string& text) {
  constexpr std::size_t kMax = 2000;
  std::string line;
  for (const char c : text) {
    if (line.size() > kMax - 8) {
      while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80)
        line.pop_back();  // no half letter
      if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xc0) line.pop_back();
      return line + "...";
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

namespace internal {

void CheckFailed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: {} does not hold: a wrong call, or a bug in grbm", file, line, condition));
}

}  // namespace internal

}  // namespace grbm
