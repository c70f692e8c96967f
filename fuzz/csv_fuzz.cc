#include "data/csv.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    grbm::ParseCsv({reinterpret_cast<const char*>(data), size}, "input").ReadAll();
  } catch (const grbm::DataError&) {
  }
  return 0;
}
