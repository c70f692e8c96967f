// Counter-based random streams: a draw is a function of (seed, purpose, step, chain, unit) and of nothing else, so
// results depend neither on the number of threads nor on how the chains are split.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "grbm/core/matrix.h"

namespace grbm {

using PhiloxWords = std::array<std::uint32_t, 4>;

// Philox4x32-10 (Salmon et al. 2011): four random words for a counter under a key.
PhiloxWords Philox(const PhiloxWords& counter, const std::array<std::uint32_t, 2>& key);

// What a draw is for. Part of every key, so that draws for different purposes are independent. The numbers are part
// of the results: never renumber, only add.
enum class Purpose : std::uint8_t {
  kInitialVisible = 1,
  kInitialHidden = 2,
  kVisible = 3,
  kHidden = 4,
  kAccept = 5,
  kExact = 6,
  kInitialWeights = 7,
  kPositiveHidden = 8,
  kRestart = 9,
  kResample = 10,
  kNoise = 11,
  kInitialLabel = 12,
  kLabel = 13,
  kGapVisible = 14,
  kGapHidden = 15,
  kBatches = 16,
  kSubset = 17,
  kMixture = 18,
  kStrokes = 19,
  kBatchWeights = 20,
  kFarStart = 21,
  kFarHidden = 22,
  kEvaluate = 32,
};

// (k + 1/2) / 2^23 for the upper 23 bits k: in (0, 1), symmetric, exact in float.
inline float UniformFloat(std::uint32_t word) { return (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f; }

// (k + 1/2) / 2^52 for the upper 52 bits k: in (0, 1), exact in double.
inline double UniformDouble(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

// Two independent standard normals by Box and Muller. The radius comes from all 32 bits: |z| reaches 6.7.
std::pair<float, float> NormalPair(std::uint32_t radius, std::uint32_t angle);

// All that a stream fixes at one step: the key, and the counter's last two words.
struct PhiloxKey {
  PhiloxWords counter;  // [0] and [1] are left to the counter and the chain
  std::array<std::uint32_t, 2> key;
};

class Stream {
 public:
  // Draws cover tiles of kTile units: counter kLanes·tile + lane gives, in its word w, unit kTile·tile + kLanes·w +
  // lane. A vector of counters thus fills contiguous units, and normals pair words 0 with 1 and 2 with 3.
  static constexpr Index kTile = 64;
  static constexpr Index kLanes = 16;
  // Steps are counted in 56 bits, chains in 32.
  static constexpr std::uint64_t kMaxStep = (std::uint64_t{1} << 56) - 1;

  Stream(std::uint64_t seed, Purpose purpose) : seed_(seed), purpose_(purpose) {}

  PhiloxKey Key(std::uint64_t step) const;
  // The four words at (step, chain, counter).
  PhiloxWords Words(std::uint64_t step, std::uint32_t chain, std::uint32_t counter) const;

  // Single draws at (step, chain, unit); kernels fill whole rows with the same numbers.
  float Uniform(std::uint64_t step, std::uint32_t chain, Index unit) const;
  float Normal(std::uint64_t step, std::uint32_t chain, Index unit) const;
  // A 39-bit uniform for a bit, which is 1 where the uniform is below its probability. Sixteen bits decide nearly always:
  // counter 8·tile + lane gives, in the lower and the upper half of its word w, those of units kTile·tile + 16·w + lane
  // and 8 more. The other bits come from the counters from 2³¹ on, and are drawn where they matter.
  double BitUniform(std::uint64_t step, std::uint32_t chain, Index unit) const;
  // A 52-bit uniform at (step, chain), for acceptance decisions.
  double UniformDouble(std::uint64_t step, std::uint32_t chain) const;

 private:
  std::uint64_t seed_;
  Purpose purpose_;
};

// Where the rows of a matrix draw: row r as chain first_chain + r, at `step` of the stream.
struct DrawPlace {
  Stream stream;
  std::uint64_t step = 0;
  std::uint32_t first_chain = 0;
};

}  // namespace grbm
