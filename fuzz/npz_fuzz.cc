#include "fuzz.h"
#include "grbm/core/npz.h"

GRBM_FUZZ_TARGET(Npz, input) { grbm::ReadAllFloats(grbm::ParseNpz(std::string(input), "input")); }
