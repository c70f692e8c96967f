#include "grbm/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numbers>

#include "grbm/model/energy.h"
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

void ReadWithGaps(std::uint64_t update, MutableMatrix out) {
  ReadBatch(update, out);
  for (Index r = 0; r < out.rows(); ++r) out(r, r % 2) = std::numeric_limits<float>::quiet_NaN();
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

// A unit that does not vary keeps weights of 0 and its mean; scales end at 1.
TEST(Trainer, UnitsStartAndLearnByTheirDeviationInTheData) {
  Trainer::Setup setup = SmallSetup();
  setup.train.unit_scale = UnitScale::kData;
  setup.mean = {7, 0.5f, -1};
  setup.deviation = {0, 0.25f, 3};
  ThreadPool pool(1);
  Trainer trainer(setup, ReadBatch, pool);
  const Model same = Model::Initial(setup.visible, setup.model.hidden, setup.seed);
  EXPECT_EQ(trainer.model().parameters().mu, setup.mean);
  for (Index j = 0; j < setup.model.hidden; ++j) {
    EXPECT_EQ(trainer.model().W()(0, j), 0);
    EXPECT_EQ(trainer.model().W()(1, j), 0.25f * same.W()(1, j));
    EXPECT_EQ(trainer.model().W()(2, j), same.W()(2, j));
  }
  while (!trainer.done()) trainer.Update();
  for (Index j = 0; j < setup.model.hidden; ++j) {
    EXPECT_EQ(trainer.model().W()(0, j), 0);
    EXPECT_NE(trainer.model().W()(1, j), 0.25f * same.W()(1, j));
  }
  setup.mean.pop_back();
  EXPECT_THAT(ErrorOf([&] { Trainer(setup, ReadBatch, pool); }), HasSubstr("unit_scale = \"data\""));
}

// Hidden units that the given model has not are those of a fresh one.
TEST(Trainer, StartsFromWhatItIsGiven) {
  Trainer::Setup setup = SmallSetup();
  const Parameters given = testing::RandomModel(3, 3, 9).parameters();
  ThreadPool pool(1);
  const Parameters fresh = Trainer(setup, ReadBatch, pool).model().parameters();
  setup.start = given;
  const Parameters start = Trainer(setup, ReadBatch, pool).model().parameters();
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 4; ++j) EXPECT_EQ(start.W(i, j), j < 3 ? given.W(i, j) : fresh.W(i, j));
  }
  EXPECT_THAT(start.b, ::testing::ElementsAre(given.b[0], given.b[1], given.b[2], 0));
  EXPECT_EQ(start.mu, given.mu);
  EXPECT_EQ(start.log_var, given.log_var);
  setup.model.hidden = 2;
  EXPECT_THAT(ErrorOf([&] { Trainer(setup, ReadBatch, pool); }),
              HasSubstr("hidden = 2: the model to start from has 3"));
  setup.visible = 5;
  EXPECT_THAT(ErrorOf([&] { Trainer(setup, ReadBatch, pool); }), HasSubstr("3 visible units, the data have 5"));
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

// The state after nine updates, and that they were made.
TrainState AfterNine(Trainer& trainer) {
  while (trainer.updates() < 9) trainer.Update();
  return trainer.State();
}

// Whether a run that goes on from a state ends with the bits of one that was never stopped.
void ExpectSameEnd(const Trainer::Setup& setup, Trainer& whole, TrainState state, ThreadPool& pool) {
  EXPECT_EQ(state.updates, 9U);
  Trainer resumed(setup, ReadBatch, pool);
  resumed.Restore(std::move(state));
  while (!whole.done()) whole.Update();
  while (!resumed.done()) resumed.Update();
  EXPECT_EQ(Values(whole.model().parameters()), Values(resumed.model().parameters()));
  EXPECT_EQ(Values(whole.Result().parameters()), Values(resumed.Result().parameters()));
}

