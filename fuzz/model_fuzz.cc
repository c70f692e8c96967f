#include "fuzz.h"
#include "grbm/model/reach.h"
#include "grbm/store/model_file.h"

GRBM_FUZZ_TARGET(Model, input) {
  const grbm::ModelFile file = grbm::ParseModel(std::string(input), "input");
  grbm::CheckReach(file.model, file.hottest(), "input");
}
