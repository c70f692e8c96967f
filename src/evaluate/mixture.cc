#include "grbm/evaluate/mixture.h"

#include <cmath>
#include <numbers>

namespace grbm {

namespace {

constexpr double kWithin = 3;  // standard deviations of a mode

}  // namespace

std::optional<Mixture> FindMixture(std::string_view name) {
  if (name == "gmm-iso") return IsotropicMixture();
  if (name == "gmm-aniso") return AnisotropicMixture();
  return std::nullopt;
}

LogDensity2 DensityInOwnUnits(const Quadrature& law, const Standardization& standardization) {
  return [&law, &s = standardization](double x, double y) {
    if (s.identity()) return law.LogDensity(std::vector<double>{x, y});
    const double d0 = s.deviation[0];
    const double d1 = s.deviation[1];
    return law.LogDensity(std::vector<double>{(x - double{s.mean[0]}) / d0, (y - double{s.mean[1]}) / d1}) -
           std::log(d0 * d1);
  };
}

double KlFromLaw(const Quadrature& law, const Standardization& standardization, const Mixture& mixture) {
  const LogDensity2 log_density = DensityInOwnUnits(law, standardization);
  const Standardization& s = standardization;
  return law.Expectation([&](std::span<const double> v) {
    const double x = s.identity() ? v[0] : v[0] * double{s.deviation[0]} + double{s.mean[0]};
    const double y = s.identity() ? v[1] : v[1] * double{s.deviation[1]} + double{s.mean[1]};
    return log_density(x, y) - mixture.LogDensity(x, y);
  });
}

double KlFromFittedGaussian(const Mixture& mixture) {
  // The trapezoidal rule over standard normal coordinates, (x, y) = mean + L z with L Cholesky's factor.
  constexpr double kReach = 9;
  constexpr int kPoints = 360;
  const Point2 mean = mixture.Mean();
  const auto covariance = mixture.Covariance();
  const double l00 = std::sqrt(covariance[0][0]);
  const double l10 = covariance[1][0] / l00;
  const double l11 = std::sqrt(covariance[1][1] - l10 * l10);
  const LogDensity2 gaussian = mixture.FittedGaussian();
  const double step = 2 * kReach / kPoints;
  double sum = 0;
  for (int i = 0; i <= kPoints; ++i) {
    for (int j = 0; j <= kPoints; ++j) {
      const double a = -kReach + step * i;
      const double b = -kReach + step * j;
      const double x = mean[0] + l00 * a;
      const double y = mean[1] + l10 * a + l11 * b;
      const double weight = std::exp(-(a * a + b * b) / 2) / (2 * std::numbers::pi) * step * step;
      sum += weight * (gaussian(x, y) - mixture.LogDensity(x, y));
    }
  }
  return sum;
}

std::vector<Estimate> ModeShares(const Mixture& mixture, ConstMatrix points) {
  std::vector<Estimate> shares;
  for (const Mixture::Component& c : mixture.components) {
    std::vector<double> inside;
    for (Index r = 0; r < points.rows(); ++r) {
      const double x = (double{points(r, 0)} - c.mean[0]) / c.deviation[0];
      const double y = (double{points(r, 1)} - c.mean[1]) / c.deviation[1];
      inside.push_back(x * x + y * y <= kWithin * kWithin ? 1 : 0);
    }
    shares.push_back(Mean(inside));
  }
  return shares;
}

std::vector<double> ModeMasses(const Mixture& mixture, const LogDensity2& log_density) {
  // Circles evenly spaced in the area within them, points evenly on each: Simpson's rule across, the trapezoidal one around.
  constexpr int kCircles = 400;
  constexpr int kAngles = 128;
  std::vector<double> masses;
  for (const Mixture::Component& c : mixture.components) {
    double sum = 0;
    for (int circle = 0; circle <= kCircles; ++circle) {
      const double radius = kWithin * std::sqrt(static_cast<double>(circle) / kCircles);
      const int weight = circle == 0 || circle == kCircles ? 1 : circle % 2 == 1 ? 4 : 2;
      for (int k = 0; k < kAngles; ++k) {
        const double angle = 2 * std::numbers::pi * k / kAngles;
        sum += weight * std::exp(log_density(c.mean[0] + c.deviation[0] * radius * std::cos(angle),
                                             c.mean[1] + c.deviation[1] * radius * std::sin(angle)));
      }
    }
    const double area = std::numbers::pi * kWithin * kWithin * c.deviation[0] * c.deviation[1];
    masses.push_back(sum * area / (3 * kCircles * kAngles));
  }
  return masses;
}

}  // namespace grbm