// Σ dᵗ⁻ᵏ θₖ / Σ dᵗ⁻ᵏ, from the first update on; training does not know of it.
TEST(Trainer, TheResultIsTheAverageOfTheUpdates) {
  Trainer::Setup setup = SmallSetup();
  ThreadPool pool(2);
  Trainer plain(setup, ReadBatch, pool);
  setup.train.average = 0.8;
  Trainer averaged(setup, ReadBatch, pool);
  EXPECT_EQ(averaged.Result().parameters(), averaged.model().parameters()) << "before the first update";
  std::vector<double> sum(Values(plain.model().parameters()).size());
  double weights = 0;
  for (int k = 0; k < 12; ++k) {
    plain.Update();
    averaged.Update();
    EXPECT_EQ(averaged.model().parameters(), plain.model().parameters());
    EXPECT_EQ(plain.Result().parameters(), plain.model().parameters());
    const std::vector<double> now = Values(plain.model().parameters());
    weights = 0.8 * weights + 1;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = 0.8 * sum[i] + now[i];
    const std::vector<double> result = Values(averaged.Result().parameters());
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(result[i], sum[i] / weights, 1e-6) << "update " << k + 1;
  }
}

TEST(Trainer, GoesOnFromItsStateToTheSameBits) {
  Trainer::Setup setup = SmallSetup();
  setup.train.algorithm = Algorithm::kPcd;
  setup.train.optimizer = OptimizerKind::kAdam;
  setup.train.momentum = 0.5;
  setup.train.weight_decay = 0.01;
  setup.train.centred = true;
  setup.train.average = 0.9;
  ThreadPool pool(2);
  Trainer whole(setup, ReadBatch, pool);
  TrainState state = AfterNine(whole);
  EXPECT_EQ(state.moments.size(), 2U);
  ASSERT_TRUE(state.chains);
  ASSERT_TRUE(state.offsets);
  ASSERT_TRUE(state.average);
  ExpectSameEnd(setup, whole, std::move(state), pool);
}

// The noise of an update is that of its number, whoever makes it.
TEST(Trainer, GoesOnWithTheNoiseOfItsData) {
  Trainer::Setup setup = SmallSetup();
  setup.sampler = LearningOptions(Method::kGibbs, Adjust::kNone, 1, 5);
  setup.train.algorithm = Algorithm::kPcd;
  setup.train.restart_fraction = 0.3;
  setup.train.hidden = HiddenKind::kProbability;
  setup.train.visible = VisibleKind::kMean;
  setup.noise = 0.5;
  ThreadPool pool(2);
  Trainer whole(setup, ReadBatch, pool);
  ExpectSameEnd(setup, whole, AfterNine(whole), pool);
}

// The same model for data that are c further: what v adds to the logits more, b takes away.
Model Shifted(const Model& model, std::span<const float> c) {
  Parameters p = model.parameters();
  for (std::size_t i = 0; i < c.size(); ++i) {
    p.mu[i] += c[i];
    for (std::size_t j = 0; j < p.b.size(); ++j) {
      p.b[j] -= p.W(static_cast<Index>(i), static_cast<Index>(j)) * c[i] / model.variance()[i];
    }
  }
  return Model(p, model.variance_floor());
}

// The same law, with the last hidden unit the other way round: of h = 1 - h′, μ takes what was there without h′.
Model Flipped(const Model& model) {
  Parameters p = model.parameters();
  const Index last = model.hidden() - 1;
  for (Index i = 0; i < model.visible(); ++i) {
    p.mu[static_cast<std::size_t>(i)] += p.W(i, last);
    p.W(i, last) = -p.W(i, last);
  }
  p.b.back() = -p.b.back();
  return Model(p, model.variance_floor());
}

// A whole training from `start`, of data that are c further. No hidden unit is drawn, so that a flip leaves all else.
Model TrainedFrom(const Model& start, std::span<const float> c, bool centred, OptimizerKind optimizer) {
  Trainer::Setup setup = SmallSetup();
  setup.sampler = LearningOptions(Method::kLangevin, Adjust::kNone, 0.1, 5);
  setup.train.algorithm = Algorithm::kCd;
  setup.train.optimizer = optimizer;
  setup.train.clip_norm = 1;
  setup.train.centred = centred;
  ThreadPool pool(2);
  Trainer trainer(
      setup,
      [&](std::uint64_t update, MutableMatrix out) {
        ReadBatch(update, out);
        for (Index r = 0; r < out.rows(); ++r) {
          for (Index i = 0; i < out.cols(); ++i) out(r, i) += c[static_cast<std::size_t>(i)];
        }
      },
      pool);
  trainer.Restore({0, start.parameters(), Optimizer(setup.train, 3, 4).moments(), {}, {}});
  while (!trainer.done()) trainer.Update();
  return trainer.model();
}

double LargestDifference(const Model& a, const Model& b) {
  const std::vector<double> x = Values(a.parameters());
  const std::vector<double> y = Values(b.parameters());
  double largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, std::abs(x[k] - y[k]));
  return largest;
}

