#include "grbm/train/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Values;

constexpr Index kVisible = 3;
constexpr Index kHidden = 2;

Parameters Random(std::uint64_t seed) { return testing::RandomModel(kVisible, kHidden, seed).parameters(); }

TrainOptions Plain() {
  TrainOptions options;
  options.clip_norm = 0;
  return options;
}

// What some steps make of parameters, each with a gradient of its own.
std::vector<double> AfterSteps(const TrainOptions& options, int steps, double learning_rate = 0.1) {
  ThreadPool pool(2);
  Optimizer optimizer(options, kVisible, kHidden);
  Parameters p = Random(1);
  for (int k = 0; k < steps; ++k) {
    Parameters gradient = Random(10 + static_cast<std::uint64_t>(k));
    optimizer.Step(p, learning_rate, gradient, pool);
    p = gradient;
  }
  return Values(p);
}

// The same by `step`, in double: it is handed θ, g, the place of the element and the number of the step from 1 on.
template <typename Step>
std::vector<double> Oracle(int steps, const Step& step) {
  std::vector<double> theta = Values(Random(1));
  for (int k = 0; k < steps; ++k) {
    const std::vector<double> g = Values(Random(10 + static_cast<std::uint64_t>(k)));
    for (std::size_t i = 0; i < g.size(); ++i) theta[i] = step(theta[i], g[i], i, k + 1);
  }
  return theta;
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << "parameter " << i;
}

// Weights of a visible unit by its scale; b, μ and log σ² as ever.
TEST(Optimizer, StepsOfAUnitsWeightsHaveItsScale) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam}) {
    TrainOptions options = Plain();
    options.optimizer = kind;
    ThreadPool pool(2);
    Optimizer optimizer(options, kVisible, kHidden, {0, 0.25f, 1});
    const Parameters p = Random(1);
    Parameters scaled = Random(2);
    optimizer.Step(p, 0.1, scaled, pool);
    Parameters plain = Random(2);
    Optimizer(options, kVisible, kHidden).Step(p, 0.1, plain, pool);
    for (Index j = 0; j < kHidden; ++j) {
      EXPECT_EQ(scaled.W(0, j), p.W(0, j));
      EXPECT_NEAR(scaled.W(1, j) - p.W(1, j), 0.25 * (plain.W(1, j) - p.W(1, j)), 1e-6);
      EXPECT_EQ(scaled.W(2, j), plain.W(2, j));
    }
    EXPECT_EQ(scaled.b, plain.b);
    EXPECT_EQ(scaled.mu, plain.mu);
    EXPECT_EQ(scaled.log_var, plain.log_var);
  }
}

TEST(Optimizer, StepsOfConditionsAreScaledByVisibleUnitsAlone) {
  ThreadPool pool(1);
  const Parameters before(2, 3, 1);
  Parameters gradient(2, 3, 1);
  for (const auto& tensor : gradient.Tensors()) std::ranges::fill(tensor.values(), 1.0f);
  TrainOptions options;
  options.clip_norm = 0;
  options.momentum = 0;
  Optimizer(options, 2, 3, {0.5f, 0.25f}, 1).Step(before, 1, gradient, pool);
  EXPECT_THAT(gradient.W.values(), ::testing::ElementsAre(-0.5f, -0.5f, -0.5f, -0.25f, -0.25f, -0.25f));
  EXPECT_THAT(gradient.A.values(), ::testing::ElementsAre(-0.5f, -0.25f));
  EXPECT_THAT(gradient.B.values(), ::testing::Each(-1.0f));
}

TEST(Optimizer, PlainStepsGoAgainstTheGradient) {
  ExpectNear(AfterSteps(Plain(), 3),
             Oracle(3, [](double theta, double g, std::size_t, int) { return theta - 0.1 * g; }));
}

TEST(Optimizer, MomentumKeepsAShareOfTheLastStep) {
  TrainOptions options = Plain();
  options.momentum = 0.7;
  std::vector<double> m(Values(Random(1)).size());
  ExpectNear(AfterSteps(options, 4), Oracle(4, [&](double theta, double g, std::size_t i, int) {
               m[i] = 0.7 * m[i] + g;
               return theta - 0.1 * m[i];
             }));
}

// Kingma and Ba (2015), algorithm 1: both running means start at 0, and are divided by what that takes from them.
TEST(Optimizer, AdamIsAdam) {
  TrainOptions options = Plain();
  options.optimizer = OptimizerKind::kAdam;
  options.momentum = 0.6;
  options.adam_beta2 = 0.8;
  std::vector<double> m(Values(Random(1)).size());
  std::vector<double> s(m.size());
  ExpectNear(AfterSteps(options, 5), Oracle(5, [&](double theta, double g, std::size_t i, int k) {
               m[i] = 0.6 * m[i] + 0.4 * g;
               s[i] = 0.8 * s[i] + 0.2 * g * g;
               const double mean = m[i] / (1 - std::pow(0.6, k));
               return theta - 0.1 * mean / (std::sqrt(s[i] / (1 - std::pow(0.8, k))) + 1e-8);
             }));
}

