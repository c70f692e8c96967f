#include "grbm/model/backend.h"

#include "kernels/kernels.h"

namespace grbm {

Backend DescribeBackend() { return {kernels::BlasName(), kernels::CpuTarget()}; }

}  // namespace grbm
