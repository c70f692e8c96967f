// Inpainting against exact conditional laws. 7 × 5 + 3 × 2 + 8 moments and 7 + 5 means are compared, 61 in all; each is off by
// more than 5.7 standard errors with probability 1.2e-8, any of them with less than 1e-6.
#include "grbm/sampler/inpaint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "grbm/core/error.h"
#include "grbm/model/energy.h"
#include "support/models.h"
#include "support/moments.h"

namespace grbm {
namespace {

using testing::IncludeMean;
using testing::Worst;

constexpr double kBound = 5.7;
constexpr Index kRows = 20000;
constexpr int kStates = 8;  // of three hidden units
const float kKnown[] = {1.5f, -0.7f, 9.0f};

Model SmallModel() { return testing::RandomModel(3, 3, 51, 1.0); }

SamplerOptions Options(Method method, double temperature) {
  SamplerOptions o;
  o.method = method;
  o.temperature = temperature;
  o.steps = 60;
  // So many inner steps that Gibbs-Langevin draws from N(m, τσ²) to within 4e-4 of the variance.        [math.md (19)]
  o.step_size = 1;
  o.step_scale = StepScale::kUnit;
  o.langevin_steps = 100000;
  o.final = Final::kSample;
  return o;
}

// Every chain has the same known values; what is not known is put far away, so that it must not be looked at.
Matrix Filled(const SamplerOptions& options, const std::vector<bool>& known) {
  Matrix data(kRows, 3);
  for (Index r = 0; r < kRows; ++r) std::ranges::copy(kKnown, data.row(r).begin());
  ThreadPool pool(2);
  return Inpaint(SmallModel(), options, data, known, 7, pool);
}

// μ + W h of one hidden state.
double MeanOf(const Model& model, int state, Index unit) {
  double mean = model.mu()[static_cast<std::size_t>(unit)];
  for (Index j = 0; j < 3; ++j) mean += (state >> j & 1) != 0 ? double{model.W()(unit, j)} : 0.0;
  return mean;
}

// p(h | known units) of the model: integrating the others out leaves a sum over the hidden states.
std::vector<double> HiddenGivenKnown(const Model& model, const std::vector<bool>& known) {
  std::vector<double> p(kStates);
  double sum = 0;
  for (int state = 0; state < kStates; ++state) {
    double log_weight = 0;
    for (Index j = 0; j < 3; ++j)
      log_weight += (state >> j & 1) != 0 ? double{model.b()[static_cast<std::size_t>(j)]} : 0.0;
    for (Index i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double mu = model.mu()[at];
      const double m = MeanOf(model, state, i);
      const double variance = std::exp(double{model.log_var()[at]});
      log_weight += known[at] ? double{kKnown[at]} * (m - mu) / variance : (m * m - mu * mu) / (2 * variance);
    }
    p[static_cast<std::size_t>(state)] = std::exp(log_weight);
    sum += std::exp(log_weight);
  }
  for (double& x : p) x /= sum;
  return p;
}

// Moments of the last two units against those of the mixture Σ p(h) N(μ + W h, variance factor · σ²).
Worst CompareUnknown(const Matrix& v, const std::vector<double>& p, double factor, Index first) {
  const Model model = SmallModel();
  Worst worst;
  const auto expected = [&](const auto& f) {
    double sum = 0;
    for (int state = 0; state < kStates; ++state) sum += p[static_cast<std::size_t>(state)] * f(state);
    return sum;
  };
  for (Index i = first; i < 3; ++i) {
    const std::string name = "v" + std::to_string(i);
    const double variance = factor * std::exp(double{model.log_var()[static_cast<std::size_t>(i)]});
    const auto mean = [&](int state) { return MeanOf(model, state, i); };
    IncludeMean(worst, kRows, expected(mean), name, [&](Index r) { return double{v(r, i)}; });
    IncludeMean(worst, kRows, expected([&](int s) { return mean(s) * mean(s) + variance; }), name + "²",
                [&](Index r) { return double{v(r, i)} * double{v(r, i)}; });
  }
  if (first < 2) {
    IncludeMean(worst, kRows, expected([&](int s) { return MeanOf(model, s, 1) * MeanOf(model, s, 2); }), "v1 v2",
                [&](Index r) { return double{v(r, 1)} * double{v(r, 2)}; });
  }
  return worst;
}

const std::vector<bool> kFirstKnown = {true, false, false};
const std::vector<bool> kTwoKnown = {true, true, false};

// After many steps without noise the unknown units are where such a step leaves them, with the known ones where they were.
TEST(Inpaint, StepsWithoutNoiseKeepWhatIsKnown) {
  const Model model = SmallModel();
  Matrix data(20, 3);
  for (Index r = 0; r < 20; ++r) data(r, 0) = 3;  // far from where the model would have it
  SamplerOptions options;
  options.method = Method::kGibbs;
  options.steps = 3;
  options.final = Final::kMean;
  options.final_steps = 300;
  ThreadPool pool(1);
  const Matrix v = Inpaint(model, options, data, kFirstKnown, 4, pool);
  const Matrix next = VisibleMean(model, HiddenProbabilities(model, v, pool), pool);
  for (Index r = 0; r < 20; ++r) {
    EXPECT_EQ(v(r, 0), 3);
    EXPECT_GT(std::abs(next(r, 0) - 3), 0.1);
    for (const Index i : {1, 2}) EXPECT_NEAR(v(r, i), next(r, i), 1e-3);
  }
}

TEST(Inpaint, EveryRowMayKnowOtherUnits) {
  const Model model = SmallModel();
  const Matrix data = testing::RandomVisible(6, 3, 5);
  ThreadPool pool(1);
  const SamplerOptions options = Options(Method::kGibbs, 1);
  BasicMatrix<std::uint8_t> known(6, 3);
  for (Index r = 0; r < 6; ++r) known(r, r % 2 == 0 ? 0 : 1) = 1;
  const Matrix v = Inpaint(model, options, data, known.view(), 4, pool);
  const Matrix first = Inpaint(model, options, data, std::vector<bool>{true, false, false}, 4, pool);
  const Matrix second = Inpaint(model, options, data, std::vector<bool>{false, true, false}, 4, pool);
  for (Index r = 0; r < 6; ++r) {
    for (Index i = 0; i < 3; ++i) EXPECT_EQ(v(r, i), r % 2 == 0 ? first(r, i) : second(r, i));
  }
}

TEST(Inpaint, AModelsSamplerIsTakenWithoutItsAdjustment) {
  SamplerOptions options = Options(Method::kGibbsLangevin, 1);
  options.adjust = Adjust::kConditional;
  EXPECT_EQ(InpaintSampler(options).method, Method::kGibbsLangevin);
  EXPECT_EQ(InpaintSampler(options).adjust, Adjust::kNone);
  options.temperature = 2;
  EXPECT_EQ(InpaintSampler(options).method, Method::kGibbs);
  options.adjust = Adjust::kNone;
  EXPECT_EQ(InpaintSampler(options).method, Method::kGibbsLangevin);
}

class ExactInpaint : public ::testing::TestWithParam<std::pair<Method, double>> {};
INSTANTIATE_TEST_SUITE_P(Samplers, ExactInpaint,
                         ::testing::Values(std::pair{Method::kGibbs, 0.5}, std::pair{Method::kGibbs, 1.0},
                                           std::pair{Method::kGibbs, 4.0}, std::pair{Method::kPartialGibbs, 0.5},
                                           std::pair{Method::kPartialGibbs, 1.0}, std::pair{Method::kPartialGibbs, 4.0},
                                           std::pair{Method::kGibbsLangevin, 1.0}));

TEST_P(ExactInpaint, DrawsFromTheConditionalLaw) {
  const auto [method, temperature] = GetParam();
  const Matrix v = Filled(Options(method, temperature), kFirstKnown);
  for (Index r = 0; r < kRows; ++r) ASSERT_EQ(v(r, 0), kKnown[0]);
  const std::vector<double> p = HiddenGivenKnown(SmallModel().Tempered(temperature), kFirstKnown);
  const Worst worst = CompareUnknown(v, p, temperature, 1);
  EXPECT_LT(worst.z, kBound) << worst.where;
}

// What is shown by default, μ + W h, has the means of the law.
TEST_P(ExactInpaint, MeansHaveTheMeansOfTheLaw) {
  const auto [method, temperature] = GetParam();
  SamplerOptions options = Options(method, temperature);
  options.final = Final::kMean;
  const Matrix v = Filled(options, kTwoKnown);
  const std::vector<double> p = HiddenGivenKnown(SmallModel().Tempered(temperature), kTwoKnown);
  double expected = 0;
  for (int state = 0; state < kStates; ++state)
    expected += p[static_cast<std::size_t>(state)] * MeanOf(SmallModel(), state, 2);
  Worst worst;
  IncludeMean(worst, kRows, expected, "v2", [&](Index r) { return double{v(r, 2)}; });
  EXPECT_LT(worst.z, kBound);
}

// Gibbs-Langevin without adjustment is the paper's at every τ: v given h at temperature τ, h given v at 1. No Boltzmann
// law has both, but with one unknown unit the chain of hidden states has 8 states, and its stationary law is computed.
std::vector<double> StationaryOfThePaper(double temperature) {
  const Model model = SmallModel();
  const double variance = std::exp(double{model.log_var()[2]});
  BasicMatrix<double> move(kStates, kStates);
  for (int from = 0; from < kStates; ++from) {
    const double deviation = std::sqrt(temperature * variance);
    for (double z = -8; z <= 8; z += 0.02) {
      const double weight = 0.02 * std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
      const double v = MeanOf(model, from, 2) + deviation * z;
      for (int to = 0; to < kStates; ++to) {
        double probability = weight;
        for (Index j = 0; j < 3; ++j) {
          double x = double{model.b()[static_cast<std::size_t>(j)]} + v * double{model.W()(2, j)} / variance;
          for (Index i = 0; i < 2; ++i) {
            const auto at = static_cast<std::size_t>(i);
            x += double{kKnown[at]} * double{model.W()(i, j)} / std::exp(double{model.log_var()[at]});
          }
          probability /= 1 + std::exp((to >> j & 1) != 0 ? -x : x);
        }
        move(from, to) += probability;
      }
    }
  }
  std::vector<double> p(kStates, 1.0 / kStates);
  for (int step = 0; step < 1000; ++step) {
    std::vector<double> next(kStates);
    for (int from = 0; from < kStates; ++from) {
      for (int to = 0; to < kStates; ++to) {
        next[static_cast<std::size_t>(to)] += p[static_cast<std::size_t>(from)] * move(from, to);
      }
    }
    p = next;
  }
  return p;
}

class PaperInpaint : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Temperatures, PaperInpaint, ::testing::Values(0.5, 1.0, 4.0));

TEST_P(PaperInpaint, GibbsLangevinDrawsHiddenUnitsAtTemperatureOne) {
  const Matrix v = Filled(Options(Method::kGibbsLangevin, GetParam()), kTwoKnown);
  const Worst worst = CompareUnknown(v, StationaryOfThePaper(GetParam()), GetParam(), 2);
  EXPECT_LT(worst.z, kBound) << worst.where;
}

// The first of two values is known, the class is not: moments of the other value, the shares of the classes and both
// together, by enumeration of h and y: 8 in all. And what InpaintMean expects of them, over rows and steps.
TEST(Inpaint, AClassIsKnownOrNot) {
  const Model model = testing::LabelledModel(2, 3, 3, 23);
  ThreadPool pool(1);
  Matrix data(1, 5);
  data(0, 3) = 1;
  const auto with = [&](std::vector<bool> known) {
    return Inpaint(model, Options(Method::kGibbs, 1), data, known, 7, pool);
  };
  const Matrix known = with({false, true, true, true, true});
  EXPECT_EQ(known(0, 2), 0);
  EXPECT_EQ(known(0, 3), 1);
  EXPECT_EQ(known(0, 4), 0);
  EXPECT_THROW(with({true, true, false, true, true}), DataError);
}

TEST(Inpaint, AnUnknownClassIsDrawnWithTheValues) {
  const Model model = testing::LabelledModel(2, 3, 3, 23);
  Matrix data(kRows, 5);
  for (Index r = 0; r < kRows; ++r) data(r, 0) = kKnown[0];
  BasicMatrix<std::uint8_t> known(kRows, 5);
  for (Index r = 0; r < kRows; ++r) known(r, 0) = 1;
  double total = 0;
  std::vector<double> share(3), value(3), square(3);
  for (int state = 0; state < kStates; ++state) {
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<double> h;
      for (int j = 0; j < 3; ++j) h.push_back(state >> j & 1);
      const double m = MeanOf(model, state, 1);
      std::vector<double> v = {double{kKnown[0]}, m, 0, 0,
                               0};  // ∫ exp(-E) dv₁ is exp(-E) at its mean, times a constant
      v[2 + k] = 1;
      const double weight = std::exp(-Energy(model, v, h));
      total += weight;
      share[k] += weight;
      value[k] += weight * m;
      square[k] += weight * (m * m + std::exp(double{model.log_var()[1]}));
    }
  }
  ThreadPool pool(2);
  SamplerOptions options = Options(Method::kGibbs, 1);
  options.keep_labels = true;  // of samples from noise, and of nothing else
  const Matrix v = Inpaint(model, options, data, known, 7, pool);
  const Imputed imputed = InpaintMean(model, options, data, known, 20, 7, pool);
  Worst worst;
  Worst of_means;
  for (std::size_t k = 0; k < 3; ++k) {
    const Index unit = 2 + static_cast<Index>(k);
    IncludeMean(worst, kRows, share[k] / total, "class", [&](Index r) { return double{v(r, unit)}; });
    IncludeMean(worst, kRows, value[k] / total, "v1 of class", [&](Index r) { return double{v(r, unit) * v(r, 1)}; });
    IncludeMean(of_means, kRows, share[k] / total, "share", [&](Index r) { return double{imputed.mean(r, unit)}; });
  }
  const double mean = (value[0] + value[1] + value[2]) / total;
  IncludeMean(worst, kRows, mean, "v1", [&](Index r) { return double{v(r, 1)}; });
  IncludeMean(of_means, kRows, mean, "mean", [&](Index r) { return double{imputed.mean(r, 1)}; });
  const double second = (square[0] + square[1] + square[2]) / total;
  IncludeMean(worst, kRows, second, "v1²", [&](Index r) { return double{v(r, 1)} * double{v(r, 1)}; });
  // E[mean² + deviation²] over rows is E[v²].
  IncludeMean(of_means, kRows, second, "deviation", [&](Index r) {
    return std::pow(double{imputed.mean(r, 1)}, 2) + std::pow(double{imputed.deviation(r, 1)}, 2);
  });
  EXPECT_LT(worst.z, kBound) << worst.where;
  EXPECT_LT(of_means.z, kBound) << of_means.where;
  EXPECT_EQ(imputed.mean(3, 0), kKnown[0]);
  EXPECT_EQ(imputed.deviation(3, 0), 0);
}

