#include "dashboard/run_text.h"
#include "fuzz.h"

GRBM_FUZZ_TARGET(Metrics, input) {
  grbm::RunStarts(input).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  grbm::MetricColumns(input).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
