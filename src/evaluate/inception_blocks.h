#pragma once

#include <vector>

#include "evaluate/network.h"

namespace grbm::inception {

// The network of 2015-12-05.
const std::vector<network::Block>& Blocks();

}  // namespace grbm::inception
