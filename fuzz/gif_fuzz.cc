#include "fuzz.h"
#include "grbm/report/image.h"

GRBM_FUZZ_TARGET(Gif, input) { grbm::DecodeGif(input, "input"); }
