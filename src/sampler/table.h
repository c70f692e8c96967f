// The table of samplers, for those who write one and those who look into it.
#pragma once

#include <string_view>
#include <vector>

#include "grbm/sampler/transition.h"

namespace grbm {

// Each in a file of its own.
SamplerKind Gibbs();
SamplerKind Langevin();
SamplerKind GibbsLangevin();
SamplerKind PartialGibbs();

// The names of all, in the order of Method.
std::vector<std::string_view> SamplerNames();

}  // namespace grbm
