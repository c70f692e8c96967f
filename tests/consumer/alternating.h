#pragma once

#include <grbm/sampler/transition.h>

grbm::SamplerKind AlternatingKind();