// What is learned is the same whatever the data's zero is and whichever state a hidden unit calls 1; without centring it
// is not.
TEST(Trainer, TheCentredGradientKnowsNeitherShiftsNorFlips) {
  const Model start = testing::RandomModel(3, 4, 8);
  const std::vector<float> none(3);
  const std::vector<float> shift = {1.5f, -2, 0.75f};
  for (const OptimizerKind optimizer : {OptimizerKind::kSgd, OptimizerKind::kAdam}) {
    const auto difference = [&](bool centred, bool flip) {
      const Model plain = TrainedFrom(start, none, centred, optimizer);
      if (flip) return LargestDifference(Flipped(plain), TrainedFrom(Flipped(start), none, centred, optimizer));
      return LargestDifference(Shifted(plain, shift), TrainedFrom(Shifted(start, shift), shift, centred, optimizer));
    };
    EXPECT_GT(LargestDifference(start, TrainedFrom(start, none, true, optimizer)), 0.1) << "it moved";
    for (const bool flip : {false, true}) {
      EXPECT_LT(difference(true, flip), 1e-4) << "flip " << flip;
      EXPECT_GT(difference(false, flip), 1e-2) << "flip " << flip;
    }
  }
}

// A step against it is a step downhill: it is the gradient times a matrix that is positive definite.
TEST(Centring, AStepAgainstTheCentredGradientIsDownhill) {
  const Model model = testing::RandomModel(3, 4, 9);
  ThreadPool pool(1);
  TrainOptions train;
  Contrastive contrastive(train, 4, pool);
  const Parameters gradient = contrastive.Gradient(model, SmallSetup().sampler, testing::RandomVisible(40, 3, 5), 0);
  Parameters centred = gradient;
  CentreGradient(model, contrastive.data_means(), centred, pool);
  Parameters next = model.parameters();
  const float rate = 1e-4f;
  const auto step = [&](auto&& theta, const auto& g) {
    for (std::size_t k = 0; k < g.size(); ++k) theta[k] -= rate * g[k];
  };
  step(next.W.values(), centred.W.values());
  step(next.b, centred.b);
  step(next.mu, centred.mu);
  step(next.log_var, centred.log_var);
  UncentreStep(model, contrastive.data_means(), next, pool);
  // The change of what the gradient is of is -rate times the square of the centred gradient's norm.
  const std::vector<double> before = Values(model.parameters());
  const std::vector<double> after = Values(next);
  const std::vector<double> g = Values(gradient);
  double change = 0;
  for (std::size_t k = 0; k < g.size(); ++k) change += g[k] * (after[k] - before[k]);
  const double norm = Norm(centred, pool);
  EXPECT_NEAR(change, -double{rate} * norm * norm, 0.01 * double{rate} * norm * norm);
}

TEST(Centring, OffsetsAreTheMeanOfTheFirstBatchesAndForgetThemLater) {
  Offsets offsets;
  for (std::uint64_t u = 0; u < 100; ++u) {
    MoveOffsets(offsets, {{static_cast<float>(u)}, {0.5f}}, u);
    EXPECT_NEAR(offsets.visible[0], static_cast<double>(u) / 2, 1e-3);
  }
  for (std::uint64_t u = 100; u < 1100; ++u) MoveOffsets(offsets, {{-1}, {0.25f}}, u);
  EXPECT_NEAR(offsets.visible[0], -1 + 50.5 * std::pow(0.99, 1000), 1e-3);
  EXPECT_NEAR(offsets.hidden[0], 0.25, 1e-3);
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
  const auto mean = [](Trainer::Setup& s) {
    s.train.visible = VisibleKind::kMean;
    s.train.hidden = HiddenKind::kProbability;
  };
  EXPECT_EQ(refusal(mean), "no error");
  EXPECT_THAT(refusal([&](auto& s) {
                mean(s);
                s.train.hidden = HiddenKind::kSample;
              }),
              HasSubstr("visible = \"mean\": the mean of a step is known with train.hidden = \"probability\""));
  EXPECT_THAT(refusal([&](auto& s) {
                mean(s);
                s.sampler.adjust = Adjust::kMetropolis;
              }),
              HasSubstr("known with sampler.adjust = \"none\""));
  EXPECT_THAT(refusal([&](auto& s) {
                mean(s);
                s.sampler.step_scale = StepScale::kMean;
              }),
              HasSubstr("known with sampler.step_scale = \"unit\""));
  EXPECT_THAT(refusal([](auto& s) { s.rows = 0; }), HasSubstr("no rows"));
  EXPECT_THAT(refusal([](auto& s) { s.train.epochs = 1e18; }), HasSubstr("epochs"));
  EXPECT_EQ(refusal([](auto&) {}), "no error");
}

