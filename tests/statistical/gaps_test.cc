// Missing values against exact answers: what is drawn for them, the gradient in expectation, and what is learned. Compared
// are 7 × 12 means of draws and 8 × 23 + 34 of gradients, each off by more than 6 standard errors with probability 2e-9: any of
// them with less than 1e-6.
#include "train/gaps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grbm/train/contrastive.h"
#include "support/fit.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ExactDraws;
using testing::LearningOptions;
using testing::MeanVector;
using testing::RandomModel;
using Setting = testing::GradientCase;

constexpr double kBound = 6;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Rows of the model with values taken out at random, a share of them; every row keeps one.
Matrix RowsWithGaps(const Model& truth, Index rows, double share, std::uint64_t seed) {
  testing::Dice dice(seed);
  Matrix data = ExactDraws(truth, rows);
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < data.cols(); ++i) {
      if (i != r % data.cols() && dice.Uniform(0, 1) < share) data(r, i) = kMissing;
    }
  }
  return data;
}

// p(h | known units) of a model, and what is expected of units that are missing, from the definition.
struct Conditional {
  std::vector<double> mean;      // E[v]
  std::vector<double> variance;  // Var v
};
Conditional Given(const Model& model, std::span<const double> v) {
  const auto states = std::size_t{1} << model.hidden();
  const std::size_t visible = v.size();
  Conditional c{std::vector<double>(visible), std::vector<double>(visible)};
  std::vector<double> second(visible);
  double total = 0;
  for (std::size_t state = 0; state < states; ++state) {
    std::vector<double> m(visible);
    double log_weight = 0;
    for (std::size_t j = 0; j < model.b().size(); ++j) log_weight += (state >> j & 1) != 0 ? double{model.b()[j]} : 0.0;
    for (std::size_t i = 0; i < visible; ++i) {
      const double mu = model.mu()[i];
      const double variance = model.variance()[i];
      m[i] = mu;
      for (Index j = 0; j < model.hidden(); ++j) {
        m[i] += (state >> j & 1) != 0 ? double{model.W()(static_cast<Index>(i), j)} : 0.0;
      }
      log_weight += std::isnan(v[i]) ? (m[i] * m[i] - mu * mu) / (2 * variance) : v[i] * (m[i] - mu) / variance;
    }
    const double weight = std::exp(log_weight);
    total += weight;
    for (std::size_t i = 0; i < visible; ++i) {
      c.mean[i] += weight * m[i];
      second[i] += weight * (m[i] * m[i] + double{model.variance()[i]});
    }
  }
  for (std::size_t i = 0; i < visible; ++i) {
    c.mean[i] /= total;
    c.variance[i] = second[i] / total - c.mean[i] * c.mean[i];
  }
  return c;
}

struct Case {
  const char* name;
  double temperature;
  double noise;
  // From where it was left: of data without noise a step an update, and every 40th is looked at. Otherwise 40, for what is
  // known is another with each noise.
  bool last = false;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class FilledGaps : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Laws, FilledGaps,
                         ::testing::Values(Case{"plain", 1, 0}, Case{"hot", 3, 0}, Case{"noise", 1, 0.3},
                                           Case{"hot_noise", 3, 0.3}, Case{"last", 1, 0, true},
                                           Case{"hot_last", 3, 0, true}, Case{"last_noise", 1, 0.3, true}),
                         [](const ::testing::TestParamInfo<Case>& test) { return std::string(test.param.name); });

