// Noise in the data, and gradients with less noise: what is expected of v given the step before stands in for v, and the
// mean of the estimate must stay the same, with and without a law. 2 × 8 comparisons of 17 means, each off by more than
// 6 standard errors with probability 2e-9: any of them with less than 1e-6.
#include <gtest/gtest.h>

#include "grbm/train/contrastive.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::LearningOptions;
using testing::MeanVector;
using testing::RandomModel;

constexpr double kBound = 6;

struct Case {
  const char* name;
  SamplerOptions sampler;
  double noise;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> Cases() {
  SamplerOptions hot = LearningOptions(Method::kGibbs, Adjust::kNone, 1, 4);
  hot.temperature = 3;
  return {{"gibbs", LearningOptions(Method::kGibbs, Adjust::kNone, 1, 4), 0},
          {"gibbs_noise", LearningOptions(Method::kGibbs, Adjust::kNone, 1, 4), 0.7},
          {"gibbs_hot_noise", hot, 0.7},
          {"partial_gibbs_noise", LearningOptions(Method::kPartialGibbs, Adjust::kNone, 1, 4), 0.7},
          {"gibbs_langevin", LearningOptions(Method::kGibbsLangevin, Adjust::kNone, 0.3, 4), 0},
          {"gibbs_langevin_noise", LearningOptions(Method::kGibbsLangevin, Adjust::kNone, 0.3, 4), 0.7},
          {"langevin", LearningOptions(Method::kLangevin, Adjust::kNone, 0.4, 4), 0},
          {"langevin_noise", LearningOptions(Method::kLangevin, Adjust::kNone, 0.4, 4), 0.7}};
}

MeanVector Estimate(const Case& test, const Model& model, ConstMatrix data, VisibleKind visible, std::uint64_t seed) {
  TrainOptions train;
  train.hidden = HiddenKind::kProbability;
  train.visible = visible;
  ThreadPool pool(1);
  Contrastive contrastive(train, seed, pool, test.noise);
  MeanVector estimate;
  for (int update = 0; update < testing::Repeats(3000); ++update) {
    estimate.Add(testing::Values(contrastive.Gradient(model, test.sampler, data, static_cast<std::uint64_t>(update))));
  }
  return estimate;
}

class ExpectedVisible : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Samplers, ExpectedVisible, ::testing::ValuesIn(Cases()),
                         [](const ::testing::TestParamInfo<Case>& test) { return std::string(test.param.name); });

TEST_P(ExpectedVisible, TheGradientIsTheSameOnAverageAndLessNoisy) {
  const Model model = RandomModel(3, 3, 51, 0.7);
  const Matrix data = testing::ExactDraws(RandomModel(3, 3, 52, 0.7), 20);
  const MeanVector drawn = Estimate(GetParam(), model, data, VisibleKind::kSample, 1);
  const MeanVector expected = Estimate(GetParam(), model, data, VisibleKind::kMean, 2);
  double drawn_noise = 0;
  double expected_noise = 0;
  for (std::size_t k = 0; k < drawn.size(); ++k) {
    const double error = std::hypot(drawn.error(k), expected.error(k));
    EXPECT_NEAR(drawn.mean(k), expected.mean(k), kBound * error) << "parameter " << k;
    drawn_noise += drawn.error(k) * drawn.error(k);
    expected_noise += expected.error(k) * expected.error(k);
  }
  EXPECT_LT(expected_noise, drawn_noise);
}

// Without weights the gradient of log σ² is half the data's mean square around μ, over σ², less the chains', which do not
// see the data.
TEST(Noise, HasItsVarianceAndIsDrawnAfreshForEachUpdate) {
  Parameters p(3, 2);
  const Model model(p);
  const Matrix data = testing::RandomVisible(20000, 3, 6);
  const SamplerOptions sampler = LearningOptions(Method::kGibbs, Adjust::kNone, 1, 1);
  ThreadPool pool(2);
  const auto gradient = [&](double noise, std::uint64_t update) {
    return Contrastive({}, 3, pool, noise).Gradient(model, sampler, data, update);
  };
  const Parameters none = gradient(0, 0);
  const Parameters some = gradient(0.5, 0);
  EXPECT_EQ(some, gradient(0.5, 0));
  for (std::size_t i = 0; i < 3; ++i) {
    // 5 standard errors of the means of 2vξ + ξ² and of ξ, for v of variance 2 at most.
    EXPECT_NEAR(-2 * (double{some.log_var[i]} - double{none.log_var[i]}), 0.5, 5 * std::sqrt(4.5 / 20000));
    EXPECT_NEAR(some.mu[i], none.mu[i], 5 * std::sqrt(0.5 / 20000));
  }
  // The chains of update 1 are others, too: of the data alone, the means tell.
  Contrastive contrastive({}, 3, pool, 0.5);
  contrastive.Gradient(model, sampler, data, 0);
  const Offsets first = contrastive.data_means();
  contrastive.Gradient(model, sampler, data, 1);
  EXPECT_NE(first.visible, contrastive.data_means().visible);
}

}  // namespace
}  // namespace grbm
