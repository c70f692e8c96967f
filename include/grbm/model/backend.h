#pragma once

#include <string>

namespace grbm {

// What the numerical kernels run on. Results are bit-identical for one CPU target.
struct Backend {
  std::string blas;        // "BLIS 0.9.0"
  std::string cpu_target;  // "zen3"
};

Backend DescribeBackend();

}  // namespace grbm
