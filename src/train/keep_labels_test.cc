// Chains that keep their class in training: each class is learned on its own, and how often it comes from its share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/labels.h"
#include "grbm/train/contrastive.h"
#include "grbm/train/trainer.h"
#include "support/errors.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ErrorOf;
using testing::LabelledModel;

// Not those of any model here.
const std::vector<double> kShares = {0.5, 0.3, 0.2};

TrainOptions Kept(HiddenKind hidden, VisibleKind visible, double restart_fraction = 0) {
  TrainOptions train;
  train.hidden = hidden;
  train.visible = visible;
  train.algorithm = Algorithm::kPcd;
  train.restart_fraction = restart_fraction;
  train.keep_labels = true;
  return train;
}

Index LabelOfRow(Index row, Index rows) {
  const double place = (static_cast<double>(row) + 0.5) / static_cast<double>(rows);
  return place < 0.5 ? 0 : place < 0.8 ? 1 : 2;
}

// The rows of a class among so many.
std::pair<Index, Index> RowsOfLabel(Index label, Index rows) {
  Index first = 0;
  while (LabelOfRow(first, rows) < label) ++first;
  Index end = first;
  while (end < rows && LabelOfRow(end, rows) == label) ++end;
  return {first, end - first};
}

// Rows and hidden states of exp(-E/temperature) given each class, as many of each as it has a share.
Chains DrawsOfClasses(const Model& model, double temperature, Index rows) {
  Chains chains{0, Matrix(rows, model.visible()), BitMatrix(rows, model.hidden())};
  for (Index k = 0; k < model.label_units(); ++k) {
    const auto [first, count] = RowsOfLabel(k, rows);
    Matrix v(count, model.gaussian_units());
    ExactModel(GivenLabel(model, k).Tempered(temperature))
        .Sample(8, static_cast<std::uint32_t>(first), v, chains.hidden.view().Rows(first, count));
    for (Index r = first; r < first + count; ++r) {
      std::ranges::copy(v.row(r - first), chains.visible.row(r).begin());
      SetLabel(model, chains.visible.row(r), k);
    }
  }
  return chains;
}

// The mean over rows of p(y | v), of exp(-E/temperature) or, of the marginal law, exp(-Ẽ/temperature).
std::vector<double> ExpectedLabels(const Model& model, double temperature, ConstMatrix data, bool marginal) {
  const Model law = model.Tempered(marginal ? 1 : temperature);
  std::vector<double> mean(static_cast<std::size_t>(model.label_units()));
  for (Index r = 0; r < data.rows(); ++r) {
    std::vector<double> logs;
    for (Index k = 0; k < model.label_units(); ++k) {
      std::vector<double> state = testing::Doubles(data.row(r));
      for (Index i = 0; i < model.label_units(); ++i) {
        state[static_cast<std::size_t>(model.gaussian_units() + i)] = i == k ? 1 : 0;
      }
      logs.push_back(-MarginalEnergy(law, state) / (marginal ? temperature : 1));
    }
    NormalizeLogs(logs);
    for (std::size_t k = 0; k < logs.size(); ++k) mean[k] += std::exp(logs[k]) / static_cast<double>(data.rows());
  }
  return mean;
}

// From chains of the exact law of each class, one step: in expectation the gradient is that of the mean of -log p(v | y), within
// 6.3 standard errors: 28 comparisons in each of 21 cases, wrong once in 6e6. In the classes' biases it is that of the mean of
// -log p(y | v), but for rounding.
class KeptLabels : public ::testing::TestWithParam<testing::SamplerCase> {};

