#include "grbm/evaluate/likelihood.h"

#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Doubles;
using testing::RandomModel;

TEST(Likelihood, SmallModelsAreExactBothWays) {
  ThreadPool pool(1);
  const Matrix plane = testing::RandomVisible(10, 2, 1);
  const Model model = RandomModel(2, 6, 1);
  const PartitionFunction quadrature = ComputePartition({model}, plane, {}, pool);
  EXPECT_EQ(quadrature.method, PartitionMethod::kQuadrature);
  EXPECT_NEAR(quadrature.log_partition.value, ExactModel(model).log_partition(), 1e-9);
  EXPECT_EQ(quadrature.log_partition.error, 0);
  const PartitionFunction enumeration =
      ComputePartition({RandomModel(3, 6, 1)}, testing::RandomVisible(10, 3, 1), {}, pool);
  EXPECT_EQ(enumeration.method, PartitionMethod::kEnumeration);
  EXPECT_EQ(enumeration.low(), enumeration.high());
}

// exp(-Ẽ/τ) is no model: quadrature alone knows it.
TEST(Likelihood, OfAMarginalEnergyAtATemperature) {
  ThreadPool pool(1);
  const VisibleLaw law = {RandomModel(2, 6, 1), 2.5};
  const Quadrature oracle(law.model, 2.5);
  const Matrix plane = testing::RandomVisible(10, 2, 1);
  const PartitionFunction z = ComputePartition(law, plane, {}, pool);
  EXPECT_NEAR(z.log_partition.value, oracle.log_partition(), 1e-12);
  double sum = 0;
  for (Index r = 0; r < 10; ++r) sum += oracle.LogDensity(Doubles(plane.row(r)));
  EXPECT_NEAR(MeanLogLikelihood(law, {}, plane, z.log_partition.value, false, 1, pool).nats.value, sum / 10, 1e-5);
  EXPECT_THROW(ComputePartition({RandomModel(3, 6, 1), 2.5}, testing::RandomVisible(10, 3, 1), {}, pool), ConfigError);
}

// 21 hidden units are one too many to enumerate, but when one of them is alone it only adds log(1 + exp b).
TEST(Likelihood, AnnealingOfAModelWhoseAnswerIsKnown) {
  const Model small = RandomModel(6, 12, 4, 0.7);
  Parameters p(6, 21);
  double extra = 0;
  for (Index j = 0; j < 21; ++j) {
    const auto at = static_cast<std::size_t>(j);
    p.b[at] = j < 12 ? small.b()[at] : 0.1f * static_cast<float>(j);
    if (j >= 12) extra += std::log1p(std::exp(double{p.b[at]}));
    for (Index i = 0; i < 6 && j < 12; ++i) p.W(i, j) = small.W()(i, j);
  }
  p.mu = {small.mu().begin(), small.mu().end()};
  p.log_var = {small.log_var().begin(), small.log_var().end()};
  const ExactModel exact(small);
  Matrix data(500, 6);
  BitMatrix h(500, 12);
  exact.Sample(1, 0, data, h);
  ThreadPool pool(1);
  const PartitionFunction z = ComputePartition({Model(std::move(p))}, data, {100, 500, 1}, pool);
  EXPECT_EQ(z.method, PartitionMethod::kAnnealing);
  const double expected = exact.log_partition() + extra;
  // 5 standard errors: wrong once in a million.
  EXPECT_NEAR(z.log_partition.value, expected, 5 * z.log_partition.error);
  EXPECT_LT(z.annealing->lower.value, expected + 5 * z.annealing->lower.error);
  EXPECT_GT(z.annealing->upper.value, expected - 5 * z.annealing->upper.error);
  EXPECT_LT(z.log_partition.error, 0.05);
  EXPECT_LT(z.rhat, 1.1);
}

// log p in the data's own units: the change of variables of the standardisation, row by row in double.
TEST(Likelihood, IsInTheDatasOwnUnits) {
  const ExactModel exact(RandomModel(3, 5, 2));
  const Standardization standardization{{1, 2, 3}, {2, 4, 0.5}};
  const Matrix data = testing::RandomVisible(1500, 3, 3, 2.0);
  ThreadPool pool(2);
  const DataLikelihood result =
      MeanLogLikelihood({exact.model()}, standardization, data, exact.log_partition(), false, 1, pool);
  double sum = 0;
  for (Index r = 0; r < data.rows(); ++r) {
    std::vector<double> v = Doubles(data.row(r));
    v = {(v[0] - 1) / 2, (v[1] - 2) / 4, (v[2] - 3) / 0.5};
    sum += exact.LogDensity(v) - std::log(2 * 4 * 0.5);
  }
  EXPECT_NEAR(result.nats.value, sum / 1500, 1e-4);
  EXPECT_EQ(result.degenerate_units, 0);
}

// A unit without weights is independent of the rest, so its part is its own log-density.
TEST(Likelihood, TheShareOfConstantUnitsIsTheirDensity) {
  Parameters p = RandomModel(3, 4, 5).parameters();
  for (Index j = 0; j < 4; ++j) p.W(1, j) = 0;
  const Model model(std::move(p));
  Matrix data = testing::RandomVisible(100, 3, 6);
  for (Index r = 0; r < 100; ++r) data(r, 1) = 2;
  ThreadPool pool(1);
  const Standardization standardization{{0, 1, 0}, {1, 4, 1}};
  const DataLikelihood result = MeanLogLikelihood({model}, standardization, data, 0, false, 1, pool);
  EXPECT_EQ(result.degenerate_units, 1);
  const double variance = std::exp(double{model.log_var()[1]});
  const double d = 0.25 - double{model.mu()[1]};
  EXPECT_NEAR(result.degenerate_nats, -0.5 * std::log(2 * M_PI * variance) - d * d / (2 * variance) - std::log(4),
              1e-5);
}

