// Training with conditions comes to the fit by exact gradients of log p(v | u).
#include "grbm/model/conditions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grbm/model/exact.h"
#include "grbm/train/contrastive.h"
#include "grbm/train/trainer.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ConditionedModel;

// Conditions of which there are few, and rows of each; not of the law N(0, 1) that noise has.
struct Data {
  std::vector<std::vector<float>> conditions;
  std::vector<Matrix> values;  // of each
  Matrix rows;                 // (v, u) of all
};
Data DrawData(const Model& truth) {
  constexpr Index kEach = 25;
  Data data;
  for (const float a : {-1.2f, -0.4f, 0.4f, 1.2f}) {
    for (const float b : {0.5f, 2.5f}) data.conditions.push_back({a, b});
  }
  data.rows = Matrix(kEach * std::ssize(data.conditions), truth.visible() + truth.conditions());
  for (std::size_t k = 0; k < data.conditions.size(); ++k) {
    const auto first = static_cast<Index>(k) * kEach;
    data.values.push_back(
        testing::ExactDraws(GivenConditions(truth, data.conditions[k]), kEach, static_cast<std::uint32_t>(first)));
    Matrix u(kEach, truth.conditions());
    for (Index r = 0; r < kEach; ++r) std::ranges::copy(data.conditions[k], u.row(r).begin());
    CopyRows(WithConditions(data.values.back(), u), data.rows.view().Rows(first, kEach));
  }
  return data;
}

double MeanLogLikelihood(const Model& model, const Data& data) {
  double sum = 0;
  for (std::size_t k = 0; k < data.conditions.size(); ++k) {
    sum += ExactModel(GivenConditions(model, data.conditions[k])).MeanLogLikelihood(data.values[k]);
  }
  return sum / static_cast<double>(data.conditions.size());
}

// The exact gradient of minus the mean of log p(v | u): that in A and B is that in μ and b times u.
Parameters ExactGradientOf(const Model& model, const Data& data) {
  Parameters gradient(model.visible(), model.hidden(), model.conditions());
  const double share = -1 / static_cast<double>(data.conditions.size());
  const auto add = [&](float& to, double value) { to += static_cast<float>(share * value); };
  for (std::size_t c = 0; c < data.conditions.size(); ++c) {
    const std::vector<float>& u = data.conditions[c];
    const ExactGradient g = ExactModel(GivenConditions(model, u)).LogLikelihoodGradient(data.values[c]);
    for (Index i = 0; i < model.visible(); ++i) {
      for (Index j = 0; j < model.hidden(); ++j) add(gradient.W(i, j), g.W(i, j));
      add(gradient.mu[ToSize(i)], g.mu[ToSize(i)]);
      add(gradient.log_var[ToSize(i)], g.log_var[ToSize(i)]);
      for (std::size_t k = 0; k < u.size(); ++k) {
        add(gradient.A(i, static_cast<Index>(k)), g.mu[ToSize(i)] * double{u[k]});
      }
    }
    for (Index j = 0; j < model.hidden(); ++j) {
      add(gradient.b[ToSize(j)], g.b[ToSize(j)]);
      for (std::size_t k = 0; k < u.size(); ++k)
        add(gradient.B(j, static_cast<Index>(k)), g.b[ToSize(j)] * double{u[k]});
    }
  }
  return gradient;
}

Trainer::Setup SetupOf(const SamplerOptions& sampler, const Data& data) {
  Trainer::Setup setup;
  setup.model.hidden = 4;
  setup.sampler = sampler;
  setup.train.batch_size = data.rows.rows();
  setup.train.epochs = 1500;
  setup.train.learning_rate = 0.1;
  setup.train.learning_rate_schedule = Schedule::kCosine;
  setup.train.hidden = HiddenKind::kProbability;
  setup.train.burn_in = sampler.steps / 2;
  setup.seed = 3;
  setup.visible = 3;
  setup.conditions = 2;
  setup.rows = static_cast<std::uint64_t>(data.rows.rows());
  return setup;
}

double ExactFit(const Trainer::Setup& setup, const Data& data) {
  Model model = Model::Initial(setup.visible, setup.model.hidden, setup.seed, 1, Model::kDefaultVarianceFloor, 0,
                               setup.conditions);
  Optimizer optimizer(setup.train, setup.visible, setup.model.hidden, {}, setup.conditions);
  ThreadPool pool(1);
  const int updates = 1500;
  for (int u = 0; u < updates; ++u) {
    Parameters gradient = ExactGradientOf(model, data);
    const double decay = 0.5 * (1 + std::cos(M_PI * u / updates));
    optimizer.Step(model.parameters(), setup.train.learning_rate * decay, gradient, pool);
    model = Model(std::move(gradient));
  }
  return MeanLogLikelihood(model, data);
}

