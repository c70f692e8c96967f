#include <algorithm>

#include "data/image.h"
#include "fuzz.h"

// Decodes the input and halves its centre.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const grbm::Image image = grbm::DecodeImage({reinterpret_cast<const char*>(data), size}, "input");
    const grbm::Index side = std::min(image.shape.height, image.shape.width);
    const grbm::Index half = (side + 1) / 2;
    const grbm::ImageShape shape = grbm::TransformedShape(image.shape, side, half, "input");
    std::vector<std::uint8_t> out(static_cast<std::size_t>(shape.size()));
    grbm::TransformImage(image.values.data(), image.shape, side, half, out.data());
  } catch (const grbm::DataError&) {
  }
  return 0;
}
