#pragma once

#include <cstdint>

#include "grbm/data/dataset.h"

namespace grbm {

// Images of 28 × 28 pixels of 8 bits, white on black: a line through three points. They need no file, so they stand in
// where real digits are not at hand. Image i is a function of the seed and i.
Dataset MakeStrokes(std::uint64_t seed, Index count);

}  // namespace grbm
