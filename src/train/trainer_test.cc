#include "grbm/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/errors.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::LearningOptions;
using testing::Values;

// 20 updates of 40 rows, 4 to an epoch; every batch is one of its own.
Trainer::Setup SmallSetup() {
  Trainer::Setup setup;
  setup.model.hidden = 4;
  setup.sampler = LearningOptions(Method::kGibbsLangevin, Adjust::kNone, 0.8, 5);
  setup.train.batch_size = 40;
  setup.train.epochs = 5;
  setup.train.learning_rate = 0.1;
  setup.seed = 3;
  setup.visible = 3;
  setup.rows = 160;
  return setup;
}

void ReadBatch(std::uint64_t update, MutableMatrix out) {
  CopyRows(testing::RandomVisible(out.rows(), out.cols(), 100 + update), out);
}

double Cosine(std::uint64_t update, std::uint64_t total) {
  return 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(update) / static_cast<double>(total)));
}

// The loop, written out: a gradient with the settings that an update should have, and a step of the optimiser.
struct Expected {
  SamplerOptions sampler;
  double learning_rate;
};
std::vector<double> WrittenOut(const Trainer::Setup& setup, std::uint64_t updates,
                               const std::function<Expected(std::uint64_t)>& at) {
  ThreadPool pool(1);
  Model model = Model::Initial(setup.visible, setup.model.hidden, setup.seed);
  Contrastive contrastive(setup.train, setup.seed, pool);
  Optimizer optimizer(setup.train, setup.visible, setup.model.hidden);
  for (std::uint64_t u = 0; u < updates; ++u) {
    Matrix batch(setup.train.batch_size, setup.visible);
    ReadBatch(u, batch);
    const Expected expected = at(u);
    Parameters gradient = contrastive.Gradient(model, expected.sampler, batch, u);
    optimizer.Step(model.parameters(), expected.learning_rate, gradient, pool);
    model = Model(gradient, setup.model.variance_floor);
  }
  return Values(model.parameters());
}

TEST(Trainer, AnUpdateIsAGradientAndAStep) {
  const Trainer::Setup setup = SmallSetup();
  ThreadPool pool(2);
  Trainer trainer(setup, ReadBatch, pool);
  EXPECT_EQ(trainer.total_updates(), 20U);
  while (!trainer.done()) trainer.Update();
  EXPECT_EQ(Values(trainer.model().parameters()), WrittenOut(setup, 20, [&](std::uint64_t u) {
              return Expected{setup.sampler, 0.1 * Cosine(u, 20)};
            }));
}

TEST(Trainer, SchedulesAreFollowed) {
  for (const bool cosine : {false, true}) {
    Trainer::Setup setup = SmallSetup();
    setup.train.learning_rate_schedule = cosine ? Schedule::kConstant : Schedule::kCosine;
    setup.train.step_size_schedule = cosine ? Schedule::kCosine : Schedule::kConstant;
    ThreadPool pool(1);
    Trainer trainer(setup, ReadBatch, pool);
    for (std::uint64_t u = 0; u < 20; ++u) {
      const UpdateMetrics metrics = trainer.Update();
      EXPECT_EQ(metrics.update, u + 1);
      EXPECT_NEAR(metrics.learning_rate, 0.1 * (cosine ? 1 : Cosine(u, 20)), 1e-12);
      EXPECT_NEAR(metrics.step_size, 0.8 * (cosine ? Cosine(u, 20) : 1), 1e-12);
    }
    EXPECT_EQ(Values(trainer.model().parameters()), WrittenOut(setup, 20, [&](std::uint64_t u) {
                SamplerOptions sampler = setup.sampler;
                if (cosine) sampler.step_size *= Cosine(u, 20);
                return Expected{sampler, 0.1 * (cosine ? 1 : Cosine(u, 20))};
              }));
  }
}

