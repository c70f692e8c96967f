#include "grbm/data/mixture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "grbm/core/error.h"
#include "grbm/core/random.h"

namespace grbm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kReach = 9;           // deviations; the mass beyond is 2e-19
constexpr double kNegligible = 1e-20;  // densities below this share of the largest are left out

Mixture ThreeComponents(Point2 lower, Point2 upper) {
  return {{{0.33, {-5, -5}, lower}, {0.33, {5, -5}, lower}, {0.34, {0, 5}, upper}}};
}

}  // namespace

Mixture IsotropicMixture() { return ThreeComponents({1, 1}, {1, 1}); }
Mixture AnisotropicMixture() { return ThreeComponents({1.25, 0.5}, {0.5, 1.25}); }

double Mixture::LogDensity(double x, double y) const {
  double largest = -kInfinity;
  const auto term = [&](const Component& c) {
    const double dx = (x - c.mean[0]) / c.deviation[0];
    const double dy = (y - c.mean[1]) / c.deviation[1];
    return std::log(c.weight / (2 * std::numbers::pi * c.deviation[0] * c.deviation[1])) - 0.5 * (dx * dx + dy * dy);
  };
  for (const Component& c : components) largest = std::max(largest, term(c));
  if (largest == -kInfinity) return largest;
  double sum = 0;
  for (const Component& c : components) sum += std::exp(term(c) - largest);
  return largest + std::log(sum);
}

MixtureSamples Mixture::Sample(std::uint64_t seed, Index count) const {
  GRBM_CHECK(!components.empty());
  const Stream stream(seed, Purpose::kMixture);
  MixtureSamples samples{Matrix(count, 2), std::vector<int>(static_cast<std::size_t>(count))};
  for (Index i = 0; i < count; ++i) {
    const auto step = static_cast<std::uint64_t>(i);
    double left = stream.UniformDouble(step, 0);  // counter 0; the normals are of counter 1
    std::size_t k = 0;
    for (; k + 1 < components.size() && left >= components[k].weight; ++k) left -= components[k].weight;
    const PhiloxWords words = stream.Words(step, 0, 1);
    const auto [x, y] = NormalPair(words[0], words[1]);
    const Component& c = components[k];
    samples.points(i, 0) = static_cast<float>(c.mean[0] + c.deviation[0] * double{x});
    samples.points(i, 1) = static_cast<float>(c.mean[1] + c.deviation[1] * double{y});
    samples.components[static_cast<std::size_t>(i)] = static_cast<int>(k);
  }
  return samples;
}

Point2 Mixture::Mean() const {
  Point2 mean{};
  for (const Component& c : components) {
    for (std::size_t d = 0; d < 2; ++d) mean[d] += c.weight * c.mean[d];
  }
  return mean;
}

std::array<Point2, 2> Mixture::Covariance() const {
  const Point2 mean = Mean();
  std::array<Point2, 2> covariance{};
  for (const Component& c : components) {
    for (std::size_t a = 0; a < 2; ++a) {
      covariance[a][a] += c.weight * c.deviation[a] * c.deviation[a];
      for (std::size_t b = 0; b < 2; ++b) {
        covariance[a][b] += c.weight * (c.mean[a] - mean[a]) * (c.mean[b] - mean[b]);
      }
    }
  }
  return covariance;
}

LogDensity2 Mixture::FittedGaussian() const {
  const Point2 mean = Mean();
  const auto [first, second] = Covariance();
  const double determinant = first[0] * second[1] - first[1] * second[0];
  const double constant = -std::log(2 * std::numbers::pi) - 0.5 * std::log(determinant);
  return
      [=, xx = second[1] / determinant, xy = -first[1] / determinant, yy = first[0] / determinant](double x, double y) {
        const double dx = x - mean[0];
        const double dy = y - mean[1];
        return constant - 0.5 * (xx * dx * dx + 2 * xy * dx * dy + yy * dy * dy);
      };
}

double KlDivergence(const Mixture& mixture, const LogDensity2& model, int resolution) {
  GRBM_CHECK(resolution >= 1 && !mixture.components.empty());
  Point2 low = {kInfinity, kInfinity};
  Point2 high = {-kInfinity, -kInfinity};
  Point2 spacing = {kInfinity, kInfinity};
  double peak = -kInfinity;
  for (const Mixture::Component& c : mixture.components) {
    for (std::size_t d = 0; d < 2; ++d) {
      low[d] = std::min(low[d], c.mean[d] - kReach * c.deviation[d]);
      high[d] = std::max(high[d], c.mean[d] + kReach * c.deviation[d]);
      spacing[d] = std::min(spacing[d], c.deviation[d] / resolution);
    }
    peak = std::max(peak, mixture.LogDensity(c.mean[0], c.mean[1]));
  }
  const auto columns = static_cast<Index>(std::ceil((high[0] - low[0]) / spacing[0]));
  const auto lines = static_cast<Index>(std::ceil((high[1] - low[1]) / spacing[1]));
  double sum = 0;
  double mass = 0;
  for (Index j = 0; j <= lines; ++j) {
    const double y = low[1] + spacing[1] * static_cast<double>(j);
    for (Index i = 0; i <= columns; ++i) {
      const double x = low[0] + spacing[0] * static_cast<double>(i);
      const double log_p = mixture.LogDensity(x, y);
      if (log_p < peak + std::log(kNegligible)) continue;
      const double log_q = model(x, y);
      if (std::isnan(log_q))
        throw NumericError(fmt::format("KL divergence: the model's log-density at ({}, {}) is NaN", x, y));
      const double p = std::exp(log_p);
      sum += p * (log_p - log_q);
      mass += p;
    }
  }
  return sum / mass;
}

double KlOfFittedGaussian(const Mixture& mixture) { return KlDivergence(mixture, mixture.FittedGaussian()); }

}  // namespace grbm
