#include "data/idx.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto contents = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  const grbm::FileBytes file = {contents, *contents};
  try {
    grbm::ReadIdx(file, "input", {}).ReadAll();
  } catch (const grbm::DataError&) {
  }
  try {
    grbm::ReadIdxLabels(file, "input");
  } catch (const grbm::DataError&) {
  }
  return 0;
}
