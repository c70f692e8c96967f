#include "grbm/core/error.h"

#include <cstdio>
#include <cstdlib>

namespace grbm::internal {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "grbm: bug: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace grbm::internal
