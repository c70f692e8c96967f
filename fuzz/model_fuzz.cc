#include "fuzz.h"
#include "grbm/store/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    grbm::ParseModel(std::string(reinterpret_cast<const char*>(data), size), "input");
  } catch (const grbm::DataError&) {
  }
  return 0;
}
