#include "grbm/model/backend.h"

#include "kernels/kernels.h"

namespace grbm {

std::string CpuTarget() { return kernels::CpuTarget(); }

}  // namespace grbm
