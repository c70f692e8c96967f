// Training against exact answers: the gradient estimate in expectation, and what is learned.
#include "support/learning.h"

#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/train/contrastive.h"
#include "grbm/train/trainer.h"
#include "support/fit.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ExactDraws;
using testing::ExactFit;
using testing::LearningOptions;
using testing::LearningSetup;
using testing::MeanVector;
using testing::RandomModel;
using testing::SamplerCase;
using testing::Train;

class ExactSampler : public ::testing::TestWithParam<SamplerCase> {};
INSTANTIATE_TEST_SUITE_P(Samplers, ExactSampler, ::testing::ValuesIn(testing::SamplersWithALaw()),
                         [](const ::testing::TestParamInfo<SamplerCase>& test) { return test.param.name; });

// The mean of 300 independent estimates equals the exact gradient of the negative log-likelihood. Of the 23 parameters
// each lies within 5.5 standard errors of the mean; over 5 samplers the family-wise error is 115 × 3.8e-8 < 5e-6.
TEST_P(ExactSampler, TheGradientIsRightInExpectation) {
  const Model model = RandomModel(3, 4, 41, 0.5);
  const Matrix data = ExactDraws(RandomModel(3, 4, 42, 0.5), 64);
  const ExactGradient exact = ExactModel(model).LogLikelihoodGradient(data);
  TrainOptions train;
  train.burn_in = GetParam().sampler.steps - 10;
  ThreadPool pool(1);
  Contrastive contrastive(train, 5, pool);
  const std::vector<double> expected = testing::Values(exact);
  MeanVector estimate;
  Parameters g;  // each estimate in the memory of the one before
  for (std::uint64_t run = 0; run < 300; ++run) {
    g = contrastive.Gradient(model, GetParam().sampler, data, run, std::move(g));
    estimate.Add(testing::Values(g));
  }
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_LT(std::abs(estimate.mean(k) + expected[k]), 5.5 * estimate.error(k)) << "parameter " << k;
  }
}

// All of the data in every batch, so that what is left is the chains' doing.
TEST_P(ExactSampler, LearnsTheLikelihoodOfTheExactFit) {
  const Matrix data = ExactDraws(RandomModel(3, 4, 43, 1.0), 200);
  SamplerOptions sampler = GetParam().sampler;
  sampler.steps = 40;
  const Trainer::Setup setup = LearningSetup(sampler);
  const double exact = ExactFit(setup, data);
  const double learned = Train(setup, data);
  RecordProperty("shortfall", std::to_string(exact - learned));
  EXPECT_GT(learned, exact - 0.05);
}

// Two modes eight deviations apart, which no chain leaves, with shares of 0.8 and 0.2; noise starts halfway. The data
// have h = 0 throughout, so the gradient of b is the chains' mean of h. Means of 20 × 500 chains: 5 standard errors
// are 0.02 for independent chains; resampling and cooling in 16 steps leave no more than twice that.
TEST_P(ExactSampler, CooledChainsHaveTheSharesOfModesFarApart) {
  Matrix data(500, 1);
  SamplerOptions sampler = GetParam().sampler;
  sampler.steps = 20;
  ThreadPool pool(1);
  const auto share = [&](double start_temperature, float first = -4) {
    const Model model = testing::TwoFarModes(first);
    std::ranges::fill(data.values(), first);
    TrainOptions train;
    train.burn_in = 16;
    train.start_temperature = start_temperature;
    Contrastive contrastive(train, 5, pool);
    double sum = 0;
    for (std::uint64_t run = 0; run < 20; ++run) sum += double{contrastive.Gradient(model, sampler, data, run).b[0]};
    return sum / 20;
  };
  EXPECT_LT(share(1), 0.65);
  EXPECT_NEAR(share(20), 0.8, 0.04);
  // Noise starts in the mode of the smaller share: only hot chains find the other one.
  EXPECT_LT(share(1, 0), 0.01);
  EXPECT_GT(share(20, 0), 0.2);
}

// The unadjusted samplers fall short, and less so with a smaller step.
TEST(UnadjustedSamplers, TheShortfallShrinksWithTheStep) {
  const Matrix data = ExactDraws(RandomModel(3, 4, 43, 1.0), 200);
  const double exact = ExactFit(LearningSetup(LearningOptions(Method::kLangevin, Adjust::kNone, 1, 40)), data);
  for (const Method method : {Method::kLangevin, Method::kGibbsLangevin}) {
    const auto shortfall = [&](double step_size) {
      SamplerOptions sampler = LearningOptions(method, Adjust::kNone, step_size, 60);
      sampler.langevin_steps = 1;
      sampler.anneal = false;
      return exact - Train(LearningSetup(sampler), data);
    };
    const double large = shortfall(1.0);
    const double small = shortfall(0.25);
    RecordProperty(method == Method::kLangevin ? "langevin" : "gibbs_langevin",
                   std::to_string(large) + " to " + std::to_string(small));
    EXPECT_GT(large, 2 * std::max(small, 0.0)) << "method " << static_cast<int>(method);
    EXPECT_GT(large, 0.01);
  }
}

}  // namespace
}  // namespace grbm