TEST(Optimizer, ANormOfAllFourIsClipped) {
  Parameters start = Random(1);
  Parameters gradient = Random(2);
  double squares = 0;
  for (const double x : Values(gradient)) squares += x * x;
  const double norm = std::sqrt(squares);
  ThreadPool pool(1);
  EXPECT_NEAR(Norm(gradient, pool), norm, 1e-6);
  const auto length = [&](double clip) {
    TrainOptions options = Plain();
    options.clip_norm = clip;
    Parameters p = gradient;
    EXPECT_NEAR(Optimizer(options, kVisible, kHidden).Step(start, 0.1, p, pool), norm, 1e-6) << "before clipping";
    double sum = 0;
    const std::vector<double> from = Values(start);
    const std::vector<double> to = Values(p);
    for (std::size_t i = 0; i < to.size(); ++i) sum += (to[i] - from[i]) * (to[i] - from[i]);
    return std::sqrt(sum);
  };
  EXPECT_NEAR(length(0.5 * norm), 0.05 * norm, 1e-5);
  EXPECT_NEAR(length(0.01 * norm), 0.001 * norm, 1e-5);
  EXPECT_NEAR(length(2 * norm), 0.1 * norm, 1e-5);
  EXPECT_NEAR(length(0), 0.1 * norm, 1e-5);
}

// W shrinks by η · weight_decay of itself, whatever the optimiser makes of the gradient; nothing else does.
TEST(Optimizer, WeightsDecayAndBiasesDoNot) {
  for (const bool adam : {false, true}) {
    for (const double momentum : {0.0, 0.5}) {
      TrainOptions options = Plain();
      options.optimizer = adam ? OptimizerKind::kAdam : OptimizerKind::kSgd;
      options.momentum = momentum;
      options.weight_decay = 0.3;
      ThreadPool pool(1);
      const Parameters start = Random(1);
      Parameters p(kVisible, kHidden);  // a gradient of 0
      Optimizer(options, kVisible, kHidden).Step(start, 0.1, p, pool);
      const std::vector<double> from = Values(start);
      const std::vector<double> to = Values(p);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool weight = i < static_cast<std::size_t>(kVisible * kHidden);
        EXPECT_NEAR(to[i], weight ? 0.97 * from[i] : from[i], 1e-7) << "parameter " << i;
      }
    }
  }
}

// b never moves; steps of μ are half as long; log σ² shrinks as W does, by twice as much; the gradient of W is cut to half its
// length, and then all to three quarters of theirs.
TEST(Optimizer, EachParameterHasItsRateDecayAndClip) {
  for (const bool adam : {false, true}) {
    ThreadPool pool(2);
    const Parameters start = Random(1);
    const Parameters gradient = Random(2);
    Parameters w_only = gradient;
    for (const auto& tensor : w_only.Tensors()) {
      if (tensor.is_vector) std::ranges::fill(tensor.values(), 0.0f);
    }
    const double length_of_w = Norm(w_only, pool);
    const double length = std::sqrt(std::pow(Norm(gradient, pool), 2) - 0.75 * std::pow(length_of_w, 2));
    TrainOptions options = Plain();
    options.optimizer = adam ? OptimizerKind::kAdam : OptimizerKind::kSgd;
    options.weight_decay = 0.3;
    options.rate = {1, 0, 0.5, 1};
    options.decay = {1, 1, 0, 2};
    options.clip = {0.5 * length_of_w, 0, 0, 0};
    options.clip_norm = 0.75 * length;
    Parameters p = gradient;
    Optimizer(options, kVisible, kHidden).Step(start, 0.1, p, pool);
    // The first step of Adam has the sign of the gradient, and length 1.
    const auto step = [&](double g, double scale) { return adam ? (g > 0 ? 1.0 : -1.0) : scale * 0.75 * g; };
    EXPECT_EQ(p.b, start.b);
    for (std::size_t k = 0; k < p.W.values().size(); ++k) {
      const double from = start.W.values()[k];
      EXPECT_NEAR(p.W.values()[k], from * (1 - 0.03) - 0.1 * step(gradient.W.values()[k], 0.5), 1e-6);
    }
    for (std::size_t i = 0; i < p.mu.size(); ++i) {
      EXPECT_NEAR(p.mu[i], start.mu[i] - 0.05 * step(gradient.mu[i], 1), 1e-6);
      EXPECT_NEAR(p.log_var[i], start.log_var[i] * (1 - 0.06) - 0.1 * step(gradient.log_var[i], 1), 1e-6);
    }
  }
}

TEST(Optimizer, ANormThatIsNotFiniteChangesNothing) {
  TrainOptions options = Plain();
  options.optimizer = OptimizerKind::kAdam;
  ThreadPool pool(1);
  Optimizer optimizer(options, kVisible, kHidden);
  Parameters gradient = Random(2);
  gradient.mu[1] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(optimizer.Step(Random(1), 0.1, gradient, pool)));
  EXPECT_EQ(optimizer.steps(), 0U);
  for (const Parameters& moment : optimizer.moments()) EXPECT_EQ(Values(moment), Values(Parameters(kVisible, kHidden)));
}

// What a checkpoint keeps is all there is: one who goes on with it makes the same steps.
TEST(Optimizer, GoesOnFromItsMomentsAndSteps) {
  TrainOptions options = Plain();
  options.optimizer = OptimizerKind::kAdam;
  options.momentum = 0.6;
  ThreadPool pool(1);
  Optimizer first(options, kVisible, kHidden);
  Parameters p = Random(1);
  Parameters gradient = Random(2);
  first.Step(p, 0.1, gradient, pool);
  p = gradient;
  Optimizer second(options, kVisible, kHidden);
  second.moments() = first.moments();
  second.set_steps(first.steps());
  Parameters a = Random(3);
  Parameters b = Random(3);
  first.Step(p, 0.1, a, pool);
  second.Step(p, 0.1, b, pool);
  EXPECT_EQ(Values(a), Values(b));
}

}  // namespace
}  // namespace grbm