// Two epochs, 8 updates, in which nothing is rejected. The gradient is that of the law that the adjusted sampler has:
// at its temperature, as before as after.
TEST(Trainer, NothingIsRejectedWhileTheAdjustmentWarmsUp) {
  Trainer::Setup setup = SmallSetup();
  setup.sampler = LearningOptions(Method::kGibbsLangevin, Adjust::kConditional, 1.5, 5);
  setup.sampler.temperature = 2;
  setup.train.adjust_warmup_epochs = 2;
  ThreadPool pool(1);
  Trainer trainer(setup, ReadBatch, pool);
  for (int u = 0; u < 20; ++u) {
    const double acceptance = trainer.Update().batch.acceptance;
    if (u < 8) {
      EXPECT_EQ(acceptance, 1) << u;
    } else {
      EXPECT_LT(acceptance, 0.95) << u;
    }
  }
  EXPECT_EQ(Values(trainer.model().parameters()), WrittenOut(setup, 20, [&](std::uint64_t u) {
              SamplerOptions sampler = setup.sampler;
              if (u < 8) sampler.adjust_after = sampler.steps;
              return Expected{sampler, 0.1 * Cosine(u, 20)};
            }));
}

TEST(Trainer, GoesOnFromItsStateToTheSameBits) {
  Trainer::Setup setup = SmallSetup();
  setup.train.algorithm = Algorithm::kPcd;
  setup.train.optimizer = OptimizerKind::kAdam;
  setup.train.momentum = 0.5;
  setup.train.weight_decay = 0.01;
  ThreadPool pool(2);
  Trainer whole(setup, ReadBatch, pool);
  while (whole.updates() < 9) whole.Update();
  TrainState state = whole.State();
  EXPECT_EQ(state.updates, 9U);
  EXPECT_EQ(state.moments.size(), 2U);
  ASSERT_TRUE(state.chains);
  Trainer resumed(setup, ReadBatch, pool);
  resumed.Restore(std::move(state));
  while (!whole.done()) whole.Update();
  while (!resumed.done()) resumed.Update();
  EXPECT_EQ(Values(whole.model().parameters()), Values(resumed.model().parameters()));
}

TEST(Trainer, RefusesSettingsThatContradictEachOther) {
  ThreadPool pool(1);
  const auto refusal = [&](const std::function<void(Trainer::Setup&)>& change) {
    Trainer::Setup setup = SmallSetup();
    change(setup);
    return ErrorOf([&] { Trainer(setup, ReadBatch, pool); });
  };
  EXPECT_THAT(refusal([](auto& s) { s.train.burn_in = 5; }),
              HasSubstr("burn_in = 5: allowed is below sampler.steps = 5"));
  EXPECT_THAT(refusal([](auto& s) { s.train.start_temperature = 2; }), HasSubstr("start_temperature = 2"));
  EXPECT_THAT(refusal([](auto& s) { s.rows = 0; }), HasSubstr("no rows"));
  EXPECT_THAT(refusal([](auto& s) { s.train.epochs = 1e18; }), HasSubstr("epochs"));
  EXPECT_EQ(refusal([](auto&) {}), "no error");
}

TEST(Trainer, RefusesAStateOfOtherSettings) {
  ThreadPool pool(1);
  Trainer trainer(SmallSetup(), ReadBatch, pool);
  TrainState other{1, Parameters(3, 5), {}, {}};
  EXPECT_THAT(ErrorOf([&] { trainer.Restore(other); }), HasSubstr("3 × 5 weights and 0 running means"));
  TrainState moments{1, Parameters(3, 4), {Parameters(3, 4)}, {}};
  EXPECT_THAT(ErrorOf([&] { trainer.Restore(moments); }), HasSubstr("1 running means"));
}

// The model is as it was, and the line names the update, the cause and what to change.
TEST(Trainer, SaysWhyItDiverges) {
  Trainer::Setup setup = SmallSetup();
  setup.train.learning_rate = 1e30;
  setup.train.clip_norm = 0;
  ThreadPool pool(1);
  Trainer trainer(setup, ReadBatch, pool);
  const std::vector<double> before = Values(trainer.model().parameters());
  const std::string error = ErrorOf([&] { trainer.Update(); });
  EXPECT_THAT(error, HasSubstr("training diverged at update 1"));
  EXPECT_THAT(error, HasSubstr("set train.clip_norm"));
  EXPECT_EQ(Values(trainer.model().parameters()), before);
  EXPECT_EQ(trainer.updates(), 0U);
}

}  // namespace
}  // namespace grbm