TEST_P(KeptLabels, TheGradientIsThatOfEachClassOnItsOwn) {
  constexpr Index kRows = 20000;
  const Model model = LabelledModel(3, 3, 4, 9, 0.8);
  Matrix data = WithRoomForLabels(model, testing::RandomVisible(kRows, 3, 4));
  for (Index r = 0; r < kRows; ++r) SetLabel(model, data.row(r), LabelOfRow(r, kRows));
  const bool marginal = GetParam().sampler.method == Method::kLangevin;
  ThreadPool pool(2);
  for (const double temperature : {1.0, 1.5}) {
    const Chains start = DrawsOfClasses(model, temperature, kRows);
    const std::vector<double> expected = ExpectedLabels(model, temperature, data, marginal);
    Matrix W(6, 4);
    std::vector<double> b(4);
    for (Index k = 0; k < 3; ++k) {
      const auto [first, count] = RowsOfLabel(k, kRows);
      const ExactGradient given = ExactModel(GivenLabel(model, k).Tempered(temperature))
                                      .LogLikelihoodGradient(WithoutLabels(model, data.view().Rows(first, count)));
      const double share = static_cast<double>(count) / kRows;
      for (Index j = 0; j < 4; ++j) {
        const double of_class = -share * given.b[static_cast<std::size_t>(j)] / temperature;
        b[static_cast<std::size_t>(j)] += of_class;
        W(3 + k, j) = static_cast<float>(of_class);
        for (Index i = 0; i < 3; ++i) W(i, j) -= static_cast<float>(share * given.W(i, j));
      }
    }
    for (const auto& [hidden, visible] : {std::pair(HiddenKind::kSample, VisibleKind::kSample),
                                          {HiddenKind::kProbability, VisibleKind::kSample},
                                          {HiddenKind::kProbability, VisibleKind::kMean}}) {
      if (visible == VisibleKind::kMean && GetParam().sampler.adjust != Adjust::kNone) continue;
      Contrastive contrastive(Kept(hidden, visible), 5, pool);
      contrastive.set_label_shares(kShares);
      contrastive.set_chains(start);
      SamplerOptions one = GetParam().sampler;
      one.steps = 1;
      one.temperature = temperature;
      const Parameters gradient = contrastive.Gradient(model, one, data, 0);
      const Chains after = contrastive.chains().value();
      for (Index r = 0; r < kRows; ++r) {
        for (Index k = 0; k < 3; ++k) ASSERT_EQ(after.visible(r, 3 + k), k == LabelOfRow(r, kRows) ? 1 : 0);
      }
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(double{gradient.mu[3 + k]}, (expected[k] - kShares[k]) / temperature, 1e-5) << k;
        EXPECT_EQ(gradient.log_var[3 + k], 0);
      }
      if (marginal && temperature != 1) continue;               // the law of Langevin is not that of `start`
      const double error = 6.3 * 0.5 * std::sqrt(2.0 / kRows);  // of data and chains
      for (Index j = 0; j < 4; ++j) {
        EXPECT_NEAR(double{gradient.b[static_cast<std::size_t>(j)]}, b[static_cast<std::size_t>(j)], error) << j;
        for (Index i = 0; i < 6; ++i) {
          EXPECT_NEAR(double{gradient.W(i, j)}, double{W(i, j)}, (i < 3 ? 6 : 1) * error) << i << " " << j;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, KeptLabels, ::testing::ValuesIn(testing::SamplersWithALaw()),
                         [](const auto& test) { return test.param.name; });

// Whatever classes chains have, and however many of their steps count.
TEST(KeptLabelsOf, BiasesOfClassesAreOfTheDataAlone) {
  const Model model = LabelledModel(3, 3, 4, 9, 0.8);
  Matrix data = WithRoomForLabels(model, testing::RandomVisible(300, 3, 4));
  for (Index r = 0; r < 300; ++r) SetLabel(model, data.row(r), 2);
  const std::vector<double> expected = ExpectedLabels(model, 1, data, false);
  TrainOptions train = Kept(HiddenKind::kProbability, VisibleKind::kMean);
  train.burn_in = 1;
  ThreadPool pool(2);
  Contrastive contrastive(train, 5, pool);
  contrastive.set_label_shares(kShares);
  const Parameters gradient =
      contrastive.Gradient(model, testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 4), data, 0);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(double{gradient.mu[3 + k]}, expected[k] - (k == 2 ? 1 : 0), 1e-5) << k;
  }
}

// However often chains begin anew, there are as many of each class as its share says, to within one at each of its ends.
TEST(KeptLabelsOf, ChainsFromNoiseHaveTheSharesOfTheData) {
  const Model model = LabelledModel(3, 3, 4, 9, 0.8);
  Matrix data = WithRoomForLabels(model, testing::RandomVisible(103, 3, 4));
  for (Index r = 0; r < 103; ++r) SetLabel(model, data.row(r), 0);
  ThreadPool pool(1);
  Contrastive contrastive(Kept(HiddenKind::kSample, VisibleKind::kSample, 0.2), 5, pool);
  contrastive.set_label_shares(kShares);
  const SamplerOptions sampler = testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 1);
  int changed = 0;
  for (std::uint64_t update = 0; update < 60; ++update) {
    const std::optional<Chains> before = contrastive.chains();
    if (before) contrastive.set_chains(before);
    contrastive.Gradient(model, sampler, data, update);
    const std::optional<Chains> after = contrastive.chains();
    std::vector<double> counts(3);
    for (Index r = 0; r < 103; ++r) {
      const Index label = LabelOf(model, after->visible.row(r));
      ++counts[static_cast<std::size_t>(label)];
      if (before && LabelOf(model, before->visible.row(r)) != label) ++changed;
    }
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(counts[k], 103 * kShares[k], 2.0) << update;
  }
  EXPECT_GT(changed, 0);   // the chains between two classes are of one and of the other
  EXPECT_LT(changed, 30);  // and no others change
}

