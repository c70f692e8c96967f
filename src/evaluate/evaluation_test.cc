#include "grbm/evaluate/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "grbm/data/mixture.h"
#include "grbm/evaluate/curves.h"
#include "grbm/evaluate/mixture.h"
#include "grbm/evaluate/pseudo.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "support/models.h"
#include "support/thread_ranks.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// v = 4 + u/2 with hardly any noise, u the value before: below 0 after a 0, which lies 10 lower, and so 0 again and again;
// taken as it is drawn, -1 would be followed by 3.5.
TEST(DrawGiven, ZerosBecomeHistoryAsZerosDo) {
  Parameters p(1, 1, 1);
  p.mu[0] = 4;
  p.A(0, 0) = 0.5f;
  p.log_var[0] = -20;
  ModelFile file{Model(std::move(p))};
  file.standardization = file.conditions = {{0}, {1}, {10}};
  file.history = 1;
  file.sampler.method = Method::kGibbs;
  file.sampler.steps = 3;
  Matrix before(2, 1);
  file.conditions.Apply(before);
  ThreadPool pool(1);
  int frames = 0;
  DrawGiven(file, file.sampler, std::move(before), 4, 1, 0, pool, [&](Index, Matrix rows) {
    file.standardization.Invert(rows);
    EXPECT_THAT(rows.values(), ::testing::Each(0));
    ++frames;
  });
  EXPECT_EQ(frames, 4);
}

// A model and data drawn from it: nothing can be better.
EvaluationRequest Perfect(double temperature = 1) {
  ModelFile file{testing::RandomModel(3, 5, 1)};
  file.sampler.method = Method::kGibbs;
  file.sampler.steps = 30;
  file.sampler.temperature = temperature;
  const ExactModel law(file.model.Tempered(temperature));
  const auto draw = [&](std::uint64_t seed) {
    Matrix v(1000, 3);
    BitMatrix h(1000, 5);
    law.Sample(seed, 0, v, h);
    return Dataset(std::move(v), {}, "exact draws");
  };
  EvaluationRequest request{std::move(file), draw(1)};
  request.held_out = draw(2);
  request.samples = 800;
  return request;
}

const Score& Find(const std::vector<MetricScores>& results, const std::string& metric, const std::string& name) {
  for (const MetricScores& m : results) {
    for (const Score& score : m.scores) {
      if (m.name == metric && score.name == name) return score;
    }
  }
  throw std::runtime_error("no score " + metric + "." + name);
}

TEST(Evaluate, TheTrueModelScoresAsHeldOutDataDo) {
  ThreadPool pool(2);
  Evaluation evaluation(Perfect(), pool);
  const auto results = Evaluate(evaluation);
  std::vector<std::string> names;
  for (const MetricScores& m : results) names.push_back(m.name);
  EXPECT_THAT(names, ::testing::ElementsAre("likelihood", "quick", "mixing", "memorisation", "coverage"));
  // Differences of two estimates, 5 standard errors.
  const auto same = [&](const char* metric, const char* a, const char* b) {
    const Estimate x = Find(results, metric, a).estimate;
    const Estimate y = Find(results, metric, b).estimate;
    EXPECT_NEAR(x.value, y.value, 5 * std::hypot(x.error, y.error)) << metric << " " << a;
  };
  same("likelihood", "nats_training", "nats_held_out");
  same("quick", "frechet", "frechet_held_out");
  same("quick", "kernel", "kernel_held_out");
  same("memorisation", "to_training", "to_held_out");
  same("coverage", "precision", "precision_held_out");
  same("coverage", "recall", "recall_held_out");
  same("coverage", "coverage", "coverage_held_out");
  EXPECT_NEAR(Find(results, "memorisation", "nearer_to_training").estimate.value, 0.5, 0.1);
  EXPECT_LT(Find(results, "mixing", "energy_rhat").estimate.value, 1.05);
}

