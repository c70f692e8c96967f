#include "grbm/evaluate/pseudo.h"

#include <algorithm>
#include <cmath>

#include "evaluate/common.h"
#include "grbm/model/energy.h"
#include "kernels/kernels.h"

namespace grbm {

double ConditionalLogDensity(const Model& model, std::span<const float> v, std::span<const float> logits, Index unit) {
  const auto at = Size(unit);
  const std::span<const float> w = model.W().row(unit);
  const double mu = model.mu()[at];
  const double inverse_variance = model.inverse_variance()[at];
  const double deviation = 1 / std::sqrt(inverse_variance);
  // -Ẽ of the model with this one visible unit.
  std::vector<float> shifted(logits.size());
  const auto log_weight = [&](double value) {
    const double change = (value - double{v[at]}) * inverse_variance;
    for (std::size_t j = 0; j < shifted.size(); ++j) {
      shifted[j] = static_cast<float>(double{logits[j]} + change * double{w[j]});
    }
    return kernels::SumSoftplus(shifted) - 0.5 * (value - mu) * (value - mu) * inverse_variance;
  };
  // The density is a mixture of Gaussians whose means lie between those with all negative and all positive weights on.
  double low = mu;
  double high = mu;
  for (const float x : w) (x < 0 ? low : high) += double{x};
  constexpr double kSpacing = 0.5;  // σ                                                               [math.md (27)]
  constexpr double kMargin = 8;     // σ
  low -= kMargin * deviation;
  high += kMargin * deviation;
  const double spacing = kSpacing * deviation;
  std::vector<double> values;
  for (double x = low; x <= high; x += spacing) values.push_back(log_weight(x));
  const double log_mean = LogMeanExp(values).value;
  return log_weight(v[at]) - (log_mean + std::log(static_cast<double>(values.size()) * spacing));
}

Estimate PseudoLikelihood(const Model& model, ConstMatrix data, Index units, std::uint64_t seed, ThreadPool& pool) {
  const Matrix logits = HiddenLogits(model, data, pool);
  const Stream stream(PartSeed(seed, Part::kPseudo), Purpose::kInitialVisible);
  std::vector<double> sums(Size(data.rows()));
  pool.ParallelFor(data.rows(), [&](Index r) {
    for (Index k = 0; k < units; ++k) {
      const double u = stream.UniformDouble(static_cast<std::uint64_t>(k), static_cast<std::uint32_t>(r));
      const auto unit = static_cast<Index>(u * static_cast<double>(model.visible()));
      sums[Size(r)] += ConditionalLogDensity(model, data.row(r), logits.row(r), unit);
    }
    sums[Size(r)] *= static_cast<double>(model.visible()) / static_cast<double>(units);
  });
  return Mean(sums);
}

Estimate FreeEnergyGap(const Model& model, ConstMatrix training, ConstMatrix held_out, ThreadPool& pool) {
  const Estimate a = Mean(MarginalEnergies(model, training, pool));
  const Estimate b = Mean(MarginalEnergies(model, held_out, pool));
  return {b.value - a.value, std::hypot(a.error, b.error)};
}

}  // namespace grbm
