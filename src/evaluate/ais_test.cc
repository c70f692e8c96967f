#include "grbm/evaluate/ais.h"

#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::BalancedModel;
using testing::Doubles;
using testing::RandomModel;

// Exact draws of p(v).
Matrix Draw(const ExactModel& exact, Index rows, std::uint64_t seed) {
  Matrix v(rows, exact.model().visible());
  BitMatrix h(rows, exact.model().hidden());
  exact.Sample(seed, 0, v, h);
  return v;
}

// The law at beta as a model: natural parameters on the line between the base's and the model's.       [math.md (34)]
Model Between(const GaussianBase& base, const Model& model, double beta) {
  Parameters p(model.visible(), model.hidden());
  for (Index i = 0; i < model.visible(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double base_part = (1 - beta) * double{base.inverse_variance[at]};
    const double model_part = beta / std::exp(double{model.log_var()[at]});
    const double precision = base_part + model_part;
    p.mu[at] =
        static_cast<float>((base_part * double{base.mean[at]} + model_part * double{model.mu()[at]}) / precision);
    p.log_var[at] = static_cast<float>(-std::log(precision));
    for (Index j = 0; j < model.hidden(); ++j) {
      p.W(i, j) = static_cast<float>(model_part * double{model.W()(i, j)} / precision);
    }
  }
  for (Index j = 0; j < model.hidden(); ++j) {
    p.b[static_cast<std::size_t>(j)] = static_cast<float>(beta * double{model.b()[static_cast<std::size_t>(j)]});
  }
  return Model(std::move(p));
}

// log f at beta, up to a constant that no v changes: the difference between two v is that of the models' energies.
TEST(Ais, WeightsOfTwoRungsAreRatiosOfTheModelsBetween) {
  const Model model = RandomModel(5, 4, 1);
  const Matrix v = testing::RandomVisible(40, 5, 2);
  const GaussianBase base = FitBase(model, v);
  ThreadPool pool(2);
  for (const auto& [from, to] : {std::pair{0.0, 0.3}, {0.3, 0.35}, {0.5, 1.0}, {1.0, 0.2}}) {
    const std::vector<double> schedule = {from, to};
    const std::vector<double> weights = AnnealedLogWeights(model, base, schedule, v, 1, pool);
    const Model at_from = Between(base, model, from);
    const Model at_to = Between(base, model, to);
    const auto expected = [&](Index r) {
      return MarginalEnergy(at_from, Doubles(v.row(r))) - MarginalEnergy(at_to, Doubles(v.row(r)));
    };
    for (Index r = 1; r < v.rows(); ++r) {
      EXPECT_NEAR(weights[static_cast<std::size_t>(r)] - weights[0], expected(r) - expected(0), 2e-5);
    }
  }
}

// 40,000 chains, 5 standard errors: wrong once in a million.
TEST(Ais, MeanWeightIsTheRatioOfPartitionFunctions) {
  const ExactModel exact(RandomModel(4, 5, 3));
  const Matrix start = Draw(exact, 40000, 1);
  const GaussianBase base = FitBase(exact.model(), start);
  ThreadPool pool(2);
  // Up and down again: Z cancels, and every move must keep its law.
  const std::vector<double> schedule = {1.0, 0.7, 0.4, 0.7, 1.0};
  const Estimate ratio = LogMeanExp(AnnealedLogWeights(exact.model(), base, schedule, start, 1, pool));
  EXPECT_LT(ratio.error, 0.02);
  EXPECT_NEAR(ratio.value, 0, 5 * ratio.error);
}

// 50 models, every third with pairs of equal modes many standard deviations apart. The bounds may each miss by 5 standard errors: wrong
// once in 10,000 such tests. Of the error bars that are not called too narrow, 95 % cover at two standard errors: 13
// misses of 50 come up once in a million tests.
TEST(Ais, BoundsHoldAndErrorBarsCoverTheExactValue) {
  ThreadPool pool(1);
  int missed = 0;
  int wide = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto visible = static_cast<Index>(3 + seed % 6);
    const auto hidden = static_cast<Index>(2 + seed % 9);
    const ExactModel exact(seed % 3 == 0 ? BalancedModel(visible, hidden, seed, 2.5)
                                         : RandomModel(visible, hidden, seed, seed % 3 == 1 ? 1.0 : 0.4));
    const GaussianBase base = FitBase(exact.model(), Draw(exact, 1000, 7));
    const AisResult result = AnnealedImportance(exact.model(), base, Draw(exact, 100, 8),
                                                {.chains = 100, .temperatures = 300, .seed = seed}, pool);
    const double log_z = exact.log_partition();
    EXPECT_LT(result.lower.value, log_z + 5 * result.lower.error) << "model " << seed;
    EXPECT_GT(result.upper.value, log_z - 5 * result.upper.error) << "model " << seed;
    EXPECT_LT(result.upper.value - result.lower.value, 5) << "model " << seed;
    if (result.wide) {
      ++wide;
      EXPECT_TRUE(result.low() <= log_z && log_z <= result.high()) << "model " << seed;
    } else if (std::abs(result.log_partition.value - log_z) > 1.96 * result.log_partition.error) {
      ++missed;
    }
  }
  EXPECT_LT(missed, 13);
  EXPECT_LT(wide, 10);
}

