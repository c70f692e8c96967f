#include "evaluate/resize.h"

#include <algorithm>
#include <vector>

namespace grbm::inception {

namespace {

// The two pixels between which a place of the new image lies, and the share of the second.
struct Between {
  Index low, high;
  float share;
};

std::vector<Between> Places(Index length, Index side) {
  std::vector<Between> places;
  const float scale = static_cast<float>(length) / static_cast<float>(side);
  for (Index i = 0; i < side; ++i) {
    const float at = std::max(0.0f, scale * (static_cast<float>(i) + 0.5f) - 0.5f);
    const Index low = std::min(static_cast<Index>(at), length - 1);
    places.push_back({low, std::min(low + 1, length - 1), at - static_cast<float>(low)});
  }
  return places;
}

}  // namespace

void ResizeImage(std::span<const std::uint8_t> image, const ImageShape& shape, Index side, std::span<float> out) {
  const std::vector<Between> rows = Places(shape.height, side);
  const std::vector<Between> columns = Places(shape.width, side);
  const Index plane = side * side;
  for (Index channel = 0; channel < shape.channels; ++channel) {
    const auto pixel = [&](Index y, Index x) {
      return static_cast<float>(image[static_cast<std::size_t>((y * shape.width + x) * shape.channels + channel)]);
    };
    float* to = out.data() + channel * plane;
    for (const Between& y : rows) {
      for (const Between& x : columns) {
        const float above = pixel(y.low, x.low) * (1 - x.share) + pixel(y.low, x.high) * x.share;
        const float below = pixel(y.high, x.low) * (1 - x.share) + pixel(y.high, x.high) * x.share;
        *to++ = (above * (1 - y.share) + below * y.share) * (2.0f / 255) - 1;
      }
    }
  }
  for (Index channel = shape.channels; channel < 3; ++channel) {
    std::copy_n(out.begin(), plane, out.begin() + channel * plane);
  }
}

}  // namespace grbm::inception
