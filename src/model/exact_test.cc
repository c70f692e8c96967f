#include "grbm/model/exact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grbm/model/energy.h"
#include "grbm/model/quadrature.h"
#include "support/models.h"
#include "support/moments.h"

namespace grbm {
namespace {

using testing::Doubles;
using testing::RandomModel;

// Blocks of states on a pool: 2^11 of them are two.
TEST(Exact, EnumerationHasTheSameBitsOnAPool) {
  const Model model = RandomModel(3, 11, 5);
  ThreadPool pool(3);
  const ExactModel alone(model);
  const ExactModel shared(model, pool);
  EXPECT_EQ(alone.log_partition(), shared.log_partition());
  EXPECT_EQ(alone.Moments().vh, shared.Moments().vh);
}

// Two independent routes to log Z: enumeration of h with v integrated out, quadrature of v with h summed out.
TEST(Exact, EnumerationAgreesWithQuadrature) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Index visible = seed % 2 == 0 ? 1 : 2;
    const Model model = RandomModel(visible, 1 + static_cast<Index>(seed), seed, 1.5);
    const ExactModel exact(model);
    const Quadrature quadrature(model);
    EXPECT_NEAR(exact.log_partition(), quadrature.log_partition(), 1e-11) << "seed " << seed;
    const std::vector<double> v(static_cast<std::size_t>(visible), 0.7);
    EXPECT_NEAR(exact.LogDensity(v), quadrature.LogDensity(v), 1e-11);
    const ExactMoments moments = exact.Moments();
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto at = static_cast<Index>(i);
      EXPECT_NEAR(quadrature.Expectation([&](auto x) { return x[i]; }), moments.v[i], 1e-10);
      EXPECT_NEAR(quadrature.Expectation([&](auto x) { return x[0] * x[i]; }), moments.vv(0, at), 1e-10);
      for (Index j = 0; j < model.hidden(); ++j) {
        const auto p = [&](std::span<const double> x) {
          return 1 / (1 + std::exp(-HiddenLogits(model, x)[static_cast<std::size_t>(j)]));
        };
        EXPECT_NEAR(quadrature.Expectation([&](auto x) { return p(x); }), moments.h[static_cast<std::size_t>(j)],
                    1e-10);
        EXPECT_NEAR(quadrature.Expectation([&](auto x) { return x[i] * p(x); }), moments.vh(at, j), 1e-10);
      }
    }
  }
}

// The density of the known units is the integral of that of all: the trapezoidal rule is exact here, as in math.md (27).
TEST(Exact, TheDensityOfWhatIsKnownIsAnIntegral) {
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ExactModel exact(RandomModel(3, 4, seed, 1.5));
    const double step = 0.25;
    double sum = 0;
    for (int k = -400; k <= 400; ++k) {
      sum += step * std::exp(exact.LogDensity(std::vector<double>{0.3, k * step, -0.6}));
    }
    EXPECT_NEAR(exact.LogDensity(std::vector<double>{0.3, kMissing, -0.6}), std::log(sum), 1e-10);
    EXPECT_NEAR(exact.LogDensity(std::vector<double>{kMissing, kMissing, kMissing}), 0, 1e-12);
  }
}

// A model without interaction is a product of known laws.
TEST(Exact, IndependentUnits) {
  Parameters p(3, 2);
  p.b = {0.5f, -1.0f};
  p.mu = {1.0f, 2.0f, 3.0f};
  p.log_var = {0.0f, 0.5f, -0.5f};
  const ExactModel exact{Model(p)};
  const double expected =
      1.5 * std::log(2 * M_PI) + std::log1p(std::exp(0.5)) + std::log1p(std::exp(-1.0));  // log-variances sum to 0
  EXPECT_NEAR(exact.log_partition(), expected, 1e-12);
  const ExactMoments m = exact.Moments();
  EXPECT_NEAR(m.h[0], 1 / (1 + std::exp(-0.5)), 1e-12);
  EXPECT_NEAR(m.hh(0, 1), m.h[0] * m.h[1], 1e-12);
  EXPECT_NEAR(m.hh(1, 1), m.h[1], 1e-12);
  EXPECT_NEAR(m.vv(1, 1) - m.v[1] * m.v[1], std::exp(0.5), 1e-12);
  EXPECT_NEAR(m.vv(0, 2), 3.0, 1e-12);
}

TEST(Exact, TwentyHiddenUnitsAreEnumeratedWithoutDrift) {
  // All columns of W equal: the states fall into 21 classes, summed here by binomials.
  Parameters p(1, 20);
  for (float& w : p.W.values()) w = 0.1f;
  p.mu = {0.3f};
  const ExactModel exact{Model(p)};
  double sum = 0;
  for (int k = 0; k <= 20; ++k) {
    const double binomial = std::exp(std::lgamma(21) - std::lgamma(k + 1) - std::lgamma(21 - k));
    const double product = k * double{0.1f};
    sum += binomial * std::exp(0.5 * product * (2 * double{0.3f} + product));
  }
  EXPECT_NEAR(exact.log_partition(), 0.5 * std::log(2 * M_PI) + std::log(sum), 1e-11);
  EXPECT_THROW(ExactModel{RandomModel(1, 21, 1)}, ConfigError);
}

// All 54 first and second moments of 100,000 draws, each within 5.6 standard errors (family-wise error 1.2e-6).
TEST(Exact, SamplesHaveTheExactMoments) {
  const ExactModel exact(RandomModel(4, 5, 3));
  testing::Sample sample{Matrix(100000, 4), BitMatrix(100000, 5)};
  exact.Sample(17, 0, sample.v, sample.h);
  const testing::Worst worst = testing::CompareMoments(sample, exact.Moments());
  EXPECT_LT(worst.z, 5.6) << worst.where;
}

// At other temperatures exp(-Ẽ/τ) has no closed form; a plain fine Riemann sum is the oracle.
TEST(Quadrature, OtherTemperatures) {
  for (const double temperature : {0.2, 3.0, 50.0}) {
    const Model model = RandomModel(1, 6, 4, 2.0);
    const Quadrature quadrature(model, temperature);
    double sum = 0;
    const double step = 1e-3;
    for (double x = -150; x < 150; x += step) {
      sum += std::exp(-MarginalEnergy(model, std::vector<double>{x}) / temperature) * step;
    }
    EXPECT_NEAR(quadrature.log_partition(), std::log(sum), 1e-9) << temperature;
  }
}

TEST(Quadrature, FollowsTheMassOfAWideModel) {
  // The means reach over ±300σ in each direction, most of which is empty.
  const Model model = RandomModel(2, 256, 5, 1.0);
  const Quadrature quadrature(model);
  EXPECT_LT(quadrature.points().rows(), 200000);
  double total = 0;
  for (const double p : quadrature.probabilities()) total += p;
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_THROW(Quadrature{RandomModel(3, 2, 1)}, ConfigError);
  EXPECT_THROW(Quadrature(model, -1.0), ConfigError);
}

TEST(Exact, RefusesRoomOfAnotherShape) {
  const ExactModel exact(RandomModel(2, 3, 1));
  Matrix v(4, 2);
  Matrix narrow(4, 1);
  BitMatrix h(4, 3);
  BitMatrix short_h(3, 3);
  EXPECT_THROW(exact.Sample(1, 0, narrow, h), DataError);
  EXPECT_THROW(exact.Sample(1, 0, v, short_h), DataError);
}

}  // namespace
}  // namespace grbm
