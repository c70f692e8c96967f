#include "data/gzip.h"
#include "fuzz.h"

GRBM_FUZZ_TARGET(Gzip, input) {
  grbm::GunzipStart(input, 100, "input");
  grbm::Gunzip(input, 1 << 16, "input");
}