TEST(Evaluate, GivenRowsAreJudgedAsSamplesAre) {
  ThreadPool pool(2);
  EvaluationRequest perfect = Perfect();
  EvaluationRequest request = JudgeRows(*perfect.held_out, perfect.data);
  request.held_out = perfect.held_out;
  Evaluation evaluation(std::move(request), pool);
  EXPECT_EQ(evaluation.samples(), perfect.held_out->ReadAll());
  const auto results = Evaluate(evaluation);
  // The same rows in another order.
  EXPECT_NEAR(Find(results, "quick", "frechet").estimate.value,
              Find(results, "quick", "frechet_held_out").estimate.value, 1e-6);
  EXPECT_THAT(Find(results, "quick", "frechet").note,
              HasSubstr("1000 rows of exact draws, against 1000 of exact draws"));
  for (const MetricScores& m : results) EXPECT_THAT(m.name, ::testing::AnyOf("quick", "memorisation", "coverage"));
  EXPECT_THAT([&] { Evaluate(evaluation, {"likelihood"}); },
              ThrowsMessage<ConfigError>(HasSubstr("likelihood: rows are judged, not a model")));
  const Dataset narrow(Matrix(4, 2), {}, "narrow");
  EXPECT_THAT(
      [&] { Evaluation(JudgeRows(narrow, perfect.data), pool); },
      ThrowsMessage<DataError>(HasSubstr("exact draws: 3 values a row, but narrow has 2: they must be as many")));
}

// Of 28 × 28 pixels, 300 are in the frame of three.
TEST(Evaluate, BackgroundIsTheLitPartOfTheFrame) {
  ThreadPool pool(1);
  std::vector<std::uint8_t> dark(std::size_t{2 * 784});
  std::vector<std::uint8_t> rows = dark;
  rows[0] = rows[2 * 28 + 2] = rows[784 + 27 * 28 + 13] = rows[784 + 25 * 28] = rows[784 + 25] = 6;
  rows[3 * 28 + 3] = rows[784 + 24 * 28 + 24] = 255;  // inside
  rows[1] = 5;                                        // dark
  const ImageShape shape = {28, 28, 1};
  Evaluation evaluation(JudgeRows(Dataset(rows, 784, shape, "rows"), Dataset(dark, 784, shape, "dark")), pool);
  const auto results = Evaluate(evaluation, {"background"});
  EXPECT_NEAR(Find(results, "background", "frame").estimate.value, 2.5 / 300, 1e-12);
  EXPECT_NEAR(Find(results, "background", "frame").estimate.error, 0.5 / 300, 1e-12);
  EXPECT_EQ(Find(results, "background", "frame_training").estimate.value, 0);
}

// exp(-E/τ) is a model itself: its likelihood is that of the tempered model, its samples those of the data.
TEST(Evaluate, OtherTemperaturesAreTheTemperedModel) {
  ThreadPool pool(1);
  Evaluation evaluation(Perfect(2.5), pool);
  const auto results = Evaluate(evaluation, {"likelihood", "quick"});
  EXPECT_EQ(Find(results, "likelihood", "temperature").estimate.value, 2.5);
  const ExactModel exact(evaluation.file().model.Tempered(2.5));
  EXPECT_NEAR(Find(results, "likelihood", "log_partition").estimate.value, exact.log_partition(), 1e-9);
  EXPECT_NEAR(Find(results, "likelihood", "nats_training").estimate.value,
              exact.MeanLogLikelihood(evaluation.request().data.ReadAll()), 1e-4);
  const Estimate distance = Find(results, "quick", "frechet").estimate;
  const Estimate floor = Find(results, "quick", "frechet_held_out").estimate;
  EXPECT_NEAR(distance.value, floor.value, 5 * std::hypot(distance.error, floor.error));
}

// Adjusted Langevin at a temperature, in the plane: its law is exp(-Ẽ/τ), summed here point by point.
EvaluationRequest LangevinInThePlane(double temperature, Index points = 200) {
  ModelFile file{testing::RandomModel(2, 5, 21, 0.6)};
  file.sampler.method = Method::kLangevin;
  file.sampler.adjust = Adjust::kMetropolis;
  file.sampler.temperature = temperature;
  file.sampler.step_scale = StepScale::kUnit;
  file.sampler.step_size = 0.5;
  file.sampler.steps = 5;
  DataOptions data;
  data.source = "gmm-iso";
  data.subset = points;
  ThreadPool pool(1);
  EvaluationRequest request = JudgeModel(std::move(file), data, pool);
  request.samples = 100;
  return request;
}

