// The metrics, one file each.
#pragma once

#include "grbm/evaluate/evaluation.h"

namespace grbm {

extern const Metric kFidMetric;
extern const Metric kKidMetric;
extern const Metric kLikelihoodMetric;
extern const Metric kQuickMetric;
extern const Metric kMixingMetric;
extern const Metric kMemorisationMetric;
extern const Metric kCoverageMetric;
extern const Metric kMixtureMetric;

}  // namespace grbm
