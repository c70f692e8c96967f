// Training with labels: what one gradient is of, and the data that it comes from.
#include "grbm/model/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/train/contrastive.h"
#include "grbm/train/data_trainer.h"
#include "support/errors.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ErrorOf;
using testing::LabelledModel;

Matrix LabelledRows(const Model& model, Index rows) {
  Matrix data = WithRoomForLabels(model, testing::RandomVisible(rows, model.gaussian_units(), 4));
  for (Index r = 0; r < rows; ++r) SetLabel(model, data.row(r), r % model.label_units());
  return data;
}

TrainOptions Probabilities(double discriminative = 0) {
  TrainOptions train;
  train.hidden = HiddenKind::kProbability;
  train.algorithm = Algorithm::kPcd;
  train.restart_fraction = 0;
  train.discriminative = discriminative;
  return train;
}

// The mean of -log p(y | v), in double.
double LabelLoss(const Model& model, ConstMatrix data) {
  double sum = 0;
  for (Index r = 0; r < data.rows(); ++r) {
    std::vector<double> logs;
    std::vector<double> state = testing::Doubles(data.row(r));
    for (Index k = 0; k < model.label_units(); ++k) {
      for (Index i = 0; i < model.label_units(); ++i) {
        state[static_cast<std::size_t>(model.gaussian_units() + i)] = i == k ? 1 : 0;
      }
      logs.push_back(-MarginalEnergy(model, state));
    }
    NormalizeLogs(logs);
    sum -= logs[static_cast<std::size_t>(LabelOf(model, data.row(r)))];
  }
  return sum / static_cast<double>(data.rows());
}

// What the term adds to the gradient of one batch, with the same chains, against central differences: of a small model, and
// of one whose batch is several pieces.
TEST(Discriminative, TheTermIsTheGradientOfMinusLogPOfTheLabel) {
  for (const auto& [gaussian, hidden, rows] : {std::tuple<Index, Index, Index>{3, 4, 120}, {20, 1500, 80}}) {
    const Model model = LabelledModel(gaussian, 3, hidden, 21, hidden > 100 ? 0.05 : 1.0);
    const Matrix data = LabelledRows(model, rows);
    ThreadPool pool(2);
    SamplerOptions sampler = testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 2);
    const auto gradient = [&](double weight) {
      return testing::Values(Contrastive(Probabilities(weight), 5, pool).Gradient(model, sampler, data, 0));
    };
    const std::vector<double> without = gradient(0);
    const std::vector<double> with = gradient(2);
    const std::size_t stride = hidden > 100 ? 997 : 1;  // every parameter, or one of some
    for (std::size_t at = 0; at < with.size(); at += stride) {
      const auto loss = [&](float step) {
        auto [p, value] = testing::Moved(model, at, step);
        return std::pair(LabelLoss(Model(std::move(p), model.variance_floor(), 3), data), value);
      };
      const std::size_t labels = with.size() - 3;
      if (at >= labels) {
        EXPECT_EQ(with[at], 0) << "a label's variance";
        continue;
      }
      const auto [high, right] = loss(1e-2f);
      const auto [low, left] = loss(-1e-2f);
      EXPECT_NEAR(with[at] - without[at], 2 * (high - low) / (right - left), 2e-4) << at;
    }
  }
}

// From chains of the exact law, one step: the gradient in U and c is the exact one, within 6.3 standard errors (of E[y h] =
// m it is √(m (1 - m)/rows) at most): 30 comparisons in each of 6 cases, wrong once in 2e7.
class LabelGradient : public ::testing::TestWithParam<testing::SamplerCase> {};

