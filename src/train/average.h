// Running means: of the data, and of the parameters over training.
#pragma once

#include <cstdint>
#include <span>

#include "grbm/core/parallel.h"
#include "grbm/model/parameters.h"

namespace grbm {

// mean ← mean + share · (values − mean)
void MoveTo(std::span<float> mean, std::span<const float> values, double share);

// The mean of all parameters up to `update`, 1 after the first, with weights that fall by `decay` with each update back.
// `mean` is that of the update before, and anything before the first.                                  [math.md (64)]
void MoveAverage(Parameters& mean, const Parameters& parameters, double decay, std::uint64_t update, ThreadPool& pool);

}  // namespace grbm
