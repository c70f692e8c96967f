#pragma once

#include <cstdint>
#include <span>

#include "grbm/data/image_shape.h"

namespace grbm::inception {

// An image of 8 bits as the network takes it: resized to side × side by bilinear interpolation, without antialiasing and
// without alignment of the corners; from -1 to 1; 3 × side × side, a grey image copied to the three channels.
void ResizeImage(std::span<const std::uint8_t> image, const ImageShape& shape, Index side, std::span<float> out);

}  // namespace grbm::inception
