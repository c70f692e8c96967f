// Colours of heat maps.
#pragma once

#include <array>
#include <cstdint>

namespace grbm {

using Color = std::array<std::uint8_t, 3>;  // red, green, blue (sRGB)

// viridis: perceptually uniform, of rising lightness, readable without colour vision. `position` from 0 (dark violet) to
// 1 (yellow), clamped; NaN is mid grey.
Color Viridis(double position);

}  // namespace grbm