TEST(Evaluate, AdjustedLangevinIsJudgedByItsOwnLaw) {
  const double temperature = 3;
  const EvaluationRequest request = LangevinInThePlane(temperature);
  const Model& model = request.file.model;
  const auto log_density = [&](double x, double y) {
    return -MarginalEnergy(model, std::vector<double>{x, y}) / temperature;
  };
  double sum = 0;
  const double step = 0.1;
  for (double x = -20; x <= 20; x += step) {
    for (double y = -20; y <= 20; y += step) sum += std::exp(log_density(x, y)) * step * step;
  }
  const double log_z = std::log(sum);
  const Matrix rows = request.data.ReadAll();
  double nats = 0;
  for (Index r = 0; r < rows.rows(); ++r) nats += log_density(double{rows(r, 0)}, double{rows(r, 1)}) - log_z;
  nats /= static_cast<double>(rows.rows());
  ThreadPool pool(1);
  Evaluation evaluation(request, pool);
  const auto results = Evaluate(evaluation, {"likelihood", "mixture"});
  EXPECT_NEAR(Find(results, "likelihood", "log_partition").estimate.value, log_z, 1e-6);
  EXPECT_NEAR(Find(results, "likelihood", "nats_training").estimate.value, nats, 1e-4);
  EXPECT_THAT(Find(results, "likelihood", "temperature").note, HasSubstr("exp(-Ẽ/3)"));
  const double kl = KlDivergence(IsotropicMixture(), [&](double x, double y) { return log_density(x, y) - log_z; });
  EXPECT_NEAR(Find(results, "mixture", "kl_data_model").estimate.value, kl, 1e-6);
  EXPECT_EQ(Find(results, "mixture", "kl_data_model").note, "nats, by quadrature, of exp(-Ẽ/3)");
  // And not by that of exp(-E/τ), which is another one.
  EXPECT_GT(std::abs(Quadrature(model.Tempered(temperature)).log_partition() - log_z), 0.1);
}

// How samples are drawn is not what the model is: another temperature there changes samples, and nothing else.
TEST(Evaluate, GenerationDrawsTheSamplesAndLeavesTheLaw) {
  ThreadPool pool(1);
  for (const double temperature : {1.0, 3.0}) {
    EvaluationRequest request = LangevinInThePlane(temperature);
    Evaluation as_trained(request, pool);
    const auto before = Evaluate(as_trained, {"likelihood", "mixture"});
    request.file.generate.steps = 7;
    request.file.generate.temperature = 50;
    Evaluation evaluation(request, pool);
    const auto after = Evaluate(evaluation, {"likelihood", "mixture"});
    for (const auto& [metric, score] : {std::pair{"likelihood", "log_partition"},
                                        {"likelihood", "nats_training"},
                                        {"likelihood", "nats_held_out"},
                                        {"mixture", "kl_data_model"},
                                        {"mixture", "kl_model_data"}}) {
      EXPECT_EQ(Find(after, metric, score).estimate.value, Find(before, metric, score).estimate.value) << score;
    }
    EXPECT_FALSE(evaluation.samples() == as_trained.samples());
    EXPECT_EQ(evaluation.SamplesText(), "100 samples from noise, 7 steps at temperature 50");
    // They are those of a model file with such a sampler.
    ModelFile same = request.file;
    same.generate = {};
    same.sampler.steps = 7;
    same.sampler.temperature = 50;
    EXPECT_TRUE(DrawShown(request.file, 20, 1, pool) == DrawSamples(same, 20, 1, pool));
    // Of points, means are shown where they are asked for, and never judged.
    request.file.generate.final = Final::kMean;
    EXPECT_FALSE(DrawShown(request.file, 20, 1, pool) == DrawSamples(same, 20, 1, pool));
    EXPECT_TRUE(DrawSamples(request.file, 20, 1, pool) == DrawSamples(same, 20, 1, pool));
    const EvaluateOptions options{.every_steps = 1, .metrics = "gap,pseudo", .samples = 100};
    const Curves curves(options, request.data, request.held_out, {}, 1, pool);
    EXPECT_EQ(curves.Measure(request.file), curves.Measure(as_trained.file()));
  }
}

TEST(Evaluate, WhatIsNotKnownOfALawIsSaid) {
  EvaluationRequest request = Perfect(2.5);
  request.file.sampler.method = Method::kLangevin;
  request.file.sampler.adjust = Adjust::kMetropolis;
  request.file.sampler.step_scale = StepScale::kUnit;
  ThreadPool pool(1);
  Evaluation evaluation(std::move(request), pool);
  EXPECT_THAT([&] { Evaluate(evaluation, {"likelihood"}); },
              ThrowsMessage<ConfigError>(HasSubstr("the chains' law is exp(-Ẽ/2.5)")));
}

