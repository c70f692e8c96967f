// Rows with gaps in the positive phase: what is missing is drawn given what is known.
#pragma once

#include <cstdint>

#include "grbm/core/matrix.h"
#include "grbm/sampler/law.h"
#include "sampler/engine.h"

namespace grbm {

// Whether any value is NaN: missing. None is infinite.
bool HasGaps(ConstMatrix rows);

struct GapOptions {
  std::int64_t steps = 1;
  double noise = 0;  // the variance of what is added to the data
  std::uint64_t seed = 0;
};

// The rows with their gaps filled in, in the engine and with its model: Gibbs sampling at the law's temperature, with the
// known units put back after every step. Where noise is added, the known units of the chains have that of the update, and
// what is filled in is without it.                                                                      [math.md (65)]
// first: the first row's number in the batch. hidden: the states that the chains start from, and then those that they end
// at; nullptr: they start from noise. The engine is left as it may be.
Matrix FillGaps(Engine& engine, const Model& model, const Law& law, ConstMatrix rows, std::uint32_t first,
                const GapOptions& options, std::uint64_t update, BitMatrix* hidden = nullptr);

}  // namespace grbm
