#include "grbm/model/quadrature.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "grbm/core/error.h"
#include "grbm/model/energy.h"
#include "model/lattice.h"

namespace grbm {

namespace {

constexpr double kMargin = 10;    // how far the lattice reaches beyond the outermost mean, in √τ σ
constexpr double kMaxWork = 5e8;  // evaluations of one hidden unit: some seconds
constexpr std::size_t kMaxPoints = 4'000'000;

double Softplus(double x) {
  if (std::abs(x) > 40) return std::max(x, 0.0);  // to the last bit
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// Σ_j log(1 + exp(b_j + Σ_i W_ij v_i/σ_i²)), the convex part of -Ẽ.                                    [math.md (5)]
class HiddenPart {
 public:
  explicit HiddenPart(const Model& model) : biases_(model.b().begin(), model.b().end()) {
    for (Index i = 0; i < model.visible(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double variance = std::exp(double{model.log_var()[at]});
      for (const float w : model.W().row(i)) slopes_[at].push_back(double{w} / variance);
    }
  }

  double operator()(const LatticePoint& v) const {
    double sum = 0;
    const bool plane = !slopes_[1].empty();
    for (std::size_t j = 0; j < biases_.size(); ++j) {
      sum += Softplus(biases_[j] + slopes_[0][j] * v[0] + (plane ? slopes_[1][j] * v[1] : 0));
    }
    return sum;
  }

 private:
  std::vector<double> biases_;
  std::array<std::vector<double>, Quadrature::kMaxVisible> slopes_;
};

LatticeDensity MakeDensity(const Model& model, double temperature) {
  LatticeDensity density;
  density.dimensions = static_cast<std::size_t>(model.visible());
  density.temperature = temperature;
  density.convex = HiddenPart(model);
  for (std::size_t i = 0; i < density.dimensions; ++i) {
    const std::span<const float> row = model.W().row(static_cast<Index>(i));
    double low = model.mu()[i];
    double high = low;
    for (const float w : row) (w < 0 ? low : high) += double{w};
    const double variance = std::exp(double{model.log_var()[i]});
    const double deviation = std::sqrt(variance);
    const double reach = kMargin * deviation * std::max(1.0, std::sqrt(temperature));
    density.mu[i] = model.mu()[i];
    density.variance[i] = variance;
    density.low[i] = low - reach;
    density.high[i] = high + reach;
    density.spacing[i] = LatticeSpacing(deviation, row, temperature);
  }
  return density;
}

// A point costs about two evaluations of every hidden unit, the cells above it included.
std::size_t MaxPoints(const Model& model) {
  return std::min(kMaxPoints, static_cast<std::size_t>(kMaxWork / (2 * static_cast<double>(model.hidden()))));
}

}  // namespace

Quadrature::Quadrature(Model model, double temperature) : model_(std::move(model)), temperature_(temperature) {
  model_.RequireNoConditions();
  if (model_.visible() > kMaxVisible) {
    throw ConfigError(
        fmt::format("quadrature: {} visible units: allowed are at most {}", model_.visible(), kMaxVisible));
  }
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    throw ConfigError(fmt::format("quadrature: temperature = {}: allowed is a number above 0", temperature));
  }
  const LatticeDensity density = MakeDensity(model_, temperature);
  const LatticeMass mass = CollectMass(density, MaxPoints(model_), "quadrature");
  log_partition_ = mass.log_integral;
  points_ = BasicMatrix<double>(static_cast<Index>(mass.points.size()), model_.visible());
  double log_cell = 0;
  for (Index i = 0; i < model_.visible(); ++i) log_cell += std::log(density.spacing[static_cast<std::size_t>(i)]);
  for (std::size_t p = 0; p < mass.points.size(); ++p) {
    std::copy_n(mass.points[p].begin(), model_.visible(), points_.row(static_cast<Index>(p)).begin());
    probabilities_.push_back(std::exp(mass.values[p] + log_cell - log_partition_));
  }
}

double Quadrature::LogDensity(std::span<const double> v) const {
  return -MarginalEnergy(model_, v) / temperature_ - log_partition_;
}

double Quadrature::Expectation(const std::function<double(std::span<const double>)>& f) const {
  double sum = 0;
  for (Index p = 0; p < points_.rows(); ++p) sum += probabilities_[static_cast<std::size_t>(p)] * f(points_.row(p));
  return sum;
}

}  // namespace grbm