// Draws of missing values have the mean and the variance that the known values of the same row leave them. With noise in
// the data it is the noisy values that are known, and a draw is of a value without noise.
TEST_P(FilledGaps, HaveTheExactConditionalLaw) {
  const Case& c = GetParam();
  const Model model = RandomModel(3, 4, 61, 0.8);
  const Model law = model.Tempered(c.temperature);
  const Matrix data = RowsWithGaps(model, 200, 0.5, 62);
  constexpr int kSteps = 40;
  const bool single = c.last && c.noise == 0;
  const GapOptions options{.steps = single ? 1 : kSteps, .noise = c.noise, .seed = 9};
  BitMatrix hidden(data.rows(), model.hidden());
  ThreadPool pool(1);
  Engine engine(pool);
  // Of each unit: value, value², value times the noise of the next unit, and known values that were changed.
  MeanVector deviations;
  const int updates = testing::Repeats(100) * (single ? kSteps : 1);
  for (int update = 0; update < updates; ++update) {
    const auto number = static_cast<std::uint64_t>(update);
    const Matrix filled = FillGaps(engine, model, {Law::Kind::kJoint, c.temperature}, data, 0, options, number,
                                   c.last ? &hidden : nullptr);
    if (single && (update + 1) % kSteps != 0) continue;
    const Stream noise(9, Purpose::kNoise);
    for (Index r = 0; r < data.rows(); ++r) {
      std::vector<double> known(3);
      for (Index i = 0; i < 3; ++i) {
        known[static_cast<std::size_t>(i)] =
            double{data(r, i)} + std::sqrt(c.noise) * double{noise.Normal(number, static_cast<std::uint32_t>(r), i)};
      }
      const Conditional expected = Given(law, known);
      std::vector<double> row;
      for (Index i = 0; i < 3; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool missing = std::isnan(data(r, i));
        const double d = missing ? double{filled(r, i)} - expected.mean[at] : 0;
        row.push_back(d);
        row.push_back(missing ? d * d - (expected.variance[at] - c.noise) : 0);
        const Index next = (i + 1) % 3;
        row.push_back(std::isnan(data(r, next)) ? 0
                                                : d * (known[static_cast<std::size_t>(next)] - double{data(r, next)}));
        row.push_back(missing || filled(r, i) == data(r, i) ? 0 : 1);
      }
      deviations.Add(row);
    }
  }
  for (std::size_t k = 0; k < deviations.size(); ++k) {
    EXPECT_LE(std::abs(deviations.mean(k)), kBound * deviations.error(k)) << "mean " << k;
  }
}

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  for (const testing::SamplerCase& c : testing::SamplersWithALaw()) {
    settings.push_back(
        {c.name, c.sampler, c.sampler.method == Method::kLangevin ? HiddenKind::kProbability : HiddenKind::kSample});
  }
  const SamplerOptions gibbs = testing::SamplersWithALaw().front().sampler;
  settings.push_back({"gibbs_probability", gibbs, HiddenKind::kProbability});
  settings.push_back({"gibbs_mean", gibbs, HiddenKind::kProbability, VisibleKind::kMean});
  return settings;
}

class GapGradient : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Samplers, GapGradient, ::testing::ValuesIn(Settings()),
                         [](const ::testing::TestParamInfo<Setting>& test) { return test.param.name; });

// The mean of 300 estimates is the gradient of the negative log-likelihood of what is known.
TEST_P(GapGradient, IsRightInExpectation) {
  const Model model = RandomModel(3, 4, 41, 0.5);
  const Matrix data = RowsWithGaps(RandomModel(3, 4, 42, 0.5), 64, 0.5, 63);
  const std::vector<double> exact = testing::Values(ExactModel(model).LogLikelihoodGradient(data));
  TrainOptions train;
  train.hidden = GetParam().hidden;
  train.visible = GetParam().visible;
  train.burn_in = GetParam().sampler.steps - 10;
  train.gap_steps = 40;
  ThreadPool pool(1);
  Contrastive contrastive(train, 5, pool);
  MeanVector estimate;
  Parameters g;
  for (int run = 0; run < testing::Repeats(300); ++run) {
    g = contrastive.Gradient(model, GetParam().sampler, data, static_cast<std::uint64_t>(run), std::move(g));
    estimate.Add(testing::Values(g));
  }
  for (std::size_t k = 0; k < exact.size(); ++k) {
    EXPECT_LT(std::abs(estimate.mean(k) + exact[k]), kBound * estimate.error(k)) << "parameter " << k;
  }
}

// Rows whose class is known, and of whose values half are missing: the gradient of −log p(o, y).
TEST(Gaps, TheGradientWithLabelsIsRightInExpectation) {
  const Model model = testing::LabelledModel(3, 3, 4, 44, 0.5);
  const Matrix labelled = ExactDraws(testing::LabelledModel(3, 3, 4, 45, 0.5), 64);
  Matrix data = labelled;
  testing::Dice dice(66);
  for (Index r = 0; r < data.rows(); ++r) {
    for (Index i = 0; i < 3; ++i) {
      if (dice.Coin()) data(r, i) = kMissing;
    }
  }
  std::vector<double> exact = testing::Values(ExactModel(model).LogLikelihoodGradient(data));
  TrainOptions train;
  train.burn_in = 30;
  train.gap_steps = 40;
  ThreadPool pool(1);
  Contrastive contrastive(train, 5, pool);
  const SamplerOptions sampler = LearningOptions(Method::kGibbs, Adjust::kNone, 1, 40);
  MeanVector estimate;
  for (int run = 0; run < testing::Repeats(300); ++run) {
    estimate.Add(testing::Values(contrastive.Gradient(model, sampler, data, static_cast<std::uint64_t>(run))));
  }
  for (std::size_t k = 0; k + 3 < exact.size(); ++k) {  // the last are variances of labels, no parameters
    EXPECT_LT(std::abs(estimate.mean(k) + exact[k]), kBound * estimate.error(k)) << "parameter " << k;
  }
}

