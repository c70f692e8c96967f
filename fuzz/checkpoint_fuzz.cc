#include "fuzz.h"
#include "grbm/train/checkpoint.h"

GRBM_FUZZ_TARGET(Checkpoint, input) { grbm::ParseCheckpoint(std::string(input), "input"); }
