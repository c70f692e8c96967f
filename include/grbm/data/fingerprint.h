// Whether data are the same.
#pragma once

#include <cstdint>

#include "grbm/data/dataset.h"

namespace grbm {

// 64 bits that tell data apart: of the values, in order, of how they are stored and of the shape; not of labels and names.
std::uint64_t Fingerprint(const Dataset& data);

}  // namespace grbm
