#include "core/npy.h"
#include "data/npy_rows.h"
#include "fuzz.h"
#include "grbm/core/npz.h"

GRBM_FUZZ_TARGET(Npy, input) {
  try {
    grbm::ReadAllFloats(grbm::ParseNpy(std::string(input), "input"));
  } catch (const grbm::DataError&) {
  }
  const auto contents = std::make_shared<const std::string>(input);
  grbm::ReadNpyRows({contents, *contents}, "input").ReadAll();
}
