// What can be said of one estimate to the last digit; its mean is tested in tests/statistical.
#include "grbm/train/contrastive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::LearningOptions;
using testing::RandomModel;
using testing::Values;

// Chains that stay where they begin: a step renews 1e-6 of the state.
SamplerOptions Frozen() {
  SamplerOptions o;
  o.method = Method::kPartialGibbs;
  o.refresh = 1e-6;
  o.steps = 1;
  return o;
}

Chains FarAway(const Model& model, Index count) {
  Chains chains{0, Matrix(count, model.visible()), BitMatrix(count, model.hidden())};
  for (float& v : chains.visible.values()) v = 100;
  return chains;
}

// Chains that pcd goes on with, and which of them began anew.
std::vector<bool> Restarted(double fraction, std::uint64_t update) {
  const Model model = RandomModel(2, 3, 1);
  TrainOptions train;
  train.algorithm = Algorithm::kPcd;
  train.restart_fraction = fraction;
  ThreadPool pool(2);
  Contrastive contrastive(train, 5, pool);
  contrastive.set_chains(FarAway(model, 4000));
  contrastive.Gradient(model, Frozen(), testing::RandomVisible(4000, 2, 2), update);
  std::vector<bool> restarted;
  const std::optional<Chains> chains = contrastive.chains();
  for (Index r = 0; r < 4000; ++r) {
    const float v = chains->visible(r, 0);
    EXPECT_TRUE(std::abs(v - 100) < 1 || std::abs(v) < 10) << v;
    restarted.push_back(v < 50);
  }
  return restarted;
}

TEST(Contrastive, AShareOfThePersistentChainsBeginsAnew) {
  const auto share = [](const std::vector<bool>& r) {
    return static_cast<double>(std::ranges::count(r, true)) / static_cast<double>(r.size());
  };
  EXPECT_EQ(share(Restarted(0, 3)), 0);
  EXPECT_EQ(share(Restarted(1, 3)), 1);
  // 5 standard errors: wrong once in a million.
  EXPECT_NEAR(share(Restarted(0.2, 3)), 0.2, 5 * std::sqrt(0.2 * 0.8 / 4000));
  EXPECT_NE(Restarted(0.2, 3), Restarted(0.2, 4)) << "other chains at every update";
}

// With h at a rate uniform from 0 to 1, the number of units on is uniform from 0 to all of them: so then is v, but for its noise.
// 5 standard errors, four comparisons: wrong once in 4e5.
TEST(Contrastive, AShareOfTheChainsStartsFar) {
  constexpr Index kRows = 20000;
  Parameters p(1, 50);
  std::ranges::fill(p.W.values(), 1.0f);
  p.mu[0] = 0.5;
  p.log_var[0] = std::log(0.25f);
  for (const double share : {0.3, 1.0}) {
    TrainOptions train;
    train.algorithm = Algorithm::kPcd;
    train.far_starts = share;
    ThreadPool pool(2);
    Contrastive contrastive(train, 5, pool);
    contrastive.Gradient(Model(p), Frozen(), Matrix(kRows, 1), 0);
    const std::optional<Chains> chains = contrastive.chains();
    for (const double least : {10.0, 40.0}) {
      const double expected = share * (50 - least + 0.5) / 51;
      const auto above = std::ranges::count_if(chains->visible.values(), [&](float v) { return v > least + 0.5; });
      EXPECT_NEAR(static_cast<double>(above) / kRows, expected, 5 * std::sqrt(expected * (1 - expected) / kRows))
          << least;
    }
  }
}

