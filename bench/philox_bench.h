#pragma once

#include "grbm/core/random.h"

namespace grbm::bench {

// Makes the random words of `chains` chains and `tiles` tiles of 64 units, as vectors, and returns their sum.
std::uint32_t PhiloxWordSum(const DrawPlace& draw, Index chains, Index tiles);

}  // namespace grbm::bench