// With noise, less noise in the gradient leaves its mean as it is.
TEST(Gaps, TheMeanOfVisibleUnitsIsTheSameWithNoise) {
  const Model model = RandomModel(3, 4, 41, 0.5);
  const Matrix data = RowsWithGaps(RandomModel(3, 4, 42, 0.5), 64, 0.5, 63);
  const auto estimate = [&](VisibleKind visible, std::uint64_t seed) {
    TrainOptions train;
    train.hidden = HiddenKind::kProbability;
    train.visible = visible;
    ThreadPool pool(1);
    Contrastive contrastive(train, seed, pool, 0.3);
    MeanVector mean;
    for (int run = 0; run < testing::Repeats(2000); ++run) {
      mean.Add(testing::Values(contrastive.Gradient(model, LearningOptions(Method::kGibbs, Adjust::kNone, 1, 4), data,
                                                    static_cast<std::uint64_t>(run))));
    }
    return mean;
  };
  const MeanVector drawn = estimate(VisibleKind::kSample, 1);
  const MeanVector expected = estimate(VisibleKind::kMean, 2);
  for (std::size_t k = 0; k < drawn.size(); ++k) {
    EXPECT_LT(std::abs(drawn.mean(k) - expected.mean(k)), kBound * std::hypot(drawn.error(k), expected.error(k)))
        << "parameter " << k;
  }
}

// Half of the values are missing, and `gap_steps` is as it comes.
TEST(Gaps, TheLikelihoodOfWhatIsKnownIsThatOfTheExactFit) {
  const Matrix data = RowsWithGaps(RandomModel(3, 4, 43, 1.0), 200, 0.5, 64);
  Trainer::Setup setup = testing::LearningSetup(LearningOptions(Method::kGibbs, Adjust::kNone, 1, 40));
  setup.gaps = true;
  const double exact = testing::ExactFit(setup, data);
  const double learned = testing::Train(setup, data);
  RecordProperty("shortfall", std::to_string(exact - learned));
  EXPECT_GT(learned, exact - 0.05);
}

// One step an update will do where it goes on from the last one of the same row, though batches have the rows in another order
// each time; from noise it will not.
TEST(Gaps, OneStepFromTheLastIsEnough) {
  const Matrix data = RowsWithGaps(RandomModel(3, 4, 43, 1.5), 200, 0.5, 64);
  Trainer::Setup setup = testing::LearningSetup(LearningOptions(Method::kGibbs, Adjust::kNone, 1, 40));
  setup.gaps = true;
  setup.train.gap_steps = 1;
  const double exact = testing::ExactFit(setup, data);
  const auto number = [&](std::uint64_t update, Index r) {
    return (r * 7 + static_cast<Index>(update % 200)) % data.rows();
  };
  setup.gap_rows = data.rows();
  setup.gap_numbers = [&](std::uint64_t update, std::span<Index> numbers) {
    for (std::size_t r = 0; r < numbers.size(); ++r) numbers[r] = number(update, static_cast<Index>(r));
  };
  const auto shortfall = [&] {
    ThreadPool pool(1);
    Trainer trainer(
        setup,
        [&](std::uint64_t update, MutableMatrix out) {
          for (Index r = 0; r < out.rows(); ++r) {
            CopyRows(data.view().Rows(number(update, r), 1), out.Rows(r, 1));
          }
        },
        pool);
    while (!trainer.done()) trainer.Update();
    return exact - ExactModel(trainer.model()).MeanLogLikelihood(data);
  };
  const double last = shortfall();
  setup.train.gap_start = GapStart::kNoise;
  const double noise = shortfall();
  RecordProperty("shortfall", std::to_string(last));
  RecordProperty("from_noise", std::to_string(noise));
  EXPECT_LT(last, 0.01);
  EXPECT_GT(noise, 0.05);
}

}  // namespace
}  // namespace grbm
