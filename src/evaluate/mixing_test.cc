#include "grbm/evaluate/mixing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "grbm/evaluate/samples.h"
#include "grbm/model/exact.h"
#include "support/models.h"

namespace grbm {
namespace {

ModelFile GibbsModel(Model model) {
  ModelFile file{std::move(model)};
  file.sampler.method = Method::kGibbs;
  file.sampler.steps = 20;
  return file;
}

// Without weights every Gibbs step is an independent draw: as many effective draws as there are. The error of an ESS of
// 16,000 draws is a few per cent; a tenth is far outside.
TEST(Mixing, IndependentStepsAreWorthOneDrawEach) {
  const ModelFile file = GibbsModel(testing::RandomModel(4, 6, 1, 0.0));
  ThreadPool pool(1);
  const Mixing m = MeasureMixing(file, testing::RandomVisible(100, 4, 1), {32, 1000, 1}, pool);
  EXPECT_NEAR(m.energy.ess_mean, 16000, 1600);
  EXPECT_NEAR(m.energy.autocorrelation_time, 1, 0.1);
  EXPECT_NEAR(m.activity.autocorrelation_time, 1, 0.1);
  EXPECT_LT(m.energy.rhat, 1.01);
  EXPECT_EQ(m.acceptance, 1);
}

// Far pairs of modes of different energies: chains stay where they began, and R̂ sees it.
TEST(Mixing, ChainsThatStayWhereTheyBeganAreSeen) {
  const ExactModel exact(testing::BalancedModel(6, 4, 2, 5.0));
  Matrix data(100, 6);
  BitMatrix h(100, 4);
  exact.Sample(1, 0, data, h);
  ThreadPool pool(1);
  const Mixing m = MeasureMixing(GibbsModel(exact.model()), data, {32, 200, 1}, pool);
  EXPECT_GT(m.activity.rhat, 1.5);
  EXPECT_LT(m.activity.ess_mean, 200);
}

TEST(Mixing, AcceptanceIsThatOfTheSampler) {
  ModelFile file = GibbsModel(testing::RandomModel(4, 6, 1, 0.5));
  file.sampler.method = Method::kLangevin;
  file.sampler.adjust = Adjust::kMetropolis;
  file.sampler.step_size = 1.0;
  file.sampler.anneal = false;
  ThreadPool pool(1);
  const Mixing m = MeasureMixing(file, testing::RandomVisible(100, 4, 1), {32, 200, 1}, pool);
  EXPECT_GT(m.acceptance, 0.05);
  EXPECT_LT(m.acceptance, 0.95);
}

// Noise far from the model's mean moves there by half the way at each step of a partial refresh of 1/2; the model is a
// single Gaussian, so after some ten steps nothing of the start is left, and more steps gain nothing.
TEST(Mixing, StepsAreEnoughWhenTheStartIsForgotten) {
  Parameters p(3, 2);
  p.mu = {8, 8, 8};
  ModelFile file = GibbsModel(Model(std::move(p)));
  file.sampler.method = Method::kPartialGibbs;
  file.sampler.refresh = 0.5;
  file.sampler.final = Final::kSample;
  Matrix data = testing::RandomVisible(400, 3, 1);
  for (float& x : data.values()) x += 8;
  ThreadPool pool(1);
  const QuickFeatures quick(data, {}, pool);
  const StepsCurve curve = MeasureSteps(file, quick, quick(data, pool), 100, 1, pool);
  ASSERT_EQ(curve.points.size(), 7u);  // 1, 2, 5, 10, 20, 50, 100
  EXPECT_GT(curve.points[0].distance.value, 10 * curve.points[6].distance.value);
  EXPECT_GE(curve.enough, 5);
  EXPECT_LE(curve.enough, 20);
}

TEST(Samples, AreInTheDatasUnitsAndWithinTheirRange) {
  Parameters p(2, 1);
  p.mu = {0, 5};
  ModelFile file = GibbsModel(Model(std::move(p)));
  file.sampler.final = Final::kSample;
  file.standardization = {{100, 100}, {50, 50}};
  ThreadPool pool(1);
  const Matrix free = DrawSamples(file, 500, 1, pool);
  EXPECT_GT(std::ranges::max(free.values()), 256);
  file.provenance["bits"] = "8";
  const Matrix clipped = DrawSamples(file, 500, 1, pool);
  double mean = 0;
  for (Index r = 0; r < 500; ++r) {
    mean += double{clipped(r, 0)} / 500;
    EXPECT_EQ(clipped(r, 1), std::min(255.0f, free(r, 1)));
  }
  EXPECT_NEAR(mean, 100, 15);
}

}  // namespace
}  // namespace grbm
