// Images in 256 colours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grbm/report/color_map.h"
#include "grbm/report/image.h"

namespace grbm {

// Frames as indices into one palette of 1 to 256 colours.
struct IndexedFrames {
  std::vector<Color> palette;
  std::vector<std::vector<std::uint8_t>> frames;  // height·width indices each
};

// Frames are of one size and number of channels. Grey values are their own indices; up to 256 colours are kept; more are
// reduced by median cut and dithered by error diffusion (Floyd and Steinberg, 1976).
IndexedFrames ToPalette(std::span<const Image> frames);

}  // namespace grbm
