// Step sizes.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "grbm/model/model.h"
#include "grbm/sampler/options.h"

namespace grbm {

// The cosine schedule: ½ (1 + cos(π k / count)) for k = 0 ... count - 1, so 1 at first and never 0.    [math.md (25)]
inline double CosineDecay(std::int64_t k, std::int64_t count) {
  return 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(k) / static_cast<double>(count)));
}

// α/σ² of a unit at the start of the schedule: step_size · σ̄²/σ² or, by unit, step_size.              [math.md (26)]
inline double StepRatio(const Model& model, const SamplerOptions& options, std::size_t unit) {
  if (options.step_scale == StepScale::kUnit) return options.step_size;
  return options.step_size * model.mean_variance() / double{model.variance()[unit]};
}

}  // namespace grbm