// Far pairs of modes and three temperatures: no number for log Z, nor for what depends on it.
TEST(Evaluate, WideBoundsAreGivenAsAnInterval) {
  Parameters p = testing::BalancedModel(8, 22, 3, 1.5).parameters();
  ModelFile file{Model(std::move(p))};
  file.sampler.method = Method::kGibbs;
  EvaluationRequest request{std::move(file), Dataset(testing::RandomVisible(200, 8, 1), {}, "noise")};
  request.temperatures = 3;
  ThreadPool pool(1);
  Evaluation evaluation(std::move(request), pool);
  const auto results = Evaluate(evaluation, {"likelihood"});
  for (const char* name : {"log_partition", "nats_training"}) {
    const Score& score = Find(results, "likelihood", name);
    EXPECT_TRUE(std::isnan(score.estimate.value)) << name;
    EXPECT_LT(score.low, score.high) << name;
  }
  EXPECT_THAT(Find(results, "likelihood", "log_partition").note, HasSubstr("wider than its error bar"));
  EXPECT_THAT(Find(results, "likelihood", "log_partition_upper").note, HasSubstr("have not converged"));
}

// Annealing, the chains it goes back from, and samples.
TEST(Evaluate, RanksFindTheSameNumbers) {
  const auto evaluate = [](Ranks* ranks, int threads) {
    ModelFile file{testing::BalancedModel(8, 22, 3, 1.5)};
    file.sampler.method = Method::kGibbs;
    file.sampler.steps = 5;
    EvaluationRequest request{std::move(file), Dataset(testing::RandomVisible(200, 8, 1), {}, "noise")};
    request.temperatures = 20;
    request.chains = 37;
    request.samples = 101;
    request.ranks = ranks;
    ThreadPool pool(threads);
    Evaluation evaluation(std::move(request), pool);
    return ScoresJson(Evaluate(evaluation, {"likelihood", "quick"}));
  };
  const std::string alone = evaluate(nullptr, 2);
  for (const int count : {1, 2, 3}) {
    testing::OnRanks(count, [&](Ranks& ranks) { EXPECT_EQ(evaluate(&ranks, 1), alone) << count; });
  }
}

TEST(Evaluate, ProgressIsToldAndMistakesAreNamed) {
  ThreadPool pool(1);
  std::vector<std::string> parts;
  Evaluation evaluation(Perfect(), pool, [&](std::string_view part, Index done, Index total) {
    EXPECT_LE(done, total);
    if (done == total) parts.emplace_back(part);
  });
  Evaluate(evaluation, {"mixing", "quick"});
  EXPECT_THAT(parts, ::testing::ElementsAre("samples", "mixing", "steps from noise"));
  EXPECT_THROW(Evaluate(evaluation, {"mixture"}), ConfigError);
  EXPECT_THROW(Evaluate(evaluation, {"nonsense"}), ConfigError);
  EvaluationRequest request = Perfect();
  request.data = Dataset(Matrix(5, 4), {}, "four columns");
  EXPECT_THROW(Evaluation(std::move(request), pool), DataError);
}

// As `grbm evaluate` has it: all of exp(-E/τ).
TEST(Curves, AreOfTheTemperedModel) {
  EvaluationRequest request = Perfect(2.5);
  EvaluateOptions options;
  options.metrics = "gap,pseudo";
  options.samples = 1000;  // all rows
  ThreadPool pool(2);
  const Curves curves(options, request.data, request.held_out, {}, 1, pool);
  const auto values = curves.Measure(request.file);
  const ExactModel exact(request.file.model.Tempered(2.5));
  ASSERT_EQ(values[0].first, "free_energy_gap");
  EXPECT_NEAR(values[0].second,
              exact.MeanLogLikelihood(request.data.ReadAll()) - exact.MeanLogLikelihood(request.held_out->ReadAll()),
              1e-5);
  EXPECT_EQ(values, curves.Measure(ModelFile{exact.model()}));
  EXPECT_NE(values, curves.Measure(ModelFile{request.file.model}));
}

