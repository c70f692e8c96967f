#include "train/average.h"

#include <cmath>

namespace grbm {

void MoveTo(std::span<float> mean, std::span<const float> values, double share) {
  for (std::size_t k = 0; k < mean.size(); ++k) {
    mean[k] += static_cast<float>(share * (double{values[k]} - double{mean[k]}));
  }
}

void MoveAverage(Parameters& mean, const Parameters& parameters, double decay, std::uint64_t update, ThreadPool& pool) {
  if (update <= 1) {
    mean = parameters;
    return;
  }
  const double share = (1 - decay) / (1 - std::pow(decay, static_cast<double>(update)));
  const auto to = mean.Tensors();
  const auto from = parameters.Tensors();
  ForLines(parameters, pool,
           [&](const ParameterLine& at) { MoveTo(to[at.tensor].line(at.line), from[at.tensor].line(at.line), share); });
}

}  // namespace grbm