// A unit at the floor stays there as the model is tempered: τσ² is at the floor of exp(-E/τ).
TEST(Likelihood, UnitsAtTheVarianceFloorCountAtEveryTemperature) {
  Parameters p = RandomModel(3, 4, 5).parameters();
  for (Index j = 0; j < 4; ++j) p.W(1, j) = 0;
  p.log_var[1] = -20;
  const Model model(std::move(p), 0.003);
  const Matrix data = testing::RandomVisible(100, 3, 6);
  ThreadPool pool(1);
  for (const double temperature : {0.3, 1.0, 4.0, 512.0}) {
    const DataLikelihood result = MeanLogLikelihood({model.Tempered(temperature)}, {}, data, 0, false, 1, pool);
    EXPECT_EQ(result.degenerate_units, 1) << temperature;
    const double variance = 0.003 * temperature;
    double sum = 0;
    for (Index r = 0; r < 100; ++r) {
      const double d = double{data(r, 1)} - double{model.mu()[1]};
      sum += -0.5 * std::log(2 * M_PI * variance) - d * d / (2 * variance);
    }
    EXPECT_NEAR(result.degenerate_nats, sum / 100, 1e-5 * std::abs(sum / 100)) << temperature;
  }
}

// E[log p(v | h) | v] - KL(p(h | v) ‖ p(h)) = log p(v): the parts of all units and the KL make up the whole.
TEST(Likelihood, ThePartsOfAllUnitsExceedTheWholeByADivergence) {
  const ExactModel exact(RandomModel(2, 3, 7));
  Matrix data(2, 2);  // constant: all units count
  data(0, 0) = data(1, 0) = 0.7f;
  data(0, 1) = data(1, 1) = -0.4f;
  ThreadPool pool(1);
  const DataLikelihood result = MeanLogLikelihood({exact.model()}, {}, data, exact.log_partition(), false, 1, pool);
  EXPECT_EQ(result.degenerate_units, 2);
  const std::vector<double> v = Doubles(data.row(0));
  double divergence = 0;
  for (int state = 0; state < 8; ++state) {
    const std::vector<double> h = {double(state & 1), double(state >> 1 & 1), double(state >> 2 & 1)};
    const double log_given_v = MarginalEnergy(exact.model(), v) - Energy(exact.model(), v, h);
    // p(h) = p(v, h) / p(v | h)
    double log_v_given_h = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      const double variance = std::exp(double{exact.model().log_var()[i]});
      const double d = EnergyGradient(exact.model(), v, h)[i] * variance;
      log_v_given_h += -0.5 * std::log(2 * M_PI * variance) - d * d / (2 * variance);
    }
    const double log_h = -Energy(exact.model(), v, h) - exact.log_partition() - log_v_given_h;
    divergence += std::exp(log_given_v) * (log_given_v - log_h);
  }
  EXPECT_NEAR(result.degenerate_nats - divergence, result.nats.value, 1e-5);
}

// Of 20,000 zeros under a standard normal law of the model's units.
DataLikelihood DequantisedZeros(const Standardization& standardization) {
  Parameters p(1, 1);
  p.log_var[0] = 0;
  const Model model(std::move(p));
  ThreadPool pool(1);
  return MeanLogLikelihood({model}, standardization, Matrix(20000, 1), 0.5 * std::log(2 * M_PI) + std::log(2), true, 1,
                           pool);
}

TEST(Likelihood, DequantisedValuesLieInTheirStep) {
  const DataLikelihood result = DequantisedZeros({});
  // E[-u²/2], u uniform on (0, 1), is -1/6; 5 standard errors.
  EXPECT_NEAR(result.nats.value, -0.5 * std::log(2 * M_PI) - 1.0 / 6, 5 * result.nats.error);
  EXPECT_NEAR(result.nats.error, std::sqrt(1.0 / 20 - 1.0 / 36) / std::sqrt(20000.0), 2e-4);
}

// Black lies 3 below 0, and so does its step; the deviation of 2 makes the step half as wide in the model's units.
TEST(Likelihood, DequantisedBlackLiesBelowByTheMargin) {
  const DataLikelihood result = DequantisedZeros({{0}, {2}, {3}});
  // E[-((u - 3)/2)²/2] = -(1/3 - 3 + 9)/8.
  EXPECT_NEAR(result.nats.value, -0.5 * std::log(2 * M_PI) - std::log(2) - 19.0 / 24, 5 * result.nats.error);
}

TEST(Likelihood, TheMeanIsThatOfTheRows) {
  const Model model = testing::RandomModel(3, 4, 17, 0.5);
  const Standardization standardization{{1, 2, 3}, {0.5f, 2, 4}};
  const Matrix data = testing::RandomVisible(1500, 3, 18);
  ThreadPool pool(2);
  const std::vector<double> rows = LogLikelihoods({model}, standardization, data, 1.5, pool);
  ASSERT_EQ(rows.size(), 1500u);
  const DataLikelihood mean = MeanLogLikelihood({model}, standardization, data, 1.5, false, 1, pool);
  EXPECT_EQ(Mean(rows).value, mean.nats.value);
}

}  // namespace
}  // namespace grbm
