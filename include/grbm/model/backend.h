#pragma once

#include <string>

namespace grbm {

// The CPU target that the numerical kernels chose: "AVX2". Results are bit-identical for one target.
std::string CpuTarget();

}  // namespace grbm
