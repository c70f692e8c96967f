// Judgements of a model that need no samples and no log Z.
#pragma once

#include <cstdint>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/model/visible_law.h"

namespace grbm {

// log p(v_i | v_-i), by a sum over a lattice of v_i that follows the mass: to about 1e-6 per hidden unit whose state is in
// doubt. Its time does not grow as the variance shrinks. Throws NumericError where the mass covers more than 100,000
// points. logits: of v, without a label where the model has them, as LogitsOfValues has them; the class is summed out.
//                                                                                                [math.md (41), (76)]
Matrix LogitsOfValues(const Model& model, ConstMatrix values, ThreadPool& pool);
double ConditionalLogDensity(const VisibleLaw& law, std::span<const float> v, std::span<const float> logits,
                             Index unit);

// Mean and standard deviation of p(v_i | v_-i), by the same sum.                                       [math.md (62)]
struct ConditionalMoments {
  double mean = 0;
  double deviation = 0;
};
ConditionalMoments MomentsGivenOthers(const VisibleLaw& law, std::span<const float> v, std::span<const float> logits,
                                      Index unit);

// Σ_i log p(v_i | v_-i), mean over rows, each from `units` units drawn at random. data: rows × visible, in the model's
// units, two rows at least.
Estimate PseudoLikelihood(const VisibleLaw& law, ConstMatrix data, Index units, std::uint64_t seed, ThreadPool& pool);

// Mean marginal energy of held-out rows less that of training rows, over the temperature: 0 where a model does as well on
// both, growing as it overfits.
Estimate FreeEnergyGap(const VisibleLaw& law, ConstMatrix training, ConstMatrix held_out, ThreadPool& pool);

}  // namespace grbm
