// What the fuzz targets share: an input is read, or refused with an Error of one line; anything else is a bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "grbm/core/error.h"
#include "grbm/core/tensor.h"

namespace grbm {

// Runs `read` on the input. Messages must be of one line, and short, whatever the input is.
template <typename Read>
int Fuzz(const std::uint8_t* data, std::size_t size, Read read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.find('\n') != std::string_view::npos || message.size() > 2000) std::abort();
  }
  return 0;
}

// Every tensor as floats.
inline void ReadAllFloats(const TensorFile& file) {
  for (const Tensor& tensor : file.tensors) {
    try {
      GetFloats(file, tensor.name, tensor.shape);
    } catch (const DataError&) {  // an element type without a conversion
    }
  }
}

}  // namespace grbm

// Defines the target: { ... } reads `input`, a std::string_view. In a fuzz program it is the one that libFuzzer calls; in
// tests/corpus_test.cc, which takes in all of them, a function of that name.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define GRBM_FUZZ_TARGET(Name, input)                                                  \
  static void Try##Name(std::string_view input);                                      \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { \
    return grbm::Fuzz(bytes, size, Try##Name);                                        \
  }                                                                                    \
  static void Try##Name(std::string_view input)
#else
#define GRBM_FUZZ_TARGET(Name, input) static void Try##Name(std::string_view input)
#endif
