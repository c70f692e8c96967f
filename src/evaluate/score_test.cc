#include "grbm/evaluate/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "support/errors.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Doubles;
using ::testing::HasSubstr;
using testing::RandomModel;
using testing::RandomVisible;

std::vector<double> Column(const RowScores& scores, const std::string& name) {
  for (const auto& [known, values] : scores) {
    if (known == name) return values;
  }
  return {};
}

TEST(Score, RowsHaveTheExactLogDensityInTheirOwnUnits) {
  const Model model = RandomModel(4, 6, 1);
  const Matrix v = RandomVisible(20, 4, 2, 2.0);
  ThreadPool pool(2);
  const Standardization units{{1, 2, 3, 4}, {0.5f, 2, 10, 1}};
  const ExactModel exact(model);
  const RowScores scores = ScoreRows({model}, units, v, exact.log_partition(), pool);
  const std::vector<double> likelihood = Column(scores, "log_likelihood");
  for (Index r = 0; r < 20; ++r) {
    EXPECT_NEAR(likelihood[static_cast<std::size_t>(r)], exact.LogDensity(Doubles(v.row(r))) - std::log(10.0), 1e-4);
  }
  EXPECT_TRUE(Column(ScoreRows({model}, units, v, {}, pool), "log_likelihood").empty());
}

TEST(Score, FreeEnergyIsTheSumOfItsParts) {
  const Model model = RandomModel(3, 5, 3);
  const Matrix v = RandomVisible(10, 3, 4);
  ThreadPool pool(1);
  for (const double temperature : {1.0, 2.5}) {
    const RowScores scores = ScoreRows({model, temperature}, {}, v, {}, pool);
    for (std::size_t r = 0; r < 10; ++r) {
      const std::vector<double> row = Doubles(v.row(static_cast<Index>(r)));
      double quadratic = 0;
      double hidden = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        const double d = row[i] - double{model.mu()[i]};
        quadratic += d * d / (2 * std::exp(double{model.log_var()[i]}));
      }
      for (const double x : HiddenLogits(model, row)) hidden -= std::log1p(std::exp(x));
      EXPECT_NEAR(Column(scores, "quadratic")[r], quadratic / temperature, 1e-5);
      EXPECT_NEAR(Column(scores, "hidden")[r], hidden / temperature, 1e-4);
      EXPECT_NEAR(Column(scores, "free_energy")[r], MarginalEnergy(model, row) / temperature, 1e-4);
    }
  }
}

TEST(Score, LogZIsKnownOfSmallModelsAlone) {
  EXPECT_NEAR(*ExactLogPartition({RandomModel(5, 8, 5)}), ExactModel(RandomModel(5, 8, 5)).log_partition(), 1e-12);
  EXPECT_TRUE(ExactLogPartition({RandomModel(2, 30, 5)}));
  EXPECT_FALSE(ExactLogPartition({RandomModel(3, 30, 5)}));
  EXPECT_FALSE(ExactLogPartition({RandomModel(3, 5, 5), 2.0}));
}

// Mean and variance of v_i given the others by enumeration of h: a mixture of Gaussians of one variance.
TEST(Score, DeviationsAreThoseOfTheExactConditionalLaw) {
  const Model model = RandomModel(4, 6, 7, 1.5);
  const Matrix v = RandomVisible(8, 4, 8, 2.0);
  ThreadPool pool(2);
  const Matrix deviations = ColumnDeviations({model}, v, pool);
  for (Index r = 0; r < 8; ++r) {
    const std::vector<double> row = Doubles(v.row(r));
    for (std::size_t i = 0; i < 4; ++i) {
      const double variance = std::exp(double{model.log_var()[i]});
      double total = 0, first = 0, second = 0;
      for (unsigned state = 0; state < 64; ++state) {
        std::vector<double> h(6);
        double mean = model.mu()[i];
        for (std::size_t j = 0; j < 6; ++j) {
          h[j] = state >> j & 1;
          mean += h[j] * double{model.W()(static_cast<Index>(i), static_cast<Index>(j))};
        }
        std::vector<double> at_mean = row;
        at_mean[i] = mean;  // p(h, v_-i) ∝ exp(-E) there, where the integral over v_i is σ_i√2π for every h
        const double weight = std::exp(-Energy(model, at_mean, h));
        total += weight;
        first += weight * mean;
        second += weight * (mean * mean + variance);
      }
      const double mean = first / total;
      const double expected = (row[i] - mean) / std::sqrt(second / total - mean * mean);
      EXPECT_NEAR(deviations(r, static_cast<Index>(i)), expected, 1e-4 * (1 + std::abs(expected)));
    }
  }
}

