#include "grbm/data/standardize.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "data/moments.h"

namespace grbm {

namespace {

float Deviation(double variance, bool constant) {
  const auto deviation = static_cast<float>(std::sqrt(variance));
  return constant || deviation < std::numeric_limits<float>::min() ? 1.0f : deviation;
}

}  // namespace

Standardization ComputeStandardization(const Dataset& data, Standardize kind) {
  if (kind == Standardize::kNone || data.rows() == 0) return {};
  const UnitMoments units = ComputeMoments(data);
  const std::size_t visible = units.mean.size();
  Standardization result{std::vector<float>(visible), std::vector<float>(visible)};
  // Channels come last: unit i is of channel i mod channels.
  const std::size_t groups = kind == Standardize::kPixel ? visible
                             : data.shape().known()      ? static_cast<std::size_t>(data.shape().channels)
                                                         : 1;
  for (std::size_t g = 0; g < groups; ++g) {
    const PooledMoments pooled = Pool(units, g, groups);
    for (std::size_t i = g; i < visible; i += groups) {
      result.mean[i] = static_cast<float>(pooled.mean);
      result.deviation[i] = Deviation(pooled.variance, pooled.min == pooled.max);
    }
  }
  return result;
}

Standardization ConditionStandardization(const Dataset& data, Standardize kind, const Standardization& of_values) {
  if (kind == Standardize::kNone || data.conditions() == 0) return {};
  if (data.history() == 0) {
    std::vector<Index> rows(static_cast<std::size_t>(data.rows()));
    std::iota(rows.begin(), rows.end(), Index{0});
    const Dataset conditions(data.ReadConditions(rows), {}, data.source());
    return ComputeStandardization(conditions.WithWeights({data.weights().begin(), data.weights().end()}),
                                  Standardize::kPixel);
  }
  Standardization result;
  for (Index k = 0; k < data.history(); ++k) {
    result.mean.insert(result.mean.end(), of_values.mean.begin(), of_values.mean.end());
    result.deviation.insert(result.deviation.end(), of_values.deviation.begin(), of_values.deviation.end());
  }
  return result;
}

Standardization UnitStatistics(const Dataset& data, const Standardization& standardization) {
  const UnitMoments units = ComputeMoments(data);
  Standardization result;
  for (std::size_t i = 0; i < units.mean.size(); ++i) {
    const double zero = standardization.identity() ? 0 : double{standardization.mean[i]};
    const double one = standardization.identity() ? 1 : double{standardization.deviation[i]};
    result.mean.push_back(static_cast<float>((units.mean[i] - zero) / one));
    result.deviation.push_back(units.constant(i) ? 0 : static_cast<float>(std::sqrt(units.variance[i]) / one));
  }
  return result;
}

}  // namespace grbm
