#include "grbm/evaluate/mixture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/models.h"

namespace grbm {
namespace {

// A model without weights is one Gaussian, N(mu, var).
Model Gaussian(double mu0, double mu1, double variance) {
  Parameters p(2, 1);
  p.mu = {static_cast<float>(mu0), static_cast<float>(mu1)};
  p.log_var = {static_cast<float>(std::log(variance)), static_cast<float>(std::log(variance))};
  return Model(std::move(p));
}

Mixture OneComponent() { return {{{1.0, {1, -2}, {2, 3}}}}; }

// KL between Gaussians with diagonal covariances, in closed form.
double ClosedForm(Point2 m1, Point2 s1, Point2 m2, Point2 s2) {
  double kl = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const double ratio = s1[i] / s2[i];
    const double d = (m1[i] - m2[i]) / s2[i];
    kl += 0.5 * (ratio * ratio + d * d - 1) - std::log(ratio);
  }
  return kl;
}

TEST(Mixture, KlOfGaussiansBothWaysIsTheClosedForm) {
  const Mixture truth = OneComponent();
  // In units of its own: v = (x - 1)/2, (y + 1)/4.
  const Standardization units{{1, -1}, {2, 4}};
  const Quadrature law(Gaussian(0.25, 0.5, 0.81));
  const Point2 mean = {0.25 * 2 + 1, 0.5 * 4 - 1};
  const Point2 deviation = {0.9 * 2, 0.9 * 4};
  EXPECT_NEAR(KlDivergence(truth, DensityInOwnUnits(law, units)), ClosedForm({1, -2}, {2, 3}, mean, deviation), 1e-6);
  EXPECT_NEAR(KlFromLaw(law, units, truth), ClosedForm(mean, deviation, {1, -2}, {2, 3}), 1e-6);
}

TEST(Mixture, AGaussianFittedToAGaussianIsItself) {
  EXPECT_NEAR(KlFromFittedGaussian(OneComponent()), 0, 1e-9);
  EXPECT_GT(KlFromFittedGaussian(IsotropicMixture()), 1);
  EXPECT_TRUE(std::isfinite(KlFromFittedGaussian(AnisotropicMixture())));
}

// A disc of three deviations holds 1 - exp(-9/2) of a Gaussian; 5 standard errors.
TEST(Mixture, SharesOfModesAreTheirWeights) {
  const Mixture mixture = AnisotropicMixture();
  const std::vector<Estimate> shares = ModeShares(mixture, mixture.Sample(1, 20000).points);
  ASSERT_EQ(shares.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(shares[c].value, mixture.components[c].weight * (1 - std::exp(-4.5)), 5 * shares[c].error);
    EXPECT_NEAR(shares[c].error, std::sqrt(0.33 * 0.67 / 20000), 2e-4);
  }
}

TEST(Mixture, MassesOfModesAreThoseOfTheDensity) {
  const Mixture mixture = AnisotropicMixture();
  const std::vector<double> whole = ModeMasses(mixture, [&](double x, double y) { return mixture.LogDensity(x, y); });
  ASSERT_EQ(whole.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(whole[c], mixture.components[c].weight * (1 - std::exp(-4.5)), 1e-6);
  }
  // One Gaussian about the second mode, half as wide: 6 deviations of its own.
  const Mixture narrow = {{{1.0, {5, -5}, {0.625, 0.25}}}};
  const std::vector<double> one = ModeMasses(mixture, [&](double x, double y) { return narrow.LogDensity(x, y); });
  EXPECT_NEAR(one[0], 0, 1e-9);
  EXPECT_NEAR(one[1], 1 - std::exp(-18.0), 1e-5);
  EXPECT_NEAR(one[2], 0, 1e-9);
  // A quarter as wide, 1.5 deviations from the third mode, in no direction of the axes: six of its own within the edge.
  const Point2 deviation = mixture.components[2].deviation;
  const Mixture aside = {{{1.0,
                           {0 + 1.5 * std::cos(0.6) * deviation[0], 5 + 1.5 * std::sin(0.6) * deviation[1]},
                           {deviation[0] / 4, deviation[1] / 4}}}};
  const std::vector<double> third = ModeMasses(mixture, [&](double x, double y) { return aside.LogDensity(x, y); });
  EXPECT_NEAR(third[0] + third[1], 0, 1e-9);
  EXPECT_NEAR(third[2], 1, 1e-5);
}

TEST(Mixture, IsFoundByName) {
  EXPECT_TRUE(FindMixture("gmm-iso"));
  EXPECT_TRUE(FindMixture("gmm-aniso"));
  EXPECT_FALSE(FindMixture("mnist"));
}

}  // namespace
}  // namespace grbm