// Half of the model's mass is 20 deviations from all data, where no chain from N(0, 1) gets.
TEST(Contrastive, ModesFarFromTheDataAreUnlearnedByChainsThatStartFar) {
  const auto far_mass_after_training = [](double share) {
    Parameters p(1, 1);
    p.W(0, 0) = 20;
    p.b[0] = -200;
    TrainOptions train;
    train.algorithm = Algorithm::kPcd;
    train.far_starts = share;
    SamplerOptions sampler;
    sampler.method = Method::kGibbs;
    sampler.steps = 1;
    ThreadPool pool(1);
    Contrastive contrastive(train, 5, pool);
    for (std::uint64_t update = 0; update < 200; ++update) {
      const Matrix data = testing::RandomVisible(100, 1, update);
      const Parameters gradient = contrastive.Gradient(Model(p), sampler, data, update);
      p.W(0, 0) -= 0.1f * gradient.W(0, 0);
      p.b[0] -= 0.1f * gradient.b[0];
    }
    return ExactModel(Model(p)).Moments().h[0];
  };
  EXPECT_NEAR(far_mass_after_training(0), 0.5, 0.01);
  EXPECT_LT(far_mass_after_training(0.25), 0.01);
}

// With chains that stay where they begin, μ's gradient tells where that is: the mean of the chains less that of the data.
TEST(Contrastive, ChainsBeginWhereTheAlgorithmSays) {
  Parameters p(1, 1);
  const Model model(p);
  Matrix data(1000, 1);
  for (float& v : data.values()) v = 7;
  ThreadPool pool(1);
  const auto difference = [&](Algorithm algorithm) {
    TrainOptions train;
    train.algorithm = algorithm;
    train.restart_fraction = 0;
    Contrastive contrastive(train, 5, pool);
    if (algorithm == Algorithm::kPcd) contrastive.set_chains(FarAway(model, 1000));
    return double{contrastive.Gradient(model, Frozen(), data, 0).mu[0]};
  };
  EXPECT_NEAR(difference(Algorithm::kCd), 0, 0.001);
  EXPECT_NEAR(difference(Algorithm::kPcd), 93, 0.01);
  EXPECT_NEAR(difference(Algorithm::kNoiseCd), -7, 5 / std::sqrt(1000.0));
}

// Steps of the burn-in leave no trace: a chain of ten steps with nine of them unseen is as good as its last state.
TEST(Contrastive, TheBurnInDoesNotCount) {
  Parameters p(1, 1);
  p.mu[0] = 50;  // noise begins far from there: any state before the end would show
  const Model model(p);
  Matrix data(100, 1);
  for (float& v : data.values()) v = 50;
  TrainOptions train;
  train.burn_in = 9;
  ThreadPool pool(1);
  SamplerOptions sampler;
  sampler.method = Method::kPartialGibbs;
  sampler.refresh = 0.7;
  sampler.steps = 10;
  Contrastive contrastive(train, 5, pool);
  EXPECT_NEAR(double{contrastive.Gradient(model, sampler, data, 0).mu[0]}, 0, 5 / std::sqrt(100.0));
}

// A unit that is on in half of the rows has the variance ¼ between them.
TEST(Contrastive, VarietyIsTheSpreadOfTheChainsAsAShareOfTheDatas) {
  Parameters p(1, 1);
  p.W(0, 0) = 100;  // h says whether v is above 0
  const Model model(p);
  Matrix data(1000, 1);
  for (Index r = 0; r < 1000; ++r) data(r, 0) = r < 500 ? -5.0f : 5.0f;
  TrainOptions train;
  train.algorithm = Algorithm::kPcd;
  train.restart_fraction = 0;
  ThreadPool pool(1);
  Contrastive contrastive(train, 5, pool);
  const auto variety = [&](Index below) {
    Chains chains{0, Matrix(1000, 1), BitMatrix(1000, 1)};
    for (Index r = 0; r < 1000; ++r) chains.visible(r, 0) = r < below ? -5.0f : 5.0f;
    contrastive.set_chains(std::move(chains));
    contrastive.Gradient(model, Frozen(), data, 0);
    return contrastive.report().variety;
  };
  EXPECT_NEAR(variety(500), 1, 1e-6);
  EXPECT_NEAR(variety(900), 0.36, 1e-6);
  EXPECT_NEAR(variety(1000), 0, 1e-6);
}

