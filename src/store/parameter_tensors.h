// Parameters among the tensors of a file, each by its name; empty ones are left out.
#pragma once

#include <string>

#include "grbm/core/tensor.h"
#include "grbm/model/parameters.h"

namespace grbm {

// The tensors refer to `parameters`. `prefix` opens their names.
void AddParameters(const Parameters& parameters, const std::string& prefix, TensorFile& file);

// With as many units as W has rows and columns. Throws DataError with the file and the tensor that is missing, or not of that
// shape, or not of floating-point numbers.
Parameters GetParameters(const TensorFile& file);
// Of the shapes of others in the same file.
Parameters GetParameters(const TensorFile& file, const std::string& prefix, const Parameters& shapes);

}  // namespace grbm
