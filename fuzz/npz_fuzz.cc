#include "fuzz.h"
#include "grbm/core/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return grbm::FuzzTensors(grbm::ParseNpz, data, size);
}
