// The Gaussian moves of the samplers against their definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "sampler/schedule.h"
#include "sampler/table.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Dice;
using testing::RandomModel;

SamplerOptions GibbsLangevinOptions(std::int64_t inner, double step_size, StepScale scale, double temperature,
                                    bool anneal) {
  SamplerOptions o;
  o.langevin_steps = inner;
  o.step_size = step_size;
  o.step_scale = scale;
  o.temperature = temperature;
  o.anneal = anneal;
  return o;
}

// α_k of the paper's inner loop, k = 0 ... K - 1.
double StepAt(const Model& model, const SamplerOptions& o, std::size_t unit, std::int64_t k) {
  const double scale = o.step_scale == StepScale::kMean ? model.mean_variance() : double{model.variance()[unit]};
  const double angle = M_PI * static_cast<double>(k) / static_cast<double>(o.langevin_steps);
  return o.step_size * scale * (o.anneal ? (1 + std::cos(angle)) / 2 : 1);
}

class InnerSteps : public ::testing::TestWithParam<std::tuple<int, double, StepScale, double, bool>> {
 protected:
  Model model = RandomModel(4, 3, 9);
  SamplerOptions options = std::apply(GibbsLangevinOptions, GetParam());
};

INSTANTIATE_TEST_SUITE_P(Settings, InnerSteps,
                         ::testing::Combine(::testing::Values(1, 2, 10, 57, 5000), ::testing::Values(0.02, 0.5),
                                            ::testing::Values(StepScale::kMean, StepScale::kUnit),
                                            ::testing::Values(1.0, 30.0), ::testing::Bool()));

// Mean and variance propagated through the K steps of the paper's algorithm, one by one.
TEST_P(InnerSteps, TheClosedFormEqualsTheNaiveLoop) {
  const auto transition = GibbsLangevin().make(model, options);
  const Move& move = transition->MoveAt(0);
  for (std::size_t i = 0; i < 4; ++i) {
    const double target = 1.7;  // μ + W h
    const double start = -0.6;
    double mean = start;
    double variance = 0;
    for (std::int64_t k = 0; k < options.langevin_steps; ++k) {
      const double alpha = StepAt(model, options, i, k);
      const double shrink = 1 - alpha / double{model.variance()[i]};
      mean -= alpha * (mean - target) / double{model.variance()[i]};
      variance = shrink * shrink * variance + 2 * alpha * options.temperature;
    }
    EXPECT_NEAR(target + double{move.keep[i]} * (start - target), mean, 1e-6);
    EXPECT_NEAR(double{move.noise[i]} * double{move.noise[i]} / variance, 1, 1e-6);
  }
}

// 100,000 simulated naive loops: 16 means and variances, each within 5.6 standard errors (family-wise error 3.5e-7).
TEST(InnerStepsSimulated, TheClosedFormEqualsTheNaiveLoop) {
  const Model model = RandomModel(4, 3, 9);
  for (const bool anneal : {false, true}) {
    const SamplerOptions options = GibbsLangevinOptions(10, 0.3, StepScale::kMean, 2.0, anneal);
    const auto transition = GibbsLangevin().make(model, options);
    const Move& move = transition->MoveAt(0);
    Dice dice(4);
    const int runs = 100000;
    for (std::size_t i = 0; i < 4; ++i) {
      const double target = -0.4;
      const double start = 1.1;
      double sum = 0;
      double squares = 0;
      const double mean = target + double{move.keep[i]} * (start - target);
      for (int run = 0; run < runs; ++run) {
        double v = start;
        for (std::int64_t k = 0; k < 10; ++k) {
          const double alpha = StepAt(model, options, i, k);
          v += -alpha * (v - target) / double{model.variance()[i]} + std::sqrt(2 * alpha * 2.0) * dice.Normal();
        }
        sum += v - mean;
        squares += (v - mean) * (v - mean);
      }
      const double variance = double{move.noise[i]} * double{move.noise[i]};
      EXPECT_LT(std::abs(sum / runs) / std::sqrt(variance / runs), 5.6);
      EXPECT_LT(std::abs(squares / runs / variance - 1) / std::sqrt(2.0 / runs), 5.6);
    }
  }
}

// With the cosine schedule noise² → σ² as K grows: noise²/σ² - 1 = C ε^{1/3} K^{-2/3}, C = Γ(5/3) 6^{5/3} π^{2/3} /
// 48. The next term of the cosine adds a relative correction of order (εK)^{-2/3}.                     [math.md (19)]
TEST(InnerSteps, TheVarianceTendsToTheConditionalOnesAtTheDerivedRate) {
  const Model model = RandomModel(1, 1, 2);
  const double constant = std::tgamma(5.0 / 3) * std::pow(6, 5.0 / 3) * std::pow(M_PI, 2.0 / 3) / 48;
  for (const double step_size : {0.05, 0.3}) {
    double previous = 1;
    for (const std::int64_t inner : {1000, 10000, 100000, 1000000}) {
      const auto transition =
          GibbsLangevin().make(model, GibbsLangevinOptions(inner, step_size, StepScale::kUnit, 1, true));
      const Move& move = transition->MoveAt(0);
      const double excess = double{move.noise[0]} * double{move.noise[0]} / double{model.variance()[0]} - 1;
      const double predicted = constant * std::pow(step_size, 1.0 / 3) * std::pow(static_cast<double>(inner), -2.0 / 3);
      // A float has 1.2e-7 of resolution.
      const double correction = std::pow(step_size * static_cast<double>(inner), -2.0 / 3);
      EXPECT_NEAR(excess / predicted, 1, 0.5 * correction + 3e-7 / predicted) << inner;
      EXPECT_LT(std::abs(excess), previous);
      previous = std::abs(excess);
    }
  }
}

