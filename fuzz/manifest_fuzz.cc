#include "dashboard/run_text.h"
#include "fuzz.h"

GRBM_FUZZ_TARGET(Manifest, input) {
  grbm::ReadManifestText(input, "input").object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
