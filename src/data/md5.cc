#include "data/md5.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace grbm {

namespace {

using State = std::array<std::uint32_t, 4>;
constexpr std::size_t kBlock = 64;

// T[i] of RFC 1321, 3.4: the integer part of 2^32 |sin(i + 1)|, i + 1 in radians.
std::array<std::uint32_t, 64> MakeTable() {
  std::array<std::uint32_t, 64> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint32_t>(0x1p32 * std::abs(std::sin(static_cast<double>(i + 1))));
  }
  return table;
}

void AddBlock(State& state, const char* block) {
  static const std::array<std::uint32_t, 64> kTable = MakeTable();
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  std::array<std::uint32_t, 16> x{};
  std::memcpy(x.data(), block, kBlock);
  auto [a, b, c, d] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    std::uint32_t f = 0;
    std::size_t k = 0;
    switch (i / 16) {
      case 0:
        f = (b & c) | (~b & d);
        k = i;
        break;
      case 1:
        f = (b & d) | (c & ~d);
        k = 5 * i + 1;
        break;
      case 2:
        f = b ^ c ^ d;
        k = 3 * i + 5;
        break;
      default:
        f = c ^ (b | ~d);
        k = 7 * i;
    }
    const std::uint32_t sum = a + f + x[k % 16] + kTable[i];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[i / 16][i % 4]);
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

}  // namespace

std::string Md5(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) AddBlock(state, bytes.data() + at);
  // The rest, a one bit, zeros, and the number of bits in the last 8 bytes.
  std::string rest(bytes.substr(whole));
  rest += '\x80';
  rest.resize((rest.size() + 8 + kBlock - 1) / kBlock * kBlock, '\0');
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  std::memcpy(rest.data() + rest.size() - 8, &bits, 8);
  for (std::size_t at = 0; at < rest.size(); at += kBlock) AddBlock(state, rest.data() + at);

  std::array<unsigned char, 16> digest{};
  std::memcpy(digest.data(), state.data(), digest.size());
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace grbm