// The precision is minus the Hessian of the enumerated log-density, averaged over the rows.
TEST(Couplings, AreTheHessianOfTheEnumeratedLogDensity) {
  const Model model = RandomModel(3, 5, 9, 1.5);
  const Matrix v = RandomVisible(6, 3, 10);
  ThreadPool pool(2);
  const EffectiveCouplings couplings = ComputeCouplings({model}, v, pool);
  const ExactModel exact(model);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      const double hessian = testing::MeanHessian(v, i, k, [&](const auto& at) { return exact.LogDensity(at); });
      EXPECT_NEAR(couplings.precision(static_cast<Index>(i), static_cast<Index>(k)), -hessian, 1e-4);
    }
  }
}

// Over the model's own law the mean of minus the Hessian is that of the gradient's products, by parts.
TEST(Couplings, OverTheModelsLawAreTheCovarianceOfTheScore) {
  const Model model = RandomModel(2, 7, 11, 1.5);
  const ExactModel exact(model);
  const Quadrature law(model);
  constexpr Index kRows = 400'000;
  Matrix v(kRows, 2);
  BitMatrix h(kRows, 7);
  exact.Sample(12, 0, v, h);
  ThreadPool pool(2);
  const EffectiveCouplings couplings = ComputeCouplings({model}, v, pool);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      const double expected = law.Expectation([&](std::span<const double> at) {
        const std::vector<double> gradient = MarginalEnergyGradient(model, at);
        return gradient[i] * gradient[k];
      });
      // A row's value varies within Σ|W W|/4σ⁴: by Hoeffding's inequality the mean is further off once in 10^7.
      double width = 0;
      for (Index j = 0; j < 7; ++j) {
        width += std::abs(model.W()(static_cast<Index>(i), j) * model.W()(static_cast<Index>(k), j)) /
                 (4 * model.variance()[i] * model.variance()[k]);
      }
      const double tolerance = width * std::sqrt(std::log(2 / 1e-7) / (2.0 * kRows));
      EXPECT_NEAR(couplings.precision(static_cast<Index>(i), static_cast<Index>(k)), expected, tolerance);
    }
  }
}

TEST(Couplings, OfOneHiddenUnitAreKnown) {
  Parameters p(2, 1);
  p.W(0, 0) = 2;
  p.W(1, 0) = -1;
  p.log_var[1] = std::log(0.5f);
  const Model model(std::move(p));
  Matrix v(1, 2);
  v(0, 0) = 0;
  v(0, 1) = 0;  // p = ½
  ThreadPool pool(1);
  const EffectiveCouplings couplings = ComputeCouplings({model}, v, pool);
  EXPECT_NEAR(couplings.Couplings()(0, 1), 0.25 * 2 * -1 / 0.5, 1e-6);
  EXPECT_EQ(couplings.Couplings()(0, 0), 0);
  EXPECT_NEAR(couplings.precision(1, 1), 1 / 0.5 - 0.25 / (0.5 * 0.5), 1e-6);
  EXPECT_NEAR(couplings.precision(0, 0), 0, 1e-6);
  v(0, 0) = 0.1f;
  const auto partial = ComputeCouplings({model}, v, pool).PartialCorrelations();
  EXPECT_EQ(partial(1, 1), 1);
  EXPECT_LT(partial(0, 1), 0);
  EXPECT_NEAR(partial(0, 1), partial(1, 0), 1e-12);
  p = Parameters(1, 1);
  p.W(0, 0) = 10;
  v = Matrix(1, 1);
  v(0, 0) = 0;
  const EffectiveCouplings between = ComputeCouplings({Model(std::move(p))}, v, pool);
  EXPECT_THAT(grbm::testing::ErrorOf([&] { between.PartialCorrelations(); }), HasSubstr("between modes"));
}

}  // namespace
}  // namespace grbm
