#include "core/hash.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

namespace grbm {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

void Hash::Add(std::string_view bytes) {
  const std::size_t size = bytes.size();
  std::uint64_t word = 0;
  for (; bytes.size() >= sizeof(word); bytes.remove_prefix(sizeof(word))) {
    std::memcpy(&word, bytes.data(), sizeof(word));
    Mix(word);
  }
  word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  Mix(word);
  Mix(size);
}

std::uint64_t Hash::value() const {
  // The finisher of MurmurHash3: every bit of the state reaches every bit of the digest.
  std::uint64_t x = state_;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

std::string Hash::text() const { return fmt::format("{:016x}", value()); }

std::string Digest(std::string_view bytes) {
  Hash hash;
  hash.Add(bytes);
  return hash.text();
}

}  // namespace grbm