// Without annealing it tends to 2ε/(1 - (1-ε)²) σ² = σ²/(1 - ε/2) instead: the bias that stays.
TEST(InnerSteps, WithoutAnnealingTheBiasStays) {
  const Model model = RandomModel(1, 1, 2);
  const auto transition = GibbsLangevin().make(model, GibbsLangevinOptions(100000, 0.3, StepScale::kUnit, 1, false));
  const Move& move = transition->MoveAt(0);
  EXPECT_NEAR(double{move.noise[0]} * double{move.noise[0]} / double{model.variance()[0]}, 1 / (1 - 0.15), 1e-6);
  EXPECT_EQ(move.keep[0], 0.0f);
}

TEST(Schedule, CosineStartsAtOneAndNeverReachesZero) {
  EXPECT_EQ(CosineDecay(0, 10), 1.0);
  EXPECT_NEAR(CosineDecay(5, 10), 0.5, 1e-15);
  EXPECT_GT(CosineDecay(9, 10), 0.02);
  EXPECT_EQ(CosineDecay(0, 1), 1.0);
}

TEST(Langevin, MovesDownTheGradient) {
  const Model model = RandomModel(3, 2, 5);
  SamplerOptions o;
  o.method = Method::kLangevin;
  o.steps = 8;
  o.step_size = 0.2;
  o.temperature = 3;
  const auto transition = Langevin().make(model, o);
  for (const std::int64_t t : {0, 3, 7, 0}) {
    const Move& move = transition->MoveAt(t);
    for (std::size_t i = 0; i < 3; ++i) {
      const double alpha = 0.2 * model.mean_variance() * (1 + std::cos(M_PI * static_cast<double>(t) / 8)) / 2;
      EXPECT_NEAR(move.keep[i], 1 - alpha / double{model.variance()[i]}, 1e-7);
      EXPECT_NEAR(double{move.noise[i]} * double{move.noise[i]}, 2 * alpha * 3, 1e-6);
    }
  }
}

// v' = v - α ∂E/∂v + √(2ατ_q) ξ: what the temperature of the law is does not matter.                   [math.md (53)]
TEST(Proposals, MoveAsStepsWithoutAdjustmentAtTheirOwnTemperature) {
  const Model model = RandomModel(3, 2, 5);
  for (const Method method : {Method::kLangevin, Method::kGibbsLangevin}) {
    const auto make = method == Method::kLangevin ? Langevin().make : GibbsLangevin().make;
    for (const Adjust adjust : {Adjust::kMetropolis, Adjust::kConditional}) {
      if (method == Method::kLangevin && adjust == Adjust::kConditional) continue;
      SamplerOptions options = GibbsLangevinOptions(4, 0.3, StepScale::kMean, 2, true);
      options.method = method;
      options.adjust = adjust;
      options.proposal_temperature = 7;
      SamplerOptions plain = options;
      plain.adjust = Adjust::kNone;
      plain.proposal_temperature = 0;
      plain.temperature = 7;
      const auto proposals = make(model, options);
      const auto steps = make(model, plain);
      EXPECT_EQ(proposals->MoveAt(0).keep, steps->MoveAt(0).keep);
      EXPECT_EQ(proposals->MoveAt(0).noise, steps->MoveAt(0).noise);
    }
  }
}

TEST(PartialGibbs, KeepsTheConditionalVariance) {
  const Model model = RandomModel(3, 2, 5);
  SamplerOptions o;
  o.method = Method::kPartialGibbs;
  o.temperature = 2.5;
  for (const double refresh : {0.01, 0.5, 1.0, 1.7}) {
    o.refresh = refresh;
    const auto transition = PartialGibbs().make(model, o);
    const Move& move = transition->MoveAt(0);
    for (std::size_t i = 0; i < 3; ++i) {
      const double keep = move.keep[i];
      const double target = 2.5 * double{model.variance()[i]};
      EXPECT_NEAR(keep, 1 - refresh, 1e-7);
      EXPECT_NEAR((keep * keep * target + double{move.noise[i]} * double{move.noise[i]}) / target, 1, 1e-6);
    }
  }
  const auto gibbs = Gibbs().make(model, o);
  EXPECT_EQ(gibbs->MoveAt(0).keep[1], 0.0f);
}

}  // namespace
}  // namespace grbm
