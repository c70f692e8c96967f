// Images: decoded, cropped to their smaller side and halved.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "data/image.h"
#include "fuzz.h"

namespace grbm {

inline void Halve(const DecodedImage& image) {
  const Index side = std::min(image.shape.height, image.shape.width);
  const Index half = (side + 1) / 2;
  const ImageShape shape = TransformedShape(image.shape, side, half, "input");
  std::visit(
      [&](const auto& values) {
        std::decay_t<decltype(values)> out(static_cast<std::size_t>(shape.size()));
        TransformImage(values.data(), image.shape, side, half, out.data());
      },
      image.values);
}

}  // namespace grbm
