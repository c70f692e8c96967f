#include "fuzz.h"
#include "grbm/core/safetensors.h"

GRBM_FUZZ_TARGET(Safetensors, input) { grbm::ReadAllFloats(grbm::ParseTensors(std::string(input), "input")); }