// The mean over many steps of one chain is that of the law: nothing is left of the draws' spread.
TEST(Inpaint, TheMeanOverStepsIsThatOfTheLaw) {
  const Model model = SmallModel();
  Matrix data(4, 3);
  for (Index r = 0; r < 4; ++r) std::ranges::copy(kKnown, data.row(r).begin());
  BasicMatrix<std::uint8_t> known(4, 3);
  for (Index r = 0; r < 4; ++r) known(r, 0) = 1;
  ThreadPool pool(1);
  const std::vector<double> p = HiddenGivenKnown(model, kFirstKnown);
  const Imputed imputed = InpaintMean(model, Options(Method::kGibbs, 1), data, known, 20000, 3, pool);
  for (const Index i : {1, 2}) {
    double mean = 0, second = 0;
    for (int s = 0; s < kStates; ++s) {
      const double m = MeanOf(model, s, i);
      mean += p[static_cast<std::size_t>(s)] * m;
      second += p[static_cast<std::size_t>(s)] * (m * m + double{model.variance()[static_cast<std::size_t>(i)]});
    }
    for (Index r = 0; r < 4; ++r) {
      EXPECT_NEAR(imputed.mean(r, i), mean, 0.1);
      EXPECT_NEAR(imputed.deviation(r, i), std::sqrt(second - mean * mean), 0.1);
    }
  }
  EXPECT_THROW(InpaintMean(model, Options(Method::kGibbs, 1), data, known, 0, 3, pool), ConfigError);
}