TEST(Trainer, RefusesAStateOfOtherSettings) {
  ThreadPool pool(1);
  Trainer trainer(SmallSetup(), ReadBatch, pool);
  TrainState other{1, Parameters(3, 5), {}, {}, {}};
  EXPECT_THAT(ErrorOf([&] { trainer.Restore(other); }), HasSubstr("3 × 5 weights and 0 running means"));
  TrainState moments{1, Parameters(3, 4), {Parameters(3, 4)}, {}, {}};
  EXPECT_THAT(ErrorOf([&] { trainer.Restore(moments); }), HasSubstr("1 running means"));
  Trainer::Setup centred = SmallSetup();
  centred.train.centred = true;
  Trainer other_trainer(centred, ReadBatch, pool);
  TrainState without{1, Parameters(3, 4), {}, {}, {}};
  EXPECT_THAT(ErrorOf([&] { other_trainer.Restore(without); }), HasSubstr("no offsets"));
  Trainer::Setup averaged = SmallSetup();
  averaged.train.average = 0.9;
  Trainer averaging(averaged, ReadBatch, pool);
  EXPECT_THAT(ErrorOf([&] { averaging.Restore(without); }), HasSubstr("no averages"));
  Trainer::Setup gaps = SmallSetup();
  gaps.gaps = true;
  gaps.gap_rows = 7;
  gaps.gap_numbers = [](std::uint64_t, std::span<Index>) {};
  Trainer filling(gaps, ReadBatch, pool);
  EXPECT_EQ(ErrorOf([&] { filling.Restore(without); }), "no error") << "a state from before there were such states";
  without.gaps.emplace(8, 1);
  EXPECT_THAT(ErrorOf([&] { filling.Restore(without); }),
              HasSubstr("hidden states of 8 rows with gaps, in 1 words each: expected are 7 in 1"));
  without.gaps.emplace(7, 1);
  EXPECT_EQ(ErrorOf([&] { filling.Restore(without); }), "no error");
  (*without.gaps)(6, 0) = 1 << 4;
  EXPECT_THAT(ErrorOf([&] { filling.Restore(without); }), HasSubstr("units that the model has not"));
  TrainState chains{1, Parameters(3, 4), {}, Chains{0, Matrix(2, 3), BitMatrix(2, 4)}, {}};
  EXPECT_EQ(ErrorOf([&] { trainer.Restore(chains); }), "no error");
  chains.chains->hidden.view().word(1, 0) = 1 << 4;
  EXPECT_THAT(ErrorOf([&] { trainer.Restore(chains); }), HasSubstr("units that the model has not"));
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

// Neither has an update that failed moved what the next one is measured from.
TEST(Trainer, OffsetsAreThoseOfTheUpdatesThatWereMade) {
  Trainer::Setup setup = SmallSetup();
  setup.train.centred = true;
  setup.train.clip_norm = 0;
  bool broken = false;
  ThreadPool pool(1);
  Trainer trainer(
      setup,
      [&](std::uint64_t update, MutableMatrix out) {
        ReadBatch(update, out);
        if (broken) out(0, 0) = 1e30f;
      },
      pool);
  while (trainer.updates() < 3) trainer.Update();
  const std::optional<Offsets> before = trainer.State().offsets;
  broken = true;
  EXPECT_THAT(ErrorOf([&] { trainer.Update(); }), HasSubstr("training diverged at update 4"));
  EXPECT_EQ(trainer.State().offsets, before);
}

// Missing values are drawn on from the state of their own row, wherever in a batch it is.
TEST(Trainer, DrawsMissingValuesOnFromTheStatesOfTheirRows) {
  Trainer::Setup setup = SmallSetup();
  setup.gaps = true;
  setup.train.gap_steps = 1;
  setup.gap_rows = 80;
  const auto number = [](std::uint64_t update, Index r) {
    return r == 9 ? -1 : 20 + (r * 3 + static_cast<Index>(update)) % 50;
  };
  setup.gap_numbers = [&](std::uint64_t update, std::span<Index> numbers) {
    for (std::size_t r = 0; r < numbers.size(); ++r) numbers[r] = number(update, static_cast<Index>(r));
  };
  ThreadPool pool(1);
  const auto trained = [&](std::uint64_t updates, const TrainState* start) {
    Trainer trainer(setup, ReadWithGaps, pool);
    if (start != nullptr) trainer.Restore(*start);
    while (trainer.updates() < updates) trainer.Update();
    return trainer.State();
  };
  const TrainState first = trained(1, nullptr);
  const auto in_batch = [&](std::uint64_t update, Index row) {
    for (Index r = 0; r < setup.train.batch_size; ++r) {
      if (number(update, r) == row) return true;
    }
    return false;
  };
  Index on = 0;
  for (Index row = 0; row < first.gaps->rows(); ++row) {
    if (!in_batch(0, row)) {
      EXPECT_EQ((*first.gaps)(row, 0), 0u) << "row " << row;
    }
    on += (*first.gaps)(row, 0) != 0 ? 1 : 0;
  }
  EXPECT_GT(on, setup.train.batch_size / 2);
  const TrainState second = trained(2, &first);
  for (const bool used : {false, true}) {
    TrainState other = first;
    for (Index row = 0; row < other.gaps->rows(); ++row) {
      if (in_batch(1, row) == used) (*other.gaps)(row, 0) ^= 15;
    }
    EXPECT_EQ(trained(2, &other).parameters == second.parameters, !used);
  }
}

// Made again, it has the bits of one that was left alone.
TEST(Trainer, AnUpdateStoppedAmidItsChainsLeavesNoTrace) {
  for (const Algorithm algorithm : {Algorithm::kNoiseCd, Algorithm::kPcd}) {
    Trainer::Setup setup = SmallSetup();
    setup.gaps = true;
    setup.train.gap_steps = 1;
    setup.gap_rows = 1;
    setup.gap_numbers = [](std::uint64_t, std::span<Index> numbers) { std::ranges::fill(numbers, 0); };
    setup.train.algorithm = algorithm;
    setup.train.centred = true;
    setup.train.momentum = 0.5;
    ThreadPool pool(2);
    Trainer plain(setup, ReadWithGaps, pool);
    std::atomic<int> steps_left = 1000;
    struct Stopped {};
    setup.hooks.before_step = [&] {
      if (--steps_left < 0) throw Stopped();
    };
    Trainer stopped(setup, ReadWithGaps, pool);
    for (int u = 0; u < 3; ++u) {
      plain.Update();
      stopped.Update();
    }
    const TrainState before = stopped.State();
    steps_left = 2;
    EXPECT_THROW(stopped.Update(), Stopped);
    EXPECT_EQ(stopped.updates(), 3u);
    EXPECT_EQ(stopped.State().parameters, before.parameters);
    EXPECT_EQ(stopped.State().gaps, before.gaps);
    steps_left = 1000;
    plain.Update();
    stopped.Update();
    EXPECT_EQ(stopped.model().parameters(), plain.model().parameters());
  }
}

TEST(Trainer, HookedStepsThatDoAsGibbsTrainAsGibbs) {
  Trainer::Setup setup = SmallSetup();
  setup.sampler.method = Method::kGibbs;
  ThreadPool pool(2);
  Trainer gibbs(setup, ReadBatch, pool);
  setup.hooks.step = [&](const Model& model, Chains& chains, std::uint64_t step) {
    chains.visible = SampleVisible(model, chains.hidden, {Stream(setup.seed, Purpose::kVisible), step, 0}, pool);
    chains.hidden = SampleHidden(model, chains.visible, {Stream(setup.seed, Purpose::kHidden), step, 0}, pool);
  };
  Trainer hooked(setup, ReadBatch, pool);
  for (int u = 0; u < 5; ++u) {
    gibbs.Update();
    hooked.Update();
  }
  for (Index i = 0; i < setup.visible; ++i) {
    for (Index j = 0; j < setup.model.hidden; ++j) {
      EXPECT_NEAR(double{hooked.model().W()(i, j)}, double{gibbs.model().W()(i, j)}, 1e-4);
    }
  }
  setup.hooks.step = [](const Model&, Chains& chains, std::uint64_t) { chains.visible = Matrix(1, 1); };
  Trainer wrong(setup, ReadBatch, pool);
  EXPECT_THAT(ErrorOf([&] { wrong.Update(); }), HasSubstr("hooked step"));
}

}  // namespace
}  // namespace grbm
