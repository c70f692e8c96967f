#include "grbm/data/standardize.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/moments.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

float Deviation(double variance, bool constant) {
  const auto deviation = static_cast<float>(std::sqrt(variance));
  return constant || deviation < std::numeric_limits<float>::min() ? 1.0f : deviation;
}

// What of each group, units g, g + groups, ..., a function tells of the moments of all its values.
template <typename Function>
std::vector<float> OfGroups(const UnitMoments& units, std::size_t groups, Function function) {
  std::vector<float> values(units.mean.size());
  for (std::size_t g = 0; g < groups; ++g) {
    const float value = function(Pool(units, g, groups));
    for (std::size_t i = g; i < values.size(); i += groups) values[i] = value;
  }
  return values;
}

float DeviationOf(const PooledMoments& pooled) { return Deviation(pooled.variance, pooled.min == pooled.max); }

UnitMoments MomentsWithMargin(const Dataset& data, const std::vector<float>& margin) {
  UnitMoments units = ComputeMoments(data);
  return margin.empty() ? units : WithMargin(std::move(units), margin);
}

}  // namespace

Standardization ComputeStandardization(const Dataset& data, Standardize kind, double margin) {
  if (kind == Standardize::kNone && margin > 0) {
    throw ConfigError(fmt::format(
        "data.margin = {} counts in deviations: with data.standardize=none there are none, and allowed is 0", margin));
  }
  if (kind == Standardize::kNone || data.rows() == 0) return {};
  UnitMoments units = ComputeMoments(data);
  // Channels come last: unit i is of channel i mod channels.
  const std::size_t groups = kind == Standardize::kPixel ? units.mean.size()
                             : data.shape().known()      ? static_cast<std::size_t>(data.shape().channels)
                                                         : 1;
  Standardization result;
  if (margin > 0) {
    result.margin = OfGroups(units, groups, [&](const PooledMoments& pooled) {
      return pooled.min == 0 ? static_cast<float>(margin) * DeviationOf(pooled) : 0.0f;
    });
    if (std::ranges::count(result.margin, 0.0f) == std::ssize(result.margin)) {
      throw DataError(fmt::format(
          "{}: data.margin = {} is of values of which the least is 0, as black is: there are none here: set it to 0",
          data.source(), margin));
    }
    units = WithMargin(std::move(units), result.margin);
  }
  result.mean = OfGroups(units, groups, [](const PooledMoments& p) { return static_cast<float>(p.mean); });
  result.deviation = OfGroups(units, groups, DeviationOf);
  if (margin > 0) CheckStandardization(result, data.visible(), data.source());
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
    result.margin.insert(result.margin.end(), of_values.margin.begin(), of_values.margin.end());
  }
  return result;
}

Standardization UnitStatistics(const Dataset& data, const Standardization& standardization) {
  const UnitMoments units = MomentsWithMargin(data, standardization.margin);
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