TEST(Contrastive, TheReconstructionIsMeasuredWhereItIsAskedForAndByTheFirstUpdate) {
  const Model model = RandomModel(3, 4, 1, 0.5);
  ThreadPool pool(2);
  const SamplerOptions sampler = LearningOptions(Method::kGibbs, Adjust::kNone, 0.8, 2);
  Contrastive seldom({}, 5, pool);
  Contrastive always({}, 5, pool);
  double last = 0;
  for (const std::uint64_t update : {3, 4, 5, 6}) {
    const Matrix data = testing::RandomVisible(40, 3, update);
    const bool asked = update == 5;
    EXPECT_EQ(Values(seldom.Gradient(model, sampler, data, update, {}, asked)),
              Values(always.Gradient(model, sampler, data, update)));
    if (update == 3 || asked) last = always.report().reconstruction;
    EXPECT_EQ(seldom.report().reconstruction, last) << update;
    EXPECT_GT(last, 0);
  }
}

TEST(Contrastive, NothingDiffersWhereTheDatasUnitsNeverDo) {
  Parameters p(1, 2);
  p.b = {1000, -1000};
  const Model model(p);
  ThreadPool pool(1);
  Contrastive contrastive({}, 5, pool);
  contrastive.Gradient(model, Frozen(), testing::RandomVisible(100, 1, 2), 0);
  EXPECT_EQ(contrastive.report().variety, 0);
}

// Samplers without adjustment have no law. At every τ they are as the paper has them: h at temperature 1 on both sides,
// and the difference as it is.
TEST(Contrastive, WithoutALawTheEstimateIsThePapers) {
  const Model model = RandomModel(3, 4, 1, 0.5);
  const Matrix data = testing::RandomVisible(200, 3, 2);
  ThreadPool pool(1);
  for (const Method method : {Method::kLangevin, Method::kGibbsLangevin}) {
    SamplerOptions sampler = LearningOptions(method, Adjust::kNone, 0.3, 6);
    sampler.temperature = 4;
    TrainOptions train;
    train.hidden = HiddenKind::kProbability;
    train.burn_in = 2;
    const Parameters gradient = Contrastive(train, 5, pool).Gradient(model, sampler, data, 3);

    EnergyStatistics positive(model, EnergyStatistics::Hidden::kProbability);
    positive.Add(data, pool);
    EnergyStatistics negative(model, EnergyStatistics::Hidden::kProbability);
    Chains chains = NoiseChains(model, 200, 5, pool, 0, 3);
    Sampler(model, sampler, pool).Run(chains, {.seed = 5, .first_step = 18, .burn_in = 2}, nullptr, &negative);
    const std::vector<double> a = Values(positive.MeanGradient(pool));
    const std::vector<double> b = Values(negative.MeanGradient(pool));
    const std::vector<double> g = Values(gradient);
    for (std::size_t k = 0; k < g.size(); ++k) EXPECT_NEAR(g[k], a[k] - b[k], 1e-5) << "parameter " << k;
  }
}

// Moves that are never rejected are those of the sampler without adjustment, and at temperature 1 so is the estimate.
TEST(Contrastive, BeforeTheAdjustmentChainsAreUnadjusted) {
  const Model model = RandomModel(3, 4, 1, 0.5);
  const Matrix data = testing::RandomVisible(120, 3, 2);
  ThreadPool pool(1);
  for (const auto& [method, adjust] :
       {std::pair{Method::kLangevin, Adjust::kMetropolis}, std::pair{Method::kGibbsLangevin, Adjust::kMetropolis},
        std::pair{Method::kGibbsLangevin, Adjust::kConditional}}) {
    SamplerOptions never = LearningOptions(method, adjust, 0.8, 6);
    never.adjust_after = never.steps;
    SamplerOptions none = never;
    none.adjust = Adjust::kNone;
    Contrastive contrastive({}, 5, pool);
    EXPECT_EQ(Values(contrastive.Gradient(model, never, data, 3)),
              Values(Contrastive({}, 5, pool).Gradient(model, none, data, 3)));
    EXPECT_EQ(contrastive.report().acceptance, 1);
  }
}

