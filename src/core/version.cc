#include "grbm/core/version.h"

namespace grbm {

std::string Version() { return GRBM_VERSION; }

}  // namespace grbm
