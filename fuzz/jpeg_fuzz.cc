#include "image_fuzz.h"

GRBM_FUZZ_TARGET(Jpeg, input) { grbm::Halve(grbm::DecodeJpeg(input, "input")); }
