#include "grbm/data/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "grbm/core/error.h"

namespace grbm {
namespace {

// Means over samples must lie within so many standard errors: probability 6e-9 each, all of this file's below 1e-6.
constexpr double kErrors = 5.8;

struct MeanAndError {
  double mean = 0;
  double error = 0;  // standard
};

template <typename Function>
MeanAndError Average(const Matrix& points, Function f) {
  double sum = 0;
  double squares = 0;
  const auto n = static_cast<double>(points.rows());
  for (Index i = 0; i < points.rows(); ++i) sum += f(double{points(i, 0)}, double{points(i, 1)});
  for (Index i = 0; i < points.rows(); ++i) {
    const double d = f(double{points(i, 0)}, double{points(i, 1)}) - sum / n;
    squares += d * d;
  }
  return {sum / n, std::sqrt(squares / n / n)};
}

class Mixtures : public ::testing::TestWithParam<bool> {
 protected:
  const Mixture mixture_ = GetParam() ? IsotropicMixture() : AnisotropicMixture();
};

INSTANTIATE_TEST_SUITE_P(Both, Mixtures, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Isotropic" : "Anisotropic"; });

TEST(Mixture, HasTheMomentsOfItsDefinition) {
  // E x = 0, E y = -5 * .66 + 5 * .34; E x² = 25 * .66, E y² = 25; no correlation by symmetry.
  for (const Mixture& mixture : {IsotropicMixture(), AnisotropicMixture()}) {
    EXPECT_NEAR(mixture.Mean()[0], 0, 1e-15);
    EXPECT_NEAR(mixture.Mean()[1], -1.6, 1e-14);
    EXPECT_NEAR(mixture.Covariance()[0][1], 0, 1e-14);
    EXPECT_NEAR(mixture.Covariance()[1][0], 0, 1e-14);
  }
  EXPECT_NEAR(IsotropicMixture().Covariance()[0][0], 1 + 16.5, 1e-13);
  EXPECT_NEAR(IsotropicMixture().Covariance()[1][1], 1 + 25 - 2.56, 1e-13);
  EXPECT_NEAR(AnisotropicMixture().Covariance()[0][0], 0.66 * 1.5625 + 0.34 * 0.25 + 16.5, 1e-13);
  EXPECT_NEAR(AnisotropicMixture().Covariance()[1][1], 0.66 * 0.25 + 0.34 * 1.5625 + 25 - 2.56, 1e-13);
}

TEST(Mixture, HasTheDensityOfItsDefinition) {
  const auto normal = [](double x, double mean, double deviation) {
    return std::exp(-(x - mean) * (x - mean) / (2 * deviation * deviation)) /
           (deviation * std::sqrt(2 * std::numbers::pi));
  };
  const Mixture mixture = AnisotropicMixture();
  for (const double x : {-6.0, -1.0, 0.3, 5.5}) {
    for (const double y : {-5.2, 0.0, 4.0}) {
      const double density = 0.33 * normal(x, -5, 1.25) * normal(y, -5, 0.5) +
                             0.33 * normal(x, 5, 1.25) * normal(y, -5, 0.5) +
                             0.34 * normal(x, 0, 0.5) * normal(y, 5, 1.25);
      EXPECT_NEAR(mixture.LogDensity(x, y), std::log(density), 1e-10);
    }
  }
  EXPECT_NEAR(IsotropicMixture().LogDensity(0, 1e3), std::log(0.34 / (2 * std::numbers::pi)) - 0.5 * 995 * 995, 1e-6);
}

TEST_P(Mixtures, SamplesHaveItsMomentsAndWeights) {
  const MixtureSamples samples = mixture_.Sample(1, 200000);
  const Point2 mean = mixture_.Mean();
  const auto covariance = mixture_.Covariance();
  const auto expect = [&](auto f, double expected, const char* what) {
    const MeanAndError found = Average(samples.points, f);
    EXPECT_LT(std::abs(found.mean - expected), kErrors * found.error) << what;
  };
  expect([](double x, double) { return x; }, mean[0], "x");
  expect([](double, double y) { return y; }, mean[1], "y");
  const auto product = [&](std::size_t a, std::size_t b) {
    return [=](double x, double y) {
      const Point2 d = {x - mean[0], y - mean[1]};
      return d[a] * d[b];
    };
  };
  expect(product(0, 0), covariance[0][0], "xx");
  expect(product(0, 1), covariance[0][1], "xy");
  expect(product(1, 1), covariance[1][1], "yy");
  for (int k = 0; k < 3; ++k) {
    const double weight = mixture_.components[static_cast<std::size_t>(k)].weight;
    const auto count = static_cast<double>(std::ranges::count(samples.components, k));
    EXPECT_LT(std::abs(count / 2e5 - weight), kErrors * std::sqrt(weight * (1 - weight) / 2e5)) << k;
  }
}

TEST_P(Mixtures, PointsComeFromTheirComponents) {
  const MixtureSamples samples = mixture_.Sample(2, 50000);
  for (int k = 0; k < 3; ++k) {
    const Mixture::Component& c = mixture_.components[static_cast<std::size_t>(k)];
    std::vector<Index> members;
    for (Index i = 0; i < samples.points.rows(); ++i) {
      if (samples.components[static_cast<std::size_t>(i)] == k) members.push_back(i);
    }
    Matrix points(static_cast<Index>(members.size()), 2);
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (Index d = 0; d < 2; ++d) points(static_cast<Index>(i), d) = samples.points(members[i], d);
    }
    const MeanAndError x = Average(points, [&](double v, double) { return v; });
    const MeanAndError yy = Average(points, [&](double, double v) { return (v - c.mean[1]) * (v - c.mean[1]); });
    EXPECT_LT(std::abs(x.mean - c.mean[0]), kErrors * x.error);
    EXPECT_LT(std::abs(yy.mean - c.deviation[1] * c.deviation[1]), kErrors * yy.error);
  }
}

TEST(Mixture, SamplesAreAFunctionOfSeedAndIndex) {
  const Mixture mixture = IsotropicMixture();
  const Matrix few = mixture.Sample(3, 10).points;
  const Matrix many = mixture.Sample(3, 100).points;
  for (Index i = 0; i < 10; ++i) {
    EXPECT_EQ(few(i, 0), many(i, 0));
    EXPECT_EQ(few(i, 1), many(i, 1));
  }
  EXPECT_NE(mixture.Sample(4, 10).points, few);
}

TEST_P(Mixtures, KlIsZeroForItselfAndKnownForAShift) {
  EXPECT_NEAR(KlDivergence(mixture_, [&](double x, double y) { return mixture_.LogDensity(x, y); }), 0, 1e-14);
  // Against q = p · exp(-t x) / E exp(-t x): KL = t E x + log E exp(-t x), known in closed form.
  const double t = 0.3;
  double normaliser = 0;
  for (const auto& c : mixture_.components) {
    normaliser += c.weight * std::exp(-t * c.mean[0] + 0.5 * t * t * c.deviation[0] * c.deviation[0]);
  }
  const auto tilted = [&](double x, double y) { return mixture_.LogDensity(x, y) - t * x - std::log(normaliser); };
  EXPECT_NEAR(KlDivergence(mixture_, tilted), t * mixture_.Mean()[0] + std::log(normaliser), 1e-12);
}

TEST_P(Mixtures, KlOfTheFittedGaussianByTwoOtherRoutes) {
  const double kl = KlOfFittedGaussian(mixture_);
  // The components hardly overlap, so the entropy is that of the weights plus that of the components.
  double entropy = 0;
  for (const auto& c : mixture_.components) {
    entropy += c.weight * (-std::log(c.weight) +
                           std::log(2 * std::numbers::pi * std::numbers::e * c.deviation[0] * c.deviation[1]));
  }
  const auto covariance = mixture_.Covariance();
  const double determinant = covariance[0][0] * covariance[1][1] - covariance[0][1] * covariance[1][0];
  const double gaussian = std::log(2 * std::numbers::pi * std::numbers::e) + 0.5 * std::log(determinant);
  EXPECT_NEAR(kl, gaussian - entropy, 1e-4);
  EXPECT_NEAR(kl, GetParam() ? 1.909 : 2.37, 0.01);

  const LogDensity2 fitted = mixture_.FittedGaussian();
  const MeanAndError sampled = Average(mixture_.Sample(5, 100000).points,
                                       [&](double x, double y) { return mixture_.LogDensity(x, y) - fitted(x, y); });
  EXPECT_LT(std::abs(sampled.mean - kl), kErrors * sampled.error);
  EXPECT_LT(sampled.error, 0.01);
}

TEST_P(Mixtures, TheLatticeIsFineEnough) {
  const LogDensity2 fitted = mixture_.FittedGaussian();
  EXPECT_NEAR(KlDivergence(mixture_, fitted, 4), KlDivergence(mixture_, fitted, 16), 1e-9);
}

TEST(KlDivergence, HandlesDensitiesThatAreNot) {
  const Mixture mixture = IsotropicMixture();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(KlDivergence(mixture, [&](double x, double) { return x < 0 ? -infinity : 0; }), infinity);
  EXPECT_THROW(KlDivergence(mixture, [](double, double) { return std::nan(""); }), NumericError);
}

}  // namespace
}  // namespace grbm
