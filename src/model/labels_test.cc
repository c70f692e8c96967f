#include "grbm/model/labels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "grbm/model/visible_law.h"
#include "support/errors.h"
#include "support/models.h"
#include "support/moments.h"

namespace grbm {
namespace {

using testing::Doubles;
using testing::LabelledModel;
using testing::State;

// Given a class the model is one without labels, whose log Z quadrature knows; what is left of E is Σ (y - c)²/2.
TEST(Labels, EnumerationIsTheSumOverClassesOfQuadrature) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Model model = LabelledModel(2, 3, 4, seed);
    for (const double temperature : {1.0, 2.5}) {
      const Model tempered = model.Tempered(temperature);
      std::vector<double> logs;
      for (Index k = 0; k < 3; ++k) {
        double label = 0;
        for (Index i = 0; i < 3; ++i) {
          label += std::pow((i == k ? 1 : 0) - double{model.mu()[static_cast<std::size_t>(2 + i)]}, 2);
        }
        logs.push_back(Quadrature(GivenLabel(tempered, k)).log_partition() - label / (2 * temperature));
      }
      EXPECT_NEAR(ExactModel(tempered).log_partition(), NormalizeLogs(logs), 1e-6) << seed;
    }
  }
}

TEST(Labels, AClassGivenVIsTheShareOfItsJointDensity) {
  const Model model = LabelledModel(3, 4, 5, 7);
  const ExactModel exact(model);
  const Matrix values = testing::RandomVisible(20, 3, 9);
  ThreadPool pool(2);
  const BasicMatrix<double> logs = LabelLogProbabilities(model, values, pool);
  const BasicMatrix<double> hot = LabelLogProbabilities(model, values, pool, 3);
  for (Index r = 0; r < values.rows(); ++r) {
    const std::vector<double> v = Doubles(values.row(r));
    std::vector<double> joint;
    for (Index k = 0; k < 4; ++k) joint.push_back(exact.LogDensity(State(model, v, k)));
    std::vector<double> third = joint;
    for (double& l : third) l /= 3;
    NormalizeLogs(joint);
    NormalizeLogs(third);
    for (Index k = 0; k < 4; ++k) {
      EXPECT_NEAR(logs(r, k), joint[static_cast<std::size_t>(k)], 1e-5);
      EXPECT_NEAR(hot(r, k), third[static_cast<std::size_t>(k)], 1e-5);
    }
  }
}

// p(v, h | y) has the joint's density up to p(y), which no v changes.
TEST(Labels, TheModelGivenAClassHasItsDensity) {
  const Model model = LabelledModel(3, 3, 4, 5);
  const ExactModel joint(model);
  for (Index k = 0; k < 3; ++k) {
    const ExactModel given(GivenLabel(model, k));
    const double class_share =
        joint.LogDensity(State(model, std::vector<double>(3, 0.0), k)) - given.LogDensity(std::vector<double>(3, 0.0));
    for (const double x : {-2.0, 0.5, 3.0}) {
      const std::vector<double> v = {x, -x, 0.3 * x};
      EXPECT_NEAR(joint.LogDensity(State(model, v, k)) - given.LogDensity(v), class_share, 1e-5);
    }
  }
}

// All first and second moments of 100,000 draws, 90 of them, within 5.7 standard errors (family-wise error 1.1e-6).
TEST(Labels, ExactDrawsHaveTheExactMoments) {
  const Model model = LabelledModel(3, 4, 5, 3);
  const ExactModel exact(model);
  testing::Sample sample{Matrix(100000, 7), BitMatrix(100000, 5)};
  exact.Sample(17, 0, sample.v, sample.h);
  const testing::Worst worst = testing::CompareMoments(sample, exact.Moments());
  EXPECT_LT(worst.z, 5.7) << worst.where;
}

// In W, b, μ and the Gaussian units' log σ², by central differences of the exact log-likelihood.
TEST(Labels, TheExactGradientIsThatOfTheLikelihood) {
  const Model model = LabelledModel(2, 3, 3, 11);
  Matrix data = WithRoomForLabels(model, testing::RandomVisible(6, 2, 4));
  for (Index r = 0; r < data.rows(); ++r) SetLabel(model, data.row(r), r % 3);
  const ExactGradient gradient = ExactModel(model).LogLikelihoodGradient(data);
  const auto slope = [&](auto&& parameter) {
    const auto at = [&](float step) {
      Parameters p = model.parameters();
      parameter(p) += step;
      return std::pair(ExactModel(Model(p, model.variance_floor(), 3)).MeanLogLikelihood(data), double{parameter(p)});
    };
    const auto [high, right] = at(1e-2f);
    const auto [low, left] = at(-1e-2f);
    return (high - low) / (right - left);
  };
  for (Index i = 0; i < model.visible(); ++i) {
    const auto unit = static_cast<std::size_t>(i);
    for (Index j = 0; j < model.hidden(); ++j) {
      EXPECT_NEAR(slope([&](Parameters& p) -> float& { return p.W(i, j); }), gradient.W(i, j), 1e-3) << i << " " << j;
    }
    EXPECT_NEAR(slope([&](Parameters& p) -> float& { return p.mu[unit]; }), gradient.mu[unit], 1e-3) << i;
    if (i < 2) {
      EXPECT_NEAR(slope([&](Parameters& p) -> float& { return p.log_var[unit]; }), gradient.log_var[unit], 1e-3) << i;
    } else {
      EXPECT_EQ(gradient.log_var[unit], 0);
    }
  }
}