// cd goes from what the model sees: the data with their noise.
TEST(Contrastive, ChainsFromTheDataBeginWithItsNoise) {
  Parameters p(1, 1);
  const Model model(p);
  const Matrix data(1000, 1);
  TrainOptions train;
  train.algorithm = Algorithm::kCd;
  ThreadPool pool(1);
  // Of chains that stay where they begin nothing is left but where that is.
  EXPECT_NEAR(Contrastive(train, 5, pool, 4).Gradient(model, Frozen(), data, 0).log_var[0], 0, 0.02);
}

// With noise, expected visible units and hidden probabilities.
TEST(Contrastive, ThreadsLeaveNoTraceOfWhatIsExpected) {
  const Model model = RandomModel(3, 4, 1, 0.5);
  const Matrix data = testing::RandomVisible(120, 3, 2);
  TrainOptions train;
  train.hidden = HiddenKind::kProbability;
  train.visible = VisibleKind::kMean;
  train.start_temperature = 3;  // steps without statistics before those with
  train.burn_in = 3;
  const auto gradient = [&](int threads) {
    ThreadPool pool(threads);
    return Values(Contrastive(train, 5, pool, 0.5)
                      .Gradient(model, LearningOptions(Method::kGibbs, Adjust::kNone, 1, 6), data, 3));
  };
  EXPECT_EQ(gradient(1), gradient(3));
}

// 120 chains run in pieces.
TEST(Contrastive, ThreadsLeaveNoTrace) {
  const Model model = RandomModel(3, 4, 1, 0.5);
  const Matrix data = testing::RandomVisible(120, 3, 2);
  const auto gradient = [&](int threads) {
    ThreadPool pool(threads);
    return Values(Contrastive({}, 5, pool)
                      .Gradient(model, LearningOptions(Method::kGibbsLangevin, Adjust::kMetropolis, 0.8, 6), data, 3));
  };
  EXPECT_EQ(gradient(1), gradient(3));
}

// A model of 2^20 weights is worked on by all threads at once.
TEST(Contrastive, ThreadsLeaveNoTraceOnLargeModels) {
  const Model model = Model::Initial(1024, 1024, 1);
  const Matrix data = testing::RandomVisible(6, 1024, 2);
  const auto gradient = [&](int threads) {
    ThreadPool pool(threads);
    return Values(Contrastive({}, 5, pool)
                      .Gradient(model, LearningOptions(Method::kGibbsLangevin, Adjust::kNone, 0.8, 3), data, 3));
  };
  EXPECT_EQ(gradient(1), gradient(3));
}

// States are kept until there is no room for more, which sixty steps of this model do not find.
TEST(Contrastive, StatesThatAreKeptCountAsThoseThatAreNot) {
  const Model model = RandomModel(700, 50, 1, 0.02);
  const Matrix data = testing::RandomVisible(300, 700, 2);
  ThreadPool pool(2);
  const SamplerOptions sampler = LearningOptions(Method::kGibbs, Adjust::kNone, 1, 60);
  const Parameters gradient = Contrastive({}, 5, pool).Gradient(model, sampler, data, 3);

  EnergyStatistics positive(model);
  const DrawPlace draw{Stream(5, Purpose::kPositiveHidden), 3, 0};
  positive.Add(data, SampleHidden(model, data, draw, pool), pool);
  EnergyStatistics negative(model);
  Chains chains = NoiseChains(model, 300, 5, pool, 0, 3);
  Sampler(model, sampler, pool).Run(chains, {.seed = 5, .first_step = 180}, nullptr, &negative);
  const std::vector<double> a = Values(positive.MeanGradient(pool));
  const std::vector<double> b = Values(negative.MeanGradient(pool));
  const std::vector<double> g = Values(gradient);
  for (std::size_t k = 0; k < g.size(); ++k) EXPECT_NEAR(g[k], a[k] - b[k], 1e-4) << "parameter " << k;
}

}  // namespace
}  // namespace grbm
