#include "grbm/model/quadrature.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "grbm/core/error.h"
#include "grbm/model/labels.h"
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

// Σ_j log(1 + exp(b_j + Σ_i W_ij v_i/σ_i²)), the convex part of -Ẽ. With labels τ log Σ_y exp(of each class/τ), which is
// convex, too.                                                                                     [math.md (5), (76)]
class HiddenPart {
 public:
  HiddenPart(const Model& model, double temperature) : temperature_(temperature) {
    classes_.push_back({0, {model.b().begin(), model.b().end()}});
    if (model.label_units() > 0) classes_.clear();
    for (Index k = 0; k < model.label_units(); ++k) {
      const Index unit = model.gaussian_units() + k;
      const double inverse_variance = 1 / std::exp(double{model.log_var()[ToSize(unit)]});
      Class& added = classes_.emplace_back();
      added.offset = double{model.mu()[ToSize(unit)]} * inverse_variance - LabelConstant(model);
      for (std::size_t j = 0; j < model.b().size(); ++j) {
        added.biases.push_back(double{model.b()[j]} + double{model.W().row(unit)[j]} * inverse_variance);
      }
    }
    for (Index i = 0; i < model.gaussian_units(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double variance = std::exp(double{model.log_var()[at]});
      for (const float w : model.W().row(i)) slopes_[at].push_back(double{w} / variance);
    }
  }

  double operator()(const LatticePoint& v) const {
    if (classes_.size() == 1) return OfClass(classes_[0], v);
    std::vector<double> logs;
    for (const Class& each : classes_) logs.push_back(OfClass(each, v) / temperature_);
    return temperature_ * NormalizeLogs(logs);
  }

 private:
  struct Class {
    double offset = 0;
    std::vector<double> biases;
  };

  double OfClass(const Class& of, const LatticePoint& v) const {
    double sum = of.offset;
    const bool plane = !slopes_[1].empty();
    for (std::size_t j = 0; j < of.biases.size(); ++j) {
      sum += Softplus(of.biases[j] + slopes_[0][j] * v[0] + (plane ? slopes_[1][j] * v[1] : 0));
    }
    return sum;
  }

  double temperature_;
  std::vector<Class> classes_;  // one, where there are no labels
  std::array<std::vector<double>, Quadrature::kMaxVisible> slopes_;
};

LatticeDensity MakeDensity(const Model& model, double temperature) {
  LatticeDensity density;
  density.dimensions = static_cast<std::size_t>(model.gaussian_units());
  density.temperature = temperature;
  density.convex = HiddenPart(model, temperature);
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
  return std::min(kMaxPoints,
                  static_cast<std::size_t>(
                      kMaxWork / (2 * static_cast<double>(model.hidden() * std::max<Index>(1, model.label_units())))));
}

}  // namespace

Quadrature::Quadrature(Model model, double temperature) : law_{std::move(model), temperature} {
  const Model& own = law_.model;
  const Index visible = own.gaussian_units();
  own.RequireNoConditions();
  if (visible > kMaxVisible) {
    throw ConfigError(fmt::format("quadrature: {} visible units: allowed are at most {}", visible, kMaxVisible));
  }
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    throw ConfigError(fmt::format("quadrature: temperature = {}: allowed is a number above 0", temperature));
  }
  const LatticeDensity density = MakeDensity(own, temperature);
  const LatticeMass mass = CollectMass(density, MaxPoints(own), "quadrature");
  log_partition_ = mass.log_integral;
  points_ = BasicMatrix<double>(static_cast<Index>(mass.points.size()), visible);
  double log_cell = 0;
  for (Index i = 0; i < visible; ++i) log_cell += std::log(density.spacing[static_cast<std::size_t>(i)]);
  for (std::size_t p = 0; p < mass.points.size(); ++p) {
    std::copy_n(mass.points[p].begin(), visible, points_.row(static_cast<Index>(p)).begin());
    probabilities_.push_back(std::exp(mass.values[p] + log_cell - log_partition_));
  }
}

double Quadrature::LogDensity(std::span<const double> v) const { return -FreeEnergy(law_, v) - log_partition_; }

double Quadrature::Expectation(const std::function<double(std::span<const double>)>& f) const {
  double sum = 0;
  for (Index p = 0; p < points_.rows(); ++p) sum += probabilities_[static_cast<std::size_t>(p)] * f(points_.row(p));
  return sum;
}

}  // namespace grbm