// Chains from noise that cool would give way to others, of a class that is likelier.
TEST(KeptLabelsOf, ChainsThatCoolKeepTheirs) {
  const Model model = LabelledModel(3, 3, 4, 9, 2);
  Matrix data = WithRoomForLabels(model, testing::RandomVisible(100, 3, 4));
  for (Index r = 0; r < 100; ++r) SetLabel(model, data.row(r), LabelOfRow(r, 100));
  TrainOptions train = Kept(HiddenKind::kSample, VisibleKind::kSample);
  train.start_temperature = 20;
  train.burn_in = 5;
  ThreadPool pool(1);
  Contrastive contrastive(train, 5, pool);
  contrastive.set_label_shares(kShares);
  const SamplerOptions sampler = testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 10);
  contrastive.Gradient(model, sampler, data, 0);
  std::vector<int> counts(3);
  for (Index r = 0; r < 100; ++r)
    ++counts[static_cast<std::size_t>(LabelOf(model, contrastive.chains()->visible.row(r)))];
  EXPECT_THAT(counts, ::testing::ElementsAre(50, 30, 20));
}

// Batches of 200 rows of three classes with kShares.
Trainer::Setup KeptSetup(Index values, std::int64_t steps, double restart_fraction) {
  Trainer::Setup setup;
  setup.model.hidden = 4;
  setup.sampler = testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, steps);
  setup.train = Kept(HiddenKind::kProbability, VisibleKind::kMean, restart_fraction);
  setup.train.batch_size = 200;
  setup.visible = values + 3;
  setup.rows = 200;
  setup.label_units = 3;
  setup.label_shares = kShares;
  return setup;
}

// Three classes that overlap: a model that learns each on its own has their places and, by the biases of the classes, their
// shares, too.
TEST(KeptLabelsOf, ClassesAreLearnedWithTheirShares) {
  const std::vector<double> centres = {-1, 0.3, 1.2};
  Trainer::Setup setup = KeptSetup(1, 5, 0.02);
  setup.train.epochs = 4000;
  setup.train.learning_rate = 0.02;
  setup.train.optimizer = OptimizerKind::kAdam;
  setup.train.momentum = 0.9;
  ThreadPool pool(1);
  Trainer* self = nullptr;
  Trainer trainer(
      setup,
      [&](std::uint64_t update, MutableMatrix out) {
        const Stream stream(3, Purpose::kBatches);
        for (Index r = 0; r < out.rows(); ++r) {
          const Index label = LabelOfRow(r, out.rows());
          out(r, 0) = static_cast<float>(centres[static_cast<std::size_t>(label)]) +
                      0.7f * stream.Normal(update, static_cast<std::uint32_t>(r), 0);
          SetLabel(self->model(), out.row(r), label);
        }
      },
      pool);
  self = &trainer;
  while (!trainer.done()) trainer.Update(false);
  const Model model = trainer.Result();
  std::vector<double> logs;
  for (Index k = 0; k < 3; ++k) {
    const ExactModel exact(GivenLabel(model, k));
    const ExactMoments moments = exact.Moments();
    EXPECT_NEAR(moments.v[0], centres[static_cast<std::size_t>(k)], 0.1) << k;
    EXPECT_NEAR(std::sqrt(moments.vv(0, 0) - moments.v[0] * moments.v[0]), 0.7, 0.1) << k;
    logs.push_back(exact.log_partition() + double{model.mu()[static_cast<std::size_t>(1 + k)]});
  }
  NormalizeLogs(logs);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(std::exp(logs[k]), kShares[k], 0.05) << k;
}

