#pragma once

#include "grbm/core/matrix.h"

namespace grbm {

// How the visible units of a row make an image: height × width pixels of `channels` values each, channels last. All zero
// where rows are not images.
struct ImageShape {
  Index height = 0;
  Index width = 0;
  Index channels = 0;

  bool known() const { return height > 0; }
  Index size() const { return height * width * channels; }
  bool operator==(const ImageShape&) const = default;
};

}  // namespace grbm
