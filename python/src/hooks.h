// Steps of chains that are written in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "compute.h"
#include "grbm/sampler/sampler.h"
#include "grbm/store/model_file.h"

namespace grbm::python {

// step(model, v, h, number) -> (v, h), of arrays: chains × visible and chains × hidden, in the model's units.
using PythonStep = std::optional<py::function>;

// Hooks that look for signals and, where there is a step, take it. What they refer to must outlive them; `like` has what a
// model's file has beside the parameters.
SamplerHooks Hooks(Signals& signals, const PythonStep& step, const ModelFile& like);

}  // namespace grbm::python
