#include "model/lattice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numbers>

#include "grbm/core/error.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "support/models.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using testing::RandomModel;
using ::testing::StartsWith;

template <typename Action>
std::string Refusal(Action action) {
  try {
    action();
  } catch (const NumericError& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// exp of -(v)²/2σ² + softplus(b + w v/σ²): a Gaussian at 0 of weight 1 and one at w of weight exp(b + w²/2σ²).
LatticeDensity TwoGaussians(double w, double b, double variance, int* evaluations) {
  LatticeDensity density;
  const double deviation = std::sqrt(variance);
  density.variance = {variance, variance};
  density.low[0] = std::min(0.0, w) - 10 * deviation;
  density.high[0] = std::max(0.0, w) + 10 * deviation;
  density.spacing[0] = 0.5 * deviation;
  density.convex = [=](const LatticePoint& v) {
    ++*evaluations;
    return Softplus(b + w * v[0] / variance);
  };
  return density;
}

TEST(Lattice, FollowsTheMassOverAnyDistanceInFewEvaluations) {
  for (const double w : {1.0, 1e2, 1e4, 6e4}) {
    for (const double variance : {1.0, 1e-6}) {
      const double distance = w * std::sqrt(variance);
      const double half = 0.5 * distance * distance / variance;
      int evaluations = 0;
      // Both Gaussians of the same weight.
      const LatticeMass mass = CollectMass(TwoGaussians(distance, -half, variance, &evaluations), 1000, "t");
      EXPECT_NEAR(mass.log_integral, 0.5 * std::log(2 * std::numbers::pi * variance) + std::log(2), 2e-6) << w;
      EXPECT_LE(mass.points.size(), 2 * 40u) << w;
      EXPECT_LT(evaluations, 1000) << w;
    }
  }
}

TEST(Lattice, RefusesWhatDoublesCannotTell) {
  int evaluations = 0;
  const auto refusal = [&](double w) {
    return Refusal([&] { CollectMass(TwoGaussians(w, 0, 1, &evaluations), 1000, "t"); });
  };
  EXPECT_EQ(refusal(1e4), "(nothing was thrown)");
  EXPECT_THAT(refusal(1e9),
              StartsWith("t: the log-density is a difference of numbers of 1.5e+18, of which doubles lose"));
  EXPECT_THAT(refusal(1e20), StartsWith("t: a lattice of 2e+20 points a side"));
  EXPECT_THAT(refusal(3e38), StartsWith("t: a lattice of 6e+38 points a side"));
  EXPECT_THAT(refusal(std::numeric_limits<double>::infinity()), HasSubstr("points a side"));
  EXPECT_LT(evaluations, 10000);
}

// Without hidden units that matter, a wide flat box: a density of no shape would cover it all.
TEST(Lattice, TooManyPointsShowLongBeforeTheyAreMade) {
  LatticeDensity density;
  density.dimensions = 2;
  density.variance = {1e12, 1e12};
  density.low = {-1e6, -1e6};
  density.high = {1e6, 1e6};
  density.spacing = {0.5, 0.5};
  int evaluations = 0;
  density.convex = [&](const LatticePoint&) {
    ++evaluations;
    return 0.0;
  };
  EXPECT_THAT(Refusal([&] { CollectMass(density, 1'000'000, "t"); }),
              StartsWith("t: the model's mass covers more than 1000000 lattice points"));
  EXPECT_LT(evaluations, 100'000);
}

// Enumeration is the oracle: random models with weights up to 1e4, with tiny variances, and both.
TEST(Quadrature, AgreesWithEnumerationOfSteepModels) {
  for (const double scale : {1.0, 30.0, 1e3, 1e4}) {
    for (const float log_var : {0.0f, -10.0f}) {
      for (const Index visible : {1, 2}) {
        Parameters p = RandomModel(visible, 6, 3, scale * std::exp(0.5 * double{log_var})).parameters();
        std::ranges::fill(p.log_var, log_var);
        const Model model(p, 1e-8);
        const ExactModel exact(model);
        const double log_z = exact.log_partition();
        EXPECT_NEAR(Quadrature(model).log_partition(), log_z, 1e-11 + 1e-14 * std::abs(log_z))
            << scale << " " << log_var << " " << visible;
      }
    }
  }
}

TEST(Quadrature, AbsurdWeightsAreRefusedAtOnce) {
  for (const float w : {1e9f, 1e12f, 1e20f, 3e38f}) {
    for (const Index visible : {1, 2}) {
      for (const Index hidden : {1, 3, 256}) {
        Parameters p(visible, hidden);
        for (Index j = 0; j < hidden; ++j) {
          for (Index i = 0; i < visible; ++i) p.W(i, j) = (j + i) % 2 == 0 ? w : -w / 3;
        }
        const auto start = std::chrono::steady_clock::now();
        EXPECT_THAT(Refusal([&] { Quadrature{Model(p)}; }), StartsWith("quadrature: ")) << w << " " << visible;
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        EXPECT_LT(seconds.count(), 10) << w << " " << visible << " " << hidden;  // on the busiest machine
      }
    }
  }
}

}  // namespace
}  // namespace grbm
