// What the files of this layer share.
#pragma once

#include <cstdint>

#include "grbm/core/matrix.h"
#include "grbm/core/random.h"

namespace grbm {

// Each part of an evaluation draws from streams of its own, and so never from those of training or of another part.
// The numbers are part of the results: never renumber, only add.
enum class EvaluationStream : std::uint32_t {
  kAnneal = 1,
  kAnnealBack = 2,
  kModelSamples = 3,
  kDequantize = 4,
  kSamples = 5,
  kMixing = 6,
  kFeatures = 7,
  kSubset = 8,
  kPseudo = 9,
  kSteps = 10,
  kReference = 11,
  kPictures = 12,
};
inline std::uint64_t EvaluationSeed(std::uint64_t seed, EvaluationStream stream) {
  const PhiloxWords words = Stream(seed, Purpose::kEvaluate).Words(0, static_cast<std::uint32_t>(stream), 0);
  return std::uint64_t{words[0]} << 32 | words[1];
}

}  // namespace grbm
