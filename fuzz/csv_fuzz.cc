#include "data/csv.h"
#include "fuzz.h"

GRBM_FUZZ_TARGET(Csv, input) { grbm::ParseCsv(input, "input").ReadAll(); }
