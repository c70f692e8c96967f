#include <pybind11/pybind11.h>

#include "bindings.h"
#include "grbm/core/version.h"
#include "grbm/model/backend.h"

PYBIND11_MODULE(_core, m) {
  using namespace grbm::python;  // NOLINT(google-build-using-namespace)
  m.doc() = "The C++ library.";
  m.attr("__version__") = grbm::Version();
  m.def("cpu_target", &grbm::CpuTarget,
        R"(The instruction set that the kernels use. Results have the same bits on one target.

>>> grbm.cpu_target() in ("SSE4", "AVX2", "AVX3", "AVX3_DL", "NEON", "SSSE3", "AVX3_ZEN4")
True
)");
  BindErrors(m);
  BindConfig(m);
  BindData(m);
  auto model = BindModel(m);
  BindSampler(model);
  BindTrain(m);
  BindEvaluate(m);
}