TEST(Curves, OfAdjustedLangevinAreOfItsOwnLaw) {
  const EvaluationRequest request = LangevinInThePlane(3, 100);
  const EvaluateOptions options{.every_steps = 1, .metrics = "gap,pseudo,kl", .samples = 100};
  ThreadPool pool(1);
  const Curves curves(options, request.data, request.held_out, {}, 1, pool);
  const auto values = curves.Measure(request.file);
  const Quadrature law(request.file.model, 3);
  const auto mean = [&](const Matrix& rows) {
    double sum = 0;
    for (Index r = 0; r < rows.rows(); ++r) sum += law.LogDensity(testing::Doubles(rows.row(r)));
    return sum / static_cast<double>(rows.rows());
  };
  EXPECT_NEAR(values[0].second, mean(request.data.ReadAll()) - mean(request.held_out->ReadAll()), 1e-5);
  EXPECT_NEAR(values[2].second,
              PseudoLikelihood({request.file.model, 3}, ReadSome(request.data, 100, 1), 4, 1, pool).value, 1e-9);
  ASSERT_EQ(values[4].first, "kl_data_model");
  EXPECT_NEAR(values[4].second, KlDivergence(IsotropicMixture(), DensityInOwnUnits(law, request.file.standardization)),
              1e-9);
  const EvaluationRequest other = Perfect();
  EXPECT_THROW(Curves(options, other.data, other.held_out, {}, 1, pool), ConfigError);
}

TEST(Curves, AreAFunctionOfTheModelAndSeeABetterOne) {
  const EvaluationRequest perfect = Perfect();
  ThreadPool one(1);
  ThreadPool three(3);
  const EvaluateOptions options{.every_steps = 1, .samples = 300};
  const Curves curves(options, perfect.data, perfect.held_out, {}, 1, one);
  const auto values = curves.Measure(perfect.file);
  EXPECT_EQ(values, Curves(options, perfect.data, perfect.held_out, {}, 1, three).Measure(perfect.file));
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(values[0].first, "quick_distance");
  EXPECT_EQ(values[5].first, "pseudo_likelihood_error");
  ModelFile worse = perfect.file;
  worse.model = Model::Initial(3, 5, 1);
  const auto others = curves.Measure(worse);
  EXPECT_GT(others[0].second, 3 * values[0].second);
  EXPECT_LT(others[4].second, values[4].second);
  EXPECT_EQ(Curves(options, perfect.data, {}, {}, 1, one).Measure(perfect.file).size(), 4u);
}

// A measure that cannot be had is no reason to end a run.
TEST(Curves, WhatCannotBeMeasuredIsNoNumber) {
  EvaluationRequest request = Perfect();
  Parameters extreme = request.file.model.parameters();
  std::ranges::fill(extreme.log_var, -17.6f);
  for (float& w : extreme.W.values()) w = 30;
  request.file.model = Model(std::move(extreme));
  ThreadPool pool(1);
  EXPECT_THROW(PseudoLikelihood({request.file.model}, request.data.Read(0, 20), 2, 1, pool), NumericError);
  EvaluateOptions options;
  options.metrics = "pseudo";
  const auto values = Curves(options, request.data, {}, {}, 1, pool).Measure(request.file);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_TRUE(std::isnan(values[0].second));
}

TEST(Samples, HeldOutDataOfMixturesAreOtherPoints) {
  ThreadPool pool(1);
  DataOptions options;
  options.source = "gmm-iso";
  const Dataset data = LoadDataset(options, pool);
  const std::optional<Dataset> other = LoadHeldOut(options, pool);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->rows(), data.rows());
  EXPECT_NE(other->ReadAll(), data.ReadAll());
  options.source = "/some/file.npy";
  EXPECT_FALSE(LoadHeldOut(options, pool));
}

TEST(Samples, SomeRowsAreDistinctAndAll) {
  Matrix rows(50, 1);
  for (Index r = 0; r < 50; ++r) rows(r, 0) = static_cast<float>(r);
  const Dataset data(std::move(rows), {}, "numbers");
  const auto sorted = [&](Index limit) {
    const Matrix some = ReadSome(data, limit, 1);
    std::vector<float> values(some.values().begin(), some.values().end());
    std::ranges::sort(values);
    return values;
  };
  EXPECT_EQ(sorted(1000).size(), 50u);
  const std::vector<float> ten = sorted(10);
  EXPECT_EQ(ten.size(), 10u);
  EXPECT_EQ(std::ranges::adjacent_find(ten), ten.end());
  EXPECT_GT(ten.back(), 20);
}

}  // namespace
}  // namespace grbm
