// What the fuzz targets share: an input is read, or refused with an Error; anything else is a bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "grbm/core/error.h"
#include "grbm/core/tensor.h"

namespace grbm {

// Reads the input by `parse`, which returns a TensorFile, and every tensor as floats.
template <typename Parse>
int FuzzTensors(Parse parse, const std::uint8_t* data, std::size_t size) {
  try {
    const TensorFile file = parse(std::string(reinterpret_cast<const char*>(data), size), "input");
    for (const Tensor& tensor : file.tensors) {
      try {
        GetFloats(file, tensor.name, tensor.shape);
      } catch (const DataError&) {  // an element type without a conversion
      }
    }
  } catch (const DataError&) {
  }
  return 0;
}

}  // namespace grbm
