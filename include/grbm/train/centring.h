// The centred gradient: v and h measured from their running means, so that neither where the data's zero is nor which of
// its two states a hidden unit calls 1 changes what is learned.                                         [math.md (46)]
#pragma once

#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/model/model.h"

namespace grbm {

// What units are measured from: running means over the data.
struct Offsets {
  std::vector<float> visible;
  std::vector<float> hidden;

  bool operator==(const Offsets&) const = default;
};

// Moves the offsets to the means of a batch by a share of the way; `updates` before this one. The first takes all.
void MoveOffsets(Offsets& offsets, const Offsets& batch, std::uint64_t updates);

// The gradient in (W, b, μ, log σ²) becomes that in the centred parameters (W, b + Wᵀ(o/σ²), μ + Wλ, log σ²), of which
// a step is made.
void CentreGradient(const Model& model, const Offsets& offsets, Parameters& gradient, ThreadPool& pool);

// `next` is `model` after a step by a gradient of the centred parameters: b and μ become what that step makes of them.
void UncentreStep(const Model& model, const Offsets& offsets, Parameters& next, ThreadPool& pool);

}  // namespace grbm
