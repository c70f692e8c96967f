#include "grbm/core/random.h"

#include <cmath>
#include <numbers>

namespace grbm {

PhiloxWords Philox(const PhiloxWords& counter, const std::array<std::uint32_t, 2>& key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  PhiloxWords c = counter;
  std::uint32_t k0 = key[0];
  std::uint32_t k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiplier0 * c[0];
    const std::uint64_t p1 = kMultiplier1 * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

std::pair<float, float> NormalPair(std::uint32_t radius, std::uint32_t angle) {
  const float u = static_cast<float>(radius) * 0x1p-32f + 0x1p-33f;  // (0, 1]
  const float r = std::sqrt(-2.0f * std::log(u));
  const float phi = UniformFloat(angle) * (2.0f * std::numbers::pi_v<float>);
  return {r * std::cos(phi), r * std::sin(phi)};
}

PhiloxKey Stream::Key(std::uint64_t step) const {
  GRBM_CHECK(step <= kMaxStep);
  const auto low = static_cast<std::uint32_t>(step);
  const auto high = static_cast<std::uint32_t>(step >> 32) | static_cast<std::uint32_t>(purpose_) << 24;
  return {{0, 0, low, high}, {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
}

PhiloxWords Stream::Words(std::uint64_t step, std::uint32_t chain, std::uint32_t counter) const {
  PhiloxKey at = Key(step);
  at.counter[0] = counter;
  at.counter[1] = chain;
  return Philox(at.counter, at.key);
}

namespace {

struct WordAddress {
  std::uint32_t counter;
  std::size_t word;
};

WordAddress Locate(Index unit) {
  return {static_cast<std::uint32_t>(unit / Stream::kTile * Stream::kLanes + unit % Stream::kLanes),
          static_cast<std::size_t>(unit % Stream::kTile / Stream::kLanes)};
}

}  // namespace

float Stream::Uniform(std::uint64_t step, std::uint32_t chain, Index unit) const {
  const WordAddress address = Locate(unit);
  return UniformFloat(Words(step, chain, address.counter)[address.word]);
}

float Stream::Normal(std::uint64_t step, std::uint32_t chain, Index unit) const {
  const WordAddress address = Locate(unit);
  const PhiloxWords words = Words(step, chain, address.counter);
  const std::size_t pair = address.word / 2 * 2;
  const auto [first, second] = NormalPair(words[pair], words[pair + 1]);
  return address.word == pair ? first : second;
}

double Stream::BitUniform(std::uint64_t step, std::uint32_t chain, Index unit) const {
  const auto u = static_cast<std::uint32_t>(unit);
  const std::uint32_t word = Words(step, chain, u / 64 * 8 + u % 8)[u % 64 / 16];
  const std::uint32_t fine = Words(step, chain, 0x80000000u + u / 4)[u % 4];
  return (static_cast<double>(word >> u % 16 / 8 * 16 & 0xFFFFu) + double{UniformFloat(fine)}) * 0x1p-16;
}

double Stream::UniformDouble(std::uint64_t step, std::uint32_t chain) const {
  const PhiloxWords words = Words(step, chain, 0);
  return grbm::UniformDouble(words[0], words[1]);
}

}  // namespace grbm