TEST_P(LabelGradient, IsRightInExpectation) {
  const Model model = LabelledModel(3, 3, 4, 9, 0.8);
  const Matrix data = LabelledRows(model, 20000);
  const ExactModel exact(model);
  const ExactGradient expected = exact.LogLikelihoodGradient(data);
  const ExactMoments moments = exact.Moments();
  ThreadPool pool(2);
  for (const VisibleKind visible : {VisibleKind::kSample, VisibleKind::kMean}) {
    if (visible == VisibleKind::kMean && GetParam().sampler.adjust != Adjust::kNone) continue;
    TrainOptions train = Probabilities();
    train.visible = visible;
    Contrastive contrastive(train, 5, pool);
    Chains chains{0, Matrix(20000, 6), BitMatrix(20000, 4)};
    exact.Sample(8, 0, chains.visible, chains.hidden);
    contrastive.set_chains(std::move(chains));
    SamplerOptions one = GetParam().sampler;
    one.steps = 1;
    const Parameters gradient = contrastive.Gradient(model, one, data, 0);
    for (Index k = 3; k < 6; ++k) {
      const auto unit = static_cast<std::size_t>(k);
      const auto error = [](double m) { return 6.3 * std::sqrt(m * (1 - m) / 20000); };
      EXPECT_NEAR(double{gradient.mu[unit]}, -expected.mu[unit], error(moments.v[unit])) << k;
      EXPECT_EQ(gradient.log_var[unit], 0);
      for (Index j = 0; j < 4; ++j) {
        EXPECT_NEAR(double{gradient.W(k, j)}, -expected.W(k, j), error(moments.vh(k, j))) << k << " " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, LabelGradient, ::testing::ValuesIn(testing::SamplersWithALaw()),
                         [](const auto& test) { return test.param.name; });

// The noise of data leaves labels as they are: expected units have the slopes of Gaussian units alone.
TEST(Labels, NoiseOfTheDataIsNotOnThem) {
  const Model model = LabelledModel(3, 3, 4, 9, 0.8);
  const Matrix data = LabelledRows(model, 60);
  ThreadPool pool(1);
  TrainOptions train = Probabilities();
  train.visible = VisibleKind::kMean;
  Contrastive contrastive(train, 5, pool, 0.5);
  contrastive.Gradient(model, testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 2), data, 0);
  for (std::size_t k = 3; k < 6; ++k) EXPECT_NEAR(contrastive.data_means().visible[k], 1 / 3.0, 1e-6);
  const std::optional<Chains> chains = contrastive.chains();
  for (Index r = 0; r < chains->count(); ++r) {
    float sum = 0;
    for (Index k = 3; k < 6; ++k) {
      EXPECT_TRUE(chains->visible(r, k) == 0 || chains->visible(r, k) == 1);
      sum += chains->visible(r, k);
    }
    EXPECT_EQ(sum, 1);
  }
}

Dataset Data(std::vector<int> labels, std::vector<std::string> names = {}) {
  Dataset data(testing::RandomVisible(6, 3, 8), {}, "table", std::move(labels));
  return names.empty() ? data : data.WithNames({{}, std::move(names), {}});
}

Config LabelConfig() {
  Config config;
  config.model.hidden = 4;
  config.model.labels = true;
  config.sampler.steps = 2;
  config.train.batch_size = 6;
  return config;
}

TEST(DataTrainer, AModelWithLabelsKnowsItsClasses) {
  ThreadPool pool(1);
  DataTrainer trainer(LabelConfig(), Data({7, 3, 3, 7, 9, 3}), 1, pool);
  EXPECT_EQ(trainer.trainer().model().visible(), 6);
  EXPECT_EQ(trainer.trainer().model().label_units(), 3);
  trainer.trainer().Update();
  EXPECT_EQ(trainer.File().classes, (std::vector<std::string>{"3", "7", "9"}));
  EXPECT_EQ(trainer.File().model.log_var()[5], 0);
  const DataTrainer named(LabelConfig(), Data({1, 0, 0, 1, 0, 1}, {"ant", "bee"}), 1, pool);
  EXPECT_EQ(named.File().classes, (std::vector<std::string>{"ant", "bee"}));
  // Those of a model to start from must be the same.
  EXPECT_EQ(ErrorOf([&] {
              DataTrainer(LabelConfig(), Data({7, 3, 3, 7, 9, 3}), 1, pool, {}, {}, named.File());
            }),
            "table: 3 classes, but the model to start from has 2: they must be the same, with the same names: see "
            "model.labels");
}

TEST(DataTrainer, ClassesAreThoseOfTheStatisticsWhateverTheRowsHave) {
  ThreadPool pool(1);
  const DataTrainer first(LabelConfig(), Data({7, 3, 3, 7, 9, 3}), 1, pool);
  DataTrainer piece(LabelConfig(), Data({9, 9, 9, 9, 9, 9}), 1, pool, {}, first.statistics());
  EXPECT_EQ(piece.File().classes, (std::vector<std::string>{"3", "7", "9"}));
  // The rows' class is the third, as it was in the first rows: its bias alone grows.
  piece.trainer().Update();
  const std::span<const float> bias = piece.trainer().model().mu().last(3);
  EXPECT_GT(bias[2], 0);
  EXPECT_LE(bias[0], 0);
  EXPECT_LE(bias[1], 0);
  EXPECT_THAT(ErrorOf([&] {
                DataTrainer(LabelConfig(), Data({8, 9, 9, 9, 9, 9}), 1, pool, {}, first.statistics());
              }),
              ::testing::HasSubstr("is of class '8': the model knows 3, 7, 9"));
  EXPECT_THAT(ErrorOf([&] { DataTrainer(LabelConfig(), Data({}), 1, pool, {}, first.statistics()); }),
              ::testing::HasSubstr("no labels"));
}

// Of 100 chains, to within one at each end of a class.
TEST(DataTrainer, ChainsThatKeepTheirClassHaveItsShareOfTheWeights) {
  Config config = LabelConfig();
  config.train.keep_labels = true;
  config.train.algorithm = Algorithm::kPcd;
  config.train.batch_size = 100;
  ThreadPool pool(1);
  const auto counts = [&](const Dataset& data) {
    DataTrainer trainer(config, data, 1, pool);
    trainer.trainer().Update();
    const Chains chains = trainer.trainer().State().chains.value();
    std::vector<double> of_class(3);
    for (Index r = 0; r < chains.count(); ++r) {
      ++of_class[static_cast<std::size_t>(LabelOf(trainer.trainer().model(), chains.visible.row(r)))];
    }
    return of_class;
  };
  const Dataset data = Data({7, 3, 3, 7, 9, 3});
  const auto near = [](double count) { return ::testing::DoubleNear(count, 1); };
  EXPECT_THAT(counts(data), ::testing::ElementsAre(near(50), near(33.3), near(16.7)));
  EXPECT_THAT(counts(data.WithWeights({1, 0, 1, 1, 6, 1})), ::testing::ElementsAre(near(20), near(20), near(60)));
}

TEST(DataTrainer, LabelsThatCannotBeAreRefused) {
  ThreadPool pool(1);
  const auto refused = [&](const Dataset& data, const Config& config) {
    return ErrorOf([&] { DataTrainer(config, data, 1, pool); });
  };
  EXPECT_EQ(refused(Data({}), LabelConfig()),
            "table: no labels: name the column or array that holds them (data.label)");
  EXPECT_EQ(refused(Data({4, 4, 4, 4, 4, 4}), LabelConfig()), "table: all rows are of one class: two are needed");
  EXPECT_EQ(refused(Data({1, 0, 0, 1, 0, 1}, {"ant", "ant"}), LabelConfig()),
            "table: two classes are called 'ant': each needs a name of its own");
  Config config = LabelConfig();
  config.train.discriminative = 1;
  EXPECT_EQ(
      refused(Data({1, 0, 0, 1, 0, 1}), config),
      "train: discriminative = 1: it is known with train.hidden = \"probability\": set it, or discriminative = 0");
  config.train.hidden = HiddenKind::kProbability;
  config.sampler.temperature = 2;
  EXPECT_EQ(refused(Data({1, 0, 0, 1, 0, 1}), config),
            "train: discriminative = 1: it is known with sampler.temperature = 1: set it, or discriminative = 0");
  config.model.labels = false;
  EXPECT_EQ(refused(Data({1, 0, 0, 1, 0, 1}), config),
            "train: discriminative = 1: it is known with model.labels = true: set it, or discriminative = 0");
}

}  // namespace
}  // namespace grbm
