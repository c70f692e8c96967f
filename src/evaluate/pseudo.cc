#include "grbm/evaluate/pseudo.h"

#include <algorithm>
#include <cmath>

#include "evaluate/common.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "kernels/kernels.h"
#include "model/lattice.h"

namespace grbm {

namespace {

constexpr std::size_t kMaxPoints = 100'000;

// That of v_i given the other units, up to a factor. `v` and `logits` must outlive it.                 [math.md (41)]
LatticeDensity GivenOthers(const VisibleLaw& law, std::span<const float> v, std::span<const float> logits, Index unit) {
  const auto& [model, temperature] = law;
  constexpr double kMargin = 8;  // √τ σ
  const auto at = ToSize(unit);
  const std::span<const float> w = model.W().row(unit);
  const double inverse_variance = model.inverse_variance()[at];
  const double deviation = 1 / std::sqrt(inverse_variance);
  LatticeDensity density;
  density.mu[0] = model.mu()[at];
  density.variance[0] = 1 / inverse_variance;
  density.temperature = temperature;
  density.spacing[0] = LatticeSpacing(deviation, w, temperature);
  // The density is a mixture of Gaussians whose means lie between those with all negative and all positive weights on.
  density.low[0] = density.high[0] = density.mu[0];
  for (const float x : w) (x < 0 ? density.low[0] : density.high[0]) += double{x};
  const double reach = kMargin * deviation * std::max(1.0, std::sqrt(temperature));
  density.low[0] -= reach;
  density.high[0] += reach;
  // Σ softplus(x) = Σ max(x, 0), in double, and Σ softplus(-|x|), in float: terms of any size cancel without loss.
  auto softplus = [=, below = std::vector<float>(logits.size())](double change, std::span<const float> label) mutable {
    double sum = 0;
    for (std::size_t j = 0; j < below.size(); ++j) {
      const double x = double{logits[j]} + change * double{w[j]} + (label.empty() ? 0.0 : double{label[j]});
      sum += std::max(x, 0.0);
      below[j] = static_cast<float>(-std::abs(x));
    }
    return sum + kernels::SumSoftplus(below);
  };
  const auto change = [=](const LatticePoint& point) { return (point[0] - double{v[at]}) * inverse_variance; };
  if (model.label_units() == 0) {
    density.convex = [=](const LatticePoint& point) mutable { return softplus(change(point), {}); };
    return density;
  }
  // τ log Σ_y exp(of y/τ)                                                                               [math.md (76)]
  Matrix weights(model.label_units(), model.hidden());
  std::vector<double> biases;
  for (Index k = 0; k < weights.rows(); ++k) {
    const Index label = model.gaussian_units() + k;
    const float scale = model.inverse_variance()[ToSize(label)];
    biases.push_back(double{model.mu()[ToSize(label)]} * double{scale});
    std::ranges::transform(model.W().row(label), weights.row(k).begin(), [=](float u) { return u * scale; });
  }
  density.convex = [=](const LatticePoint& point) mutable {
    std::vector<double> logs = biases;
    for (std::size_t k = 0; k < logs.size(); ++k) {
      logs[k] = (logs[k] + softplus(change(point), weights.row(static_cast<Index>(k)))) / temperature;
    }
    return temperature * NormalizeLogs(logs);
  };
  return density;
}

}  // namespace

Matrix LogitsOfValues(const Model& model, ConstMatrix values, ThreadPool& pool) {
  if (model.label_units() == 0) return HiddenLogits(model, values, pool);
  return HiddenLogits(model, WithRoomForLabels(model, values), pool);
}

double ConditionalLogDensity(const VisibleLaw& law, std::span<const float> v, std::span<const float> logits,
                             Index unit) {
  const LatticeDensity density = GivenOthers(law, v, logits, unit);
  const double value = v[ToSize(unit)];
  const double d = value - density.mu[0];
  return (density.convex({value}) - 0.5 * d * d / density.variance[0]) / law.temperature -
         CollectMass(density, kMaxPoints, "pseudo-likelihood").log_integral;
}

ConditionalMoments MomentsGivenOthers(const VisibleLaw& law, std::span<const float> v, std::span<const float> logits,
                                      Index unit) {
  const LatticeMass mass = CollectMass(GivenOthers(law, v, logits, unit), kMaxPoints, "deviations");
  const double largest = std::ranges::max(mass.values);
  double total = 0;
  double first = 0;
  for (std::size_t k = 0; k < mass.points.size(); ++k) {
    const double weight = std::exp(mass.values[k] - largest);
    total += weight;
    first += weight * mass.points[k][0];
  }
  const double mean = first / total;
  double second = 0;
  for (std::size_t k = 0; k < mass.points.size(); ++k) {
    const double d = mass.points[k][0] - mean;
    second += std::exp(mass.values[k] - largest) * d * d;
  }
  return {mean, std::sqrt(second / total)};
}

Estimate PseudoLikelihood(const VisibleLaw& law, ConstMatrix data, Index units, std::uint64_t seed, ThreadPool& pool) {
  const Model& model = law.model;
  const Matrix logits = LogitsOfValues(model, data, pool);
  const Stream stream(EvaluationSeed(seed, EvaluationStream::kPseudo), Purpose::kInitialVisible);
  std::vector<double> sums(ToSize(data.rows()));
  pool.ParallelFor(data.rows(), [&](Index r) {
    for (Index k = 0; k < units; ++k) {
      const double u = stream.UniformDouble(static_cast<std::uint64_t>(k), static_cast<std::uint32_t>(r));
      const auto unit = static_cast<Index>(u * static_cast<double>(model.gaussian_units()));
      sums[ToSize(r)] += ConditionalLogDensity(law, data.row(r), logits.row(r), unit);
    }
    sums[ToSize(r)] *= static_cast<double>(model.gaussian_units()) / static_cast<double>(units);
  });
  return Mean(sums);
}

Estimate FreeEnergyGap(const VisibleLaw& law, ConstMatrix training, ConstMatrix held_out, ThreadPool& pool) {
  const Estimate a = Mean(FreeEnergies(law, training, pool));
  const Estimate b = Mean(FreeEnergies(law, held_out, pool));
  return {b.value - a.value, std::hypot(a.error, b.error)};
}

}  // namespace grbm