// Here what is below a unit's mean is shown as that.
TEST(Inpaint, WhatIsExpectedIsOfWhatIsShown) {
  const Model model = SmallModel();
  const std::vector<double> p = HiddenGivenKnown(model, kFirstKnown);
  std::vector<double> least(3);
  for (int s = 0; s < kStates; ++s) {
    for (const Index i : {1, 2})
      least[static_cast<std::size_t>(i)] += p[static_cast<std::size_t>(s)] * MeanOf(model, s, i);
  }
  Matrix data(1, 3);
  std::ranges::copy(kKnown, data.row(0).begin());
  BasicMatrix<std::uint8_t> known(1, 3);
  known(0, 0) = 1;
  ThreadPool pool(1);
  Matrix floor(1, 3);
  floor(0, 0) = -std::numeric_limits<float>::infinity();
  for (const Index i : {1, 2}) floor(0, i) = static_cast<float>(least[static_cast<std::size_t>(i)]);
  for (const Final final : {Final::kSample, Final::kMean}) {
    SamplerOptions options = Options(Method::kGibbs, 1);
    options.final = final;
    const Imputed imputed = InpaintMean(model, options, data, known, 20000, 3, pool, floor);
    for (const Index i : {1, 2}) {
      const auto unit = static_cast<std::size_t>(i);
      const double variance = double{model.variance()[unit]};
      double mean = 0, second = 0;
      for (int s = 0; s < kStates; ++s) {
        const double m = MeanOf(model, s, i);
        // Of means: cut, with the noise where they are not. Of values: sums over a fine grid of y.
        double first = std::max(m, least[unit]);
        double squares = first * first + (m > least[unit] ? variance : 0);
        if (final == Final::kSample) {
          first = squares = 0;
          const double step = std::sqrt(variance) / 500;
          for (int k = -5000; k <= 5000; ++k) {
            const double y = std::max(m + k * step, least[unit]);
            const double weight =
                step * std::exp(-k * step * k * step / (2 * variance)) / std::sqrt(2 * std::numbers::pi * variance);
            first += weight * y;
            squares += weight * y * y;
          }
        }
        mean += p[static_cast<std::size_t>(s)] * first;
        second += p[static_cast<std::size_t>(s)] * squares;
      }
      EXPECT_GT(mean - least[unit], 0.008) << "nothing to see";
      EXPECT_NEAR(imputed.mean(0, i), mean, 0.003);
      EXPECT_NEAR(imputed.deviation(0, i), std::sqrt(second - mean * mean), 0.003);
    }
    EXPECT_EQ(imputed.mean(0, 0), kKnown[0]);
  }
}

TEST(Inpaint, OtherSamplersAreRefused) {
  SamplerOptions options = Options(Method::kGibbsLangevin, 1);
  options.adjust = Adjust::kConditional;
  EXPECT_THROW(Filled(options, kFirstKnown), ConfigError);
  EXPECT_THROW(Filled(Options(Method::kLangevin, 1), kFirstKnown), ConfigError);
}

}  // namespace
}  // namespace grbm