// log Σ_y p(v, y).
double LogMarginal(const ExactModel& exact, std::span<const double> v) {
  std::vector<double> logs;
  for (Index k = 0; k < exact.model().label_units(); ++k) {
    logs.push_back(exact.LogDensity(State(exact.model(), v, k)));
  }
  return NormalizeLogs(logs);
}

TEST(Labels, TheFreeEnergyIsThatOfTheClassSummedOut) {
  const Model model = LabelledModel(3, 4, 5, 21);
  const ExactModel exact(model);
  const Matrix values = testing::RandomVisible(20, 3, 9);
  ThreadPool pool(2);
  const std::vector<double> energies = FreeEnergies({model}, values, pool);
  const std::vector<double> hot = FreeEnergies({model, 3}, values, pool);
  for (Index r = 0; r < values.rows(); ++r) {
    const std::vector<double> v = Doubles(values.row(r));
    EXPECT_NEAR(FreeEnergy({model}, v), -LogMarginal(exact, v) - exact.log_partition(), 1e-9);
    EXPECT_NEAR(energies[static_cast<std::size_t>(r)], FreeEnergy({model}, v), 1e-4);
    std::vector<double> logs;
    for (Index k = 0; k < 4; ++k) logs.push_back(-MarginalEnergy(model, State(model, v, k)) / 3);
    EXPECT_NEAR(FreeEnergy({model, 3}, v), -NormalizeLogs(logs), 1e-9);
    EXPECT_NEAR(hot[static_cast<std::size_t>(r)], FreeEnergy({model, 3}, v), 1e-4);
  }
}

TEST(Labels, QuadratureSumsTheClassOut) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Model model = LabelledModel(2, 3, 4, seed);
    const ExactModel exact(model);
    const Quadrature law(model);
    EXPECT_NEAR(law.log_partition(), exact.log_partition(), 1e-6);
    const std::vector<double> v = {0.3, -1.2};
    EXPECT_NEAR(law.LogDensity(v), LogMarginal(exact, v), 1e-6);
    EXPECT_NEAR(law.Expectation([](std::span<const double> x) { return x[0]; }), exact.Moments().v[0], 1e-6);
    // At another temperature each class has the law of its own, exp(-Ẽ(v, y)/τ), and they add up.
    std::vector<double> logs;
    for (Index k = 0; k < 3; ++k) {
      const double c = model.mu()[static_cast<std::size_t>(2 + k)];
      logs.push_back(Quadrature(GivenLabel(model, k), 2.5).log_partition() + (c - LabelConstant(model)) / 2.5);
    }
    EXPECT_NEAR(Quadrature(model, 2.5).log_partition(), NormalizeLogs(logs), 1e-6);
  }
}

// p(o, y) = ∫ p(v, y) over what is missing, by the trapezoidal rule; with the class missing, too, its sum.
TEST(Labels, MissingValuesAreIntegratedOut) {
  const Model model = LabelledModel(2, 3, 4, 6);
  const ExactModel exact(model);
  for (Index k = 0; k < 3; ++k) {
    double sum = 0;
    for (double x = -20; x <= 20; x += 0.05) {
      sum += 0.05 * std::exp(exact.LogDensity(State(model, std::vector<double>{0.4, x}, k)));
    }
    EXPECT_NEAR(exact.LogDensity(State(model, std::vector<double>{0.4, std::nan("")}, k)), std::log(sum), 1e-9);
  }
  std::vector<double> unknown = {0.4, -0.7};
  unknown.resize(5, std::nan(""));
  EXPECT_NEAR(exact.LogDensity(unknown), LogMarginal(exact, std::vector<double>{0.4, -0.7}), 1e-9);
}

TEST(Labels, ModelsAreChecked) {
  const Parameters p = LabelledModel(2, 3, 4, 1).parameters();
  EXPECT_THROW(Model(p, 1e-8, 5), DataError);
  Parameters uneven = p;
  uneven.log_var[3] = 0.5f;
  EXPECT_THROW(Model(uneven, 1e-8, 3), DataError);
  // Labels have no floor, and no part in the mean variance.
  const Model model(p, 9, 3);
  EXPECT_FLOAT_EQ(model.variance()[0], 9);
  EXPECT_EQ(model.variance()[4], 1);
  EXPECT_NEAR(model.mean_variance(), 9, 1e-5);
}

TEST(Labels, APickFollowsTheProbabilities) {
  std::vector<double> logs = {std::log(0.2), std::log(0.3), std::log(0.5)};
  EXPECT_EQ(PickLabel(logs, 0.1), 0);
  EXPECT_EQ(PickLabel(logs, 0.25), 1);
  EXPECT_EQ(PickLabel(logs, 0.6), 2);
  EXPECT_EQ(PickLabel(logs, 1 - 0x1p-53), 2);
}

}  // namespace
}  // namespace grbm
