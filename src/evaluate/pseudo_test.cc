#include "grbm/evaluate/pseudo.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numbers>

#include "grbm/evaluate/estimate.h"
#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Doubles;
using testing::RandomModel;

// The model of unit i alone, the others given: its biases are the logits without it.
double Oracle(const Model& model, std::span<const float> v, Index i, double temperature) {
  const auto at = static_cast<std::size_t>(i);
  Parameters p(1, model.hidden());
  const std::vector<double> logits = HiddenLogits(model, Doubles(v));
  for (Index j = 0; j < model.hidden(); ++j) {
    p.W(0, j) = model.W()(i, j);
    const double own = double{v[at]} * double{model.W()(i, j)} / std::exp(double{model.log_var()[at]});
    p.b[static_cast<std::size_t>(j)] = static_cast<float>(logits[static_cast<std::size_t>(j)] - own);
  }
  p.mu[0] = model.mu()[at];
  p.log_var[0] = model.log_var()[at];
  return Quadrature(Model(std::move(p)), temperature).LogDensity(std::vector<double>{double{v[at]}});
}

TEST(Pseudo, ConditionalDensityIsThatOfTheModelOfOneUnit) {
  const Model model = RandomModel(4, 9, 1, 1.5);
  const Matrix v = testing::RandomVisible(5, 4, 2, 2.0);
  ThreadPool pool(1);
  const Matrix logits = HiddenLogits(model, v, pool);
  for (const double temperature : {1.0, 0.4, 5.0}) {
    for (Index r = 0; r < 5; ++r) {
      for (Index i = 0; i < 4; ++i) {
        EXPECT_NEAR(ConditionalLogDensity({model, temperature}, v.row(r), logits.row(r), i),
                    Oracle(model, v.row(r), i, temperature), 1e-4);
      }
    }
  }
}

// log Σ_h π_h N(v_i; μ_i + W_i h, σ_i²), π_h given the other units, by enumeration, from the same logits.
double Enumerated(const Model& model, std::span<const float> v, std::span<const float> logits, Index i) {
  const auto at = static_cast<std::size_t>(i);
  const double inverse = model.inverse_variance()[at];
  const double mu = model.mu()[at];
  std::vector<double> weights;  // logarithms
  std::vector<double> joint;
  for (unsigned state = 0; state < 1u << model.hidden(); ++state) {
    double sum = 0;
    double mean = mu;
    for (Index j = 0; j < model.hidden(); ++j) {
      if ((state >> j & 1) == 0) continue;
      const double w = model.W()(i, j);
      sum += double{logits[static_cast<std::size_t>(j)]} - double{v[at]} * w * inverse;
      mean += w;
    }
    weights.push_back(sum + 0.5 * (mean - mu) * (mean + mu) * inverse);
    joint.push_back(weights.back() - 0.5 * (double{v[at]} - mean) * (double{v[at]} - mean) * inverse);
  }
  return LogMeanExp(joint).value - LogMeanExp(weights).value + 0.5 * std::log(inverse / (2 * std::numbers::pi));
}

TEST(Pseudo, SmallVariancesAreNeitherSlowNorInexact) {
  ThreadPool pool(1);
  const auto start = std::chrono::steady_clock::now();
  for (const float variance : {1.0f, 1e-3f, 1e-6f}) {
    Parameters p = RandomModel(6, 10, 1, 1.0).parameters();
    std::ranges::fill(p.log_var, std::log(variance));
    const Model model(p, 1e-8);
    const Matrix v = testing::RandomVisible(50, 6, 2, 2.0);
    const Matrix logits = HiddenLogits(model, v, pool);
    for (Index r = 0; r < 50; ++r) {
      for (Index i = 0; i < 6; ++i) {
        const double exact = Enumerated(model, v.row(r), logits.row(r), i);
        EXPECT_NEAR(ConditionalLogDensity({model}, v.row(r), logits.row(r), i), exact, 1e-5 + 1e-13 * std::abs(exact))
            << variance << " " << r << " " << i;
      }
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 20);  // 900 densities, of which 300 took more than 0.1 s each
}

// Without weights units are independent, and the pseudo-likelihood is the likelihood.
TEST(Pseudo, OfIndependentUnitsIsTheLikelihood) {
  const ExactModel exact(RandomModel(6, 3, 3, 0.0));
  const Matrix v = testing::RandomVisible(20000, 6, 4);
  ThreadPool pool(2);
  const Estimate pseudo = PseudoLikelihood({exact.model()}, v, 2, 1, pool);
  // 5 standard errors: wrong once in a million.
  EXPECT_NEAR(pseudo.value, exact.MeanLogLikelihood(v), 5 * pseudo.error);
  EXPECT_LT(pseudo.error, 0.05);
}

TEST(Pseudo, TheGapOfEqualLawsIsZeroAndOfWorseRowsPositive) {
  const ExactModel exact(RandomModel(5, 4, 5));
  Matrix v(4000, 5);
  BitMatrix h(4000, 4);
  exact.Sample(1, 0, v, h);
  ThreadPool pool(2);
  const Estimate same = FreeEnergyGap({exact.model()}, v.view().Rows(0, 2000), v.view().Rows(2000, 2000), pool);
  EXPECT_NEAR(same.value, 0, 5 * same.error);
  Matrix far = v;
  for (float& x : far.values()) x += 3;
  const Estimate worse = FreeEnergyGap({exact.model()}, v, far, pool);
  EXPECT_GT(worse.value, 10 * worse.error);
}

}  // namespace
}  // namespace grbm