Model Train(const Trainer::Setup& setup, const Data& data) {
  ThreadPool pool(1);
  Trainer trainer(
      setup, [&](std::uint64_t, MutableMatrix out) { CopyRows(data.rows, out); }, pool);
  while (!trainer.done()) trainer.Update();
  return trainer.model();
}

// What an update may do beside: rows with gaps, chains that cool, both with noise in the data.
struct Update {
  const char* name;
  bool gaps = false;
  double start_temperature = 1;
};
void PrintTo(const Update& update, std::ostream* out) { *out << update.name; }

// Values taken out at random, half of them.
Data WithGaps(Data data) {
  testing::Dice dice(7);
  const Index each = data.values.front().rows();
  for (std::size_t k = 0; k < data.values.size(); ++k) {
    for (Index r = 0; r < each; ++r) {
      for (Index i = 0; i < data.values[k].cols(); ++i) {
        if (!dice.Coin()) continue;
        data.values[k](r, i) = data.rows(static_cast<Index>(k) * each + r, i) = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
  return data;
}

// The mean of 300 estimates is the gradient of -log p(known values | u): of 36 parameters each is off by more than 6 standard
// errors once in 5 × 10⁸.
class ConditionGradientMean : public ::testing::TestWithParam<Update> {};
INSTANTIATE_TEST_SUITE_P(Updates, ConditionGradientMean,
                         ::testing::Values(Update{"plain"}, Update{"gaps", true}, Update{"cooling", false, 4},
                                           Update{"gaps_cooling", true, 4}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(ConditionGradientMean, IsRight) {
  const Model model = ConditionedModel(3, 2, 4, 51, 0.5);
  Data data = DrawData(ConditionedModel(3, 2, 4, 52, 0.5));
  if (GetParam().gaps) data = WithGaps(data);
  const std::vector<double> exact = testing::Values(ExactGradientOf(model, data));
  ThreadPool pool(1);
  Matrix states = data.rows;
  TakeShift(model, states, pool);
  const Model units = WithConditionUnits(model);
  TrainOptions train;
  train.gap_steps = 40;
  train.burn_in = 50;
  train.start_temperature = GetParam().start_temperature;
  Contrastive contrastive(train, 5, pool);
  const SamplerOptions sampler = testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 60);
  testing::MeanVector estimate;
  for (int run = 0; run < testing::Repeats(300); ++run) {
    const Parameters of_units = contrastive.Gradient(units, sampler, states, static_cast<std::uint64_t>(run));
    estimate.Add(testing::Values(GradientGivenConditions(model, of_units, contrastive.shift_gradient(), pool)));
  }
  for (std::size_t k = 0; k < exact.size(); ++k) {
    EXPECT_LT(std::abs(estimate.mean(k) - exact[k]), 6 * estimate.error(k)) << "parameter " << k;
  }
}

// With every sampler that has a law: within 0.05 nats of the fit by exact gradients, which is far above one that knows no
// conditions.
class ConditionLearning : public ::testing::TestWithParam<testing::SamplerCase> {};

TEST_P(ConditionLearning, ComesCloseToTheExactFit) {
  const Data data = DrawData(ConditionedModel(3, 2, 4, 40, 1.0));
  const Trainer::Setup setup = SetupOf(GetParam().sampler, data);
  const double exact = ExactFit(setup, data);
  const double learned = MeanLogLikelihood(Train(setup, data), data);
  EXPECT_NEAR(learned, exact, 0.05);

  Trainer::Setup without = setup;
  without.train.rate[4] = without.train.rate[5] = 0;  // A and B stay 0
  without.train.epochs = 300;
  const Model plain = Train(without, data);
  EXPECT_EQ(plain.A()(0, 0), 0);
  EXPECT_EQ(plain.B()(0, 0), 0);
  EXPECT_LT(MeanLogLikelihood(plain, data), exact - 0.3);
}

INSTANTIATE_TEST_SUITE_P(Samplers, ConditionLearning, ::testing::ValuesIn(testing::SamplersWithALaw()),
                         [](const auto& test) { return test.param.name; });

// The same with what else changes the steps: the centred gradient, expected visible units and noise.
TEST(ConditionTraining, ComesCloseWithTheCentredGradientAndExpectedUnits) {
  const Data data = DrawData(ConditionedModel(3, 2, 4, 40, 1.0));
  Trainer::Setup setup = SetupOf(testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 60), data);
  const double exact = ExactFit(setup, data);
  setup.train.centred = true;
  setup.train.visible = VisibleKind::kMean;
  EXPECT_NEAR(MeanLogLikelihood(Train(setup, data), data), exact, 0.05);
}

}  // namespace
}  // namespace grbm
