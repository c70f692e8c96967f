#include "grbm/core/error.h"

#include <fmt/core.h>

namespace grbm::internal {

void CheckFailed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: {} does not hold: a wrong call, or a bug in grbm", file, line, condition));
}

}  // namespace grbm::internal
