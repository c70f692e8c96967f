// The metrics, one file each.
#pragma once

#include "grbm/evaluate/evaluation.h"

namespace grbm {

// Why metrics of the model itself cannot be had.
inline std::string WhyNotOfRows(const Evaluation& evaluation) {
  return evaluation.request().given ? "rows are judged, not a model" : "";
}

extern const Metric kFidMetric;
extern const Metric kKidMetric;
extern const Metric kLikelihoodMetric;
extern const Metric kQuickMetric;
extern const Metric kMixingMetric;
extern const Metric kMemorisationMetric;
extern const Metric kCoverageMetric;
extern const Metric kMixtureMetric;
extern const Metric kClassesMetric;
extern const Metric kBackgroundMetric;

}  // namespace grbm
