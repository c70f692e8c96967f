#include "grbm/evaluate/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace grbm {

Estimate Mean(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double x : values) mean += x;
  mean /= n;
  double squares = 0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n * (n - 1)))};
}

Estimate LogMeanExp(std::span<const double> values) {
  const double largest = std::ranges::max(values);
  std::vector<double> scaled;
  for (const double x : values) scaled.push_back(std::exp(x - largest));
  const Estimate mean = Mean(scaled);
  return {largest + std::log(mean.value), mean.error / mean.value};
}

}  // namespace grbm
