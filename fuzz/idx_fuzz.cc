#include "data/idx.h"
#include "fuzz.h"

GRBM_FUZZ_TARGET(Idx, input) {
  const auto contents = std::make_shared<const std::string>(input);
  const grbm::FileBytes file = {contents, *contents};
  try {
    grbm::ReadIdxLabels(file, "input");
  } catch (const grbm::DataError&) {
  }
  grbm::ReadIdx(file, "input", {}).ReadAll();
}
