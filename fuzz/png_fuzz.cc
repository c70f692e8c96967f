#include "image_fuzz.h"

GRBM_FUZZ_TARGET(Png, input) {
  grbm::PeekSize(input);
  grbm::Halve(grbm::DecodePng(input, "input"));
}
