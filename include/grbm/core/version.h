#pragma once

#include <string>

namespace grbm {

// "0.1.0"
std::string Version();

}  // namespace grbm
