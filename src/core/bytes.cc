#include "core/bytes.h"

#include <fmt/core.h>

#include "grbm/core/error.h"

namespace grbm {

std::string_view ByteReader::Take(std::uint64_t count, std::string_view what) {
  if (count > remaining()) {
    throw DataError(fmt::format("{}: byte {}: {} needs {} bytes and {} are left: truncated?", where_, position_, what,
                                count, remaining()));
  }
  const std::string_view taken = bytes_.substr(position_, static_cast<std::size_t>(count));
  position_ += taken.size();
  return taken;
}

void ByteReader::Seek(std::uint64_t position, std::string_view what) {
  if (position > bytes_.size()) {
    throw DataError(fmt::format("{}: {} is said to be at byte {}, past the end at {}: truncated?", where_, what,
                                position, bytes_.size()));
  }
  position_ = static_cast<std::size_t>(position);
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kMax = 80;
  std::string quoted = "'";
  for (const char c : text.substr(0, kMax)) {
    if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kMax) quoted += "...";
  return quoted + "'";
}

}  // namespace grbm