// With three rungs most chains end up where there is no weight: the error bar knows nothing of it, the bounds do.
TEST(Ais, TooFewTemperaturesAreCalledWide) {
  const ExactModel exact(BalancedModel(8, 10, 3, 2.5));
  ThreadPool pool(1);
  const GaussianBase base = FitBase(exact.model(), Draw(exact, 1000, 7));
  const AisResult result = AnnealedImportance(exact.model(), base, Draw(exact, 100, 8), {100, 3, 1}, pool);
  EXPECT_TRUE(result.wide);
  EXPECT_LT(result.low(), exact.log_partition());
  EXPECT_GT(result.high(), exact.log_partition());
}

TEST(Ais, AnyNumberOfThreadsGivesTheSameBits) {
  const Model model = RandomModel(70, 66, 5, 0.2);
  const Matrix start = testing::RandomVisible(75, 70, 6);
  const GaussianBase base = FitBase(model, start);
  const std::vector<double> schedule = {0, 0.5, 1};
  ThreadPool one(1);
  ThreadPool three(3);
  EXPECT_EQ(AnnealedLogWeights(model, base, schedule, start, 1, one),
            AnnealedLogWeights(model, base, schedule, start, 1, three));
}

TEST(Ais, BaseIsTheGaussianOfTheDataAndNoNarrowerThanTheModel) {
  const Model model = RandomModel(2, 3, 1);
  Matrix data(4, 2);
  const float values[] = {1, 2, 3, 6};
  for (Index r = 0; r < 4; ++r) {
    data(r, 0) = values[r];
    data(r, 1) = 5;  // constant: its variance is the model's
  }
  const GaussianBase base = FitBase(model, data);
  EXPECT_FLOAT_EQ(base.mean[0], 3);
  EXPECT_FLOAT_EQ(base.inverse_variance[0], 1 / 3.5f);
  EXPECT_FLOAT_EQ(base.mean[1], 5);
  EXPECT_FLOAT_EQ(base.inverse_variance[1], model.inverse_variance()[1]);
}

TEST(Ais, RefusesWhatCannotBeEstimated) {
  const Model model = RandomModel(2, 3, 1);
  ThreadPool pool(1);
  const Matrix data = testing::RandomVisible(10, 2, 1);
  const GaussianBase base = FitBase(model, data);
  EXPECT_THROW(AnnealedImportance(model, base, data, {1, 10, 1}, pool), ConfigError);
  EXPECT_THROW(AnnealedImportance(model, base, Matrix(0, 2), {10, 10, 1}, pool), ConfigError);
  EXPECT_THROW(FitBase(model, Matrix(0, 2)), DataError);
  EXPECT_THROW(FitBase(model, Matrix(3, 5)), DataError);
}

}  // namespace
}  // namespace grbm
