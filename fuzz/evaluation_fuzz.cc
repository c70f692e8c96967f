#include "dashboard/run_text.h"
#include "fuzz.h"

GRBM_FUZZ_TARGET(Evaluation, input) {
  grbm::EvaluationScores(input).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  grbm::PicturePoints(input).dump();
}
