#include "data/csv.h"
#include "fuzz.h"

GRBM_FUZZ_TARGET(Csv, input) {
  try {
    grbm::ParseCsv(input, "input", {.columns = "1", .label = "2", .missing = "NA,?"}).ReadAll();
  } catch (const grbm::Error&) {  // such columns need not be there
  }
  grbm::ParseCsv(input, "input").ReadAll();
}
