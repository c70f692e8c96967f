#include "grbm/model/labels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "support/errors.h"
#include "support/models.h"
#include "support/moments.h"

namespace grbm {
namespace {

using testing::Doubles;
using testing::LabelledModel;

// v and y of one state.
std::vector<double> State(const Model& model, std::span<const double> v, Index label) {
  std::vector<double> state(v.begin(), v.end());
  state.resize(static_cast<std::size_t>(model.visible()));
  state[static_cast<std::size_t>(model.gaussian_units() + label)] = 1;
  return state;
}

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
