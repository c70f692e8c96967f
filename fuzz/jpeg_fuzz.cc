#include "image_fuzz.h"

GRBM_FUZZ_TARGET(Jpeg, input) {
  grbm::PeekSize(input);
  grbm::Halve(grbm::DecodeJpeg(input, "input"));
}
