#pragma once

#include <string_view>

namespace grbm {

// The bytes of classifiers/mnist.safetensors.
std::string_view MnistClassifierWeights();

}  // namespace grbm