// Where other parameters hardly move, the biases of classes come from 30 nats off to where each is told as often as it is.
TEST(KeptLabelsOf, BiasesOfClassesKeepUpWhateverTheLearningRate) {
  Trainer::Setup setup = KeptSetup(3, 1, 0.1);
  setup.train.epochs = 300;
  setup.train.learning_rate = 1e-9;
  const Model first = LabelledModel(3, 3, 4, 9, 0.8);
  Parameters start(6, 4);
  for (Index i = 0; i < 6; ++i) std::ranges::copy(first.W().row(i), start.W.row(i).begin());
  std::ranges::copy(first.b(), start.b.begin());
  std::ranges::copy(first.mu(), start.mu.begin());
  start.mu[4] -= 30;
  setup.start = start;
  Matrix data = WithRoomForLabels(first, testing::RandomVisible(200, 3, 4));
  for (Index r = 0; r < 200; ++r) SetLabel(first, data.row(r), LabelOfRow(r, 200));
  ThreadPool pool(1);
  const auto read = [&](std::uint64_t, MutableMatrix out) { CopyRows(data.view(), out); };
  Trainer trainer(setup, read, pool);
  while (!trainer.done()) trainer.Update(false);
  const std::vector<double> expected = ExpectedLabels(trainer.model(), 1, data, false);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(expected[k], kShares[k], 0.001) << k;
  setup.train.rate[Parameters::kMu] = 0;
  Trainer still(setup, read, pool);
  still.Update(false);
  EXPECT_EQ(still.model().mu()[4], start.mu[4]);
}

TEST(KeptLabelsOf, WhatCannotKeepThemIsRefused) {
  ThreadPool pool(1);
  Trainer::Setup setup;
  setup.train.keep_labels = true;
  setup.visible = 3;
  setup.rows = 10;
  EXPECT_EQ(ErrorOf([&] {
              Trainer(
                  setup, [](std::uint64_t, MutableMatrix) {}, pool);
            }),
            "train: keep_labels = true: the model has no labels: allowed is false, or set model.labels=true");
  setup.label_units = 2;
  setup.label_shares = {0.5, 0.5};
  setup.train.algorithm = Algorithm::kPcd;
  setup.train.restart_fraction = 0;
  EXPECT_EQ(ErrorOf([&] {
              Trainer(
                  setup, [](std::uint64_t, MutableMatrix) {}, pool);
            }),
            "train: keep_labels = true: chains that never start anew are never of other classes: set "
            "train.restart_fraction above 0");
  setup.train.centred = true;
  EXPECT_EQ(ErrorOf([&] {
              Trainer(
                  setup, [](std::uint64_t, MutableMatrix) {}, pool);
            }),
            "train: keep_labels = true: the biases of classes are learned apart: set train.centred=false");
  const Model model = LabelledModel(3, 3, 4, 9, 0.8);
  Contrastive contrastive(Kept(HiddenKind::kSample, VisibleKind::kSample), 5, pool, 0,
                          {.step = [](const Model&, Chains&, std::uint64_t) {}});
  contrastive.set_label_shares(kShares);
  Matrix data = WithRoomForLabels(model, testing::RandomVisible(20, 3, 4));
  for (Index r = 0; r < 20; ++r) SetLabel(model, data.row(r), 0);
  EXPECT_EQ(ErrorOf([&] {
              contrastive.Gradient(model, testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 1), data, 0);
            }),
            "train: keep_labels = true: a hooked step draws what it likes: set keep_labels = false");
}

}  // namespace
}  // namespace grbm
