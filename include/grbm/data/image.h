#pragma once

#include <cstdint>
#include <vector>

#include "grbm/data/image_shape.h"

namespace grbm {

// height × width pixels of 1 (grey) or 3 (red, green, blue) values, row by row from the top, channels last.
struct Image {
  Index height = 0;
  Index width = 0;
  Index channels = 1;
  std::vector<std::uint8_t> pixels;

  ImageShape shape() const { return {height, width, channels}; }
  std::uint8_t at(Index y, Index x, Index channel = 0) const {
    return pixels[static_cast<std::size_t>((y * width + x) * channels + channel)];
  }
  bool operator==(const Image&) const = default;
};

}  // namespace grbm
