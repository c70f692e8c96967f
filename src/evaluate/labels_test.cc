// Scores, couplings and likelihoods of models with labels: their law of v, with the class summed out, by enumeration.
#include "grbm/model/labels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "grbm/evaluate/likelihood.h"
#include "grbm/evaluate/mixing.h"
#include "grbm/evaluate/samples.h"
#include "grbm/evaluate/score.h"
#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Doubles;
using testing::LabelledModel;
using testing::RandomVisible;
using testing::State;

// log Σ_y exp(-Ẽ(v, y)/τ).
double LogWeight(const VisibleLaw& law, std::span<const double> v) {
  std::vector<double> logs;
  for (Index k = 0; k < law.model.label_units(); ++k) {
    logs.push_back(-MarginalEnergy(law.model, State(law.model, v, k)) / law.temperature);
  }
  return NormalizeLogs(logs);
}

TEST(LabelledScore, RowsHaveTheExactLogDensity) {
  const Model model = LabelledModel(3, 4, 5, 1);
  const Matrix v = RandomVisible(12, 3, 2, 2.0);
  ThreadPool pool(2);
  const Standardization units{{1, 2, 3}, {0.5f, 2, 10}};
  const ExactModel exact(model);
  EXPECT_NEAR(*ExactLogPartition({model}), exact.log_partition(), 1e-9);
  const RowScores scores = ScoreRows({model}, units, v, exact.log_partition(), pool);
  ASSERT_EQ(scores[4].first, "log_likelihood");
  const std::vector<double> likelihoods = LogLikelihoods({model}, {}, v, exact.log_partition(), pool);
  for (Index r = 0; r < v.rows(); ++r) {
    const double expected = LogWeight({model}, Doubles(v.row(r))) - exact.log_partition();
    EXPECT_NEAR(scores[4].second[ToSize(r)], expected - std::log(10.0), 1e-4);
    EXPECT_NEAR(likelihoods[ToSize(r)], expected, 1e-4);
    EXPECT_NEAR(scores[0].second[ToSize(r)], scores[1].second[ToSize(r)] + scores[2].second[ToSize(r)], 1e-9);
  }
}

// Samples are those of the model given the class of each.
TEST(Labels, SamplesKeepTheClassThatTheyStartWith) {
  constexpr Index kCount = 60;
  ModelFile file{LabelledModel(4, 3, 8, 1)};
  file.classes = {"a", "b", "c"};
  file.sampler.method = Method::kGibbs;
  file.sampler.steps = 20;
  file.generate.keep_labels = true;
  ThreadPool pool(2);
  const Matrix samples = DrawSamples(file, kCount, 3, pool);
  const Chains start = NoiseChains(file.model, kCount, 3, pool);
  for (Index k = 0; k < 3; ++k) {
    const ModelFile given = file.Given(file.classes[ToSize(k)], "test");
    Chains chains{0, WithoutLabels(file.model, start.visible), start.hidden};
    Sampler(given.model, given.generation(), pool).Run(chains, {.seed = 3});
    for (Index r = 0; r < kCount; ++r) {
      if (LabelOf(file.model, start.visible.row(r)) != k) continue;
      for (Index i = 0; i < 4; ++i) EXPECT_NEAR(samples(r, i), chains.visible(r, i), 1e-3);
    }
  }
}

TEST(Labels, MixingIsThatOfChainsThatDrawTheClass) {
  ModelFile file{LabelledModel(4, 3, 8, 1)};
  file.sampler.method = Method::kGibbs;
  ThreadPool pool(2);
  const Matrix data = RandomVisible(32, 4, 5);
  const Mixing drawn = MeasureMixing(file, data, {.chains = 8, .steps = 40}, pool);
  file.generate.keep_labels = true;
  EXPECT_EQ(MeasureMixing(file, data, {.chains = 8, .steps = 40}, pool).energies, drawn.energies);
}

TEST(Labels, AModelOfOneClassKeepsNone) {
  ModelFile file{LabelledModel(4, 3, 8, 1)};
  file.classes = {"a", "b", "c"};
  file.generate.keep_labels = true;
  EXPECT_FALSE(file.Given("b", "test").generate.keep_labels);
}

// E[h | v] by enumeration of h and y.
TEST(LabelledScore, ReconstructionsAreOfTheMeanOverClasses) {
  const Model model = LabelledModel(2, 3, 4, 3);
  const Matrix rows = RandomVisible(6, 2, 4);
  ThreadPool pool(1);
  const RowScores scores = ScoreRows({model}, {}, rows, {}, pool);
  ASSERT_EQ(scores[3].first, "reconstruction");
  for (Index r = 0; r < rows.rows(); ++r) {
    double total = 0;
    std::vector<double> mean(2);
    for (unsigned state = 0; state < 16; ++state) {
      std::vector<double> h(4);
      for (std::size_t j = 0; j < 4; ++j) h[j] = state >> j & 1;
      for (Index k = 0; k < 3; ++k) {
        const double weight = std::exp(-Energy(model, State(model, Doubles(rows.row(r)), k), h));
        total += weight;
        for (std::size_t i = 0; i < 2; ++i) {
          double m = model.mu()[i];
          for (std::size_t j = 0; j < 4; ++j) m += h[j] * double{model.W().row(static_cast<Index>(i))[j]};
          mean[i] += weight * m;
        }
      }
    }
    double expected = 0;
    for (std::size_t i = 0; i < 2; ++i) expected += std::pow(double{rows.row(r)[i]} - mean[i] / total, 2) / 2;
    EXPECT_NEAR(scores[3].second[ToSize(r)], expected, 1e-4);
  }
}

// Mean and deviation of v_i given the others by the trapezoidal rule over the enumerated density.
TEST(LabelledScore, DeviationsAreThoseOfTheExactConditionalLaw) {
  const Model model = LabelledModel(3, 3, 4, 7, 1.5);
  const Matrix v = RandomVisible(5, 3, 8, 2.0);
  ThreadPool pool(2);
  for (const double temperature : {1.0, 1.7}) {
    const VisibleLaw law{model, temperature};
    const Matrix deviations = ColumnDeviations(law, v, pool);
    for (Index r = 0; r < v.rows(); ++r) {
      for (std::size_t i = 0; i < 3; ++i) {
        std::vector<double> at = Doubles(v.row(r));
        double total = 0, first = 0, second = 0;
        for (double x = -30; x <= 30; x += 0.02) {
          at[i] = x;
          const double weight = std::exp(LogWeight(law, at));
          total += weight;
          first += weight * x;
          second += weight * x * x;
        }
        const double mean = first / total;
        const double expected = (double{v.row(r)[i]} - mean) / std::sqrt(second / total - mean * mean);
        EXPECT_NEAR(deviations.row(r)[i], expected, 2e-4 * (1 + std::abs(expected))) << temperature;
      }
    }
  }
}

TEST(LabelledCouplings, AreTheHessianOfTheEnumeratedLogDensity) {
  const Model model = LabelledModel(3, 3, 5, 9, 1.5);
  const Matrix v = RandomVisible(6, 3, 10);
  ThreadPool pool(2);
  for (const double temperature : {1.0, 2.0}) {
    const VisibleLaw law{model, temperature};
    const EffectiveCouplings couplings = ComputeCouplings(law, v, pool);
    ASSERT_EQ(couplings.precision.rows(), 3);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        const double hessian = testing::MeanHessian(v, i, k, [&](const auto& at) { return LogWeight(law, at); });
        EXPECT_NEAR(couplings.precision(static_cast<Index>(i), static_cast<Index>(k)), -hessian, 2e-4) << temperature;
      }
    }
  }
}

// exp of a weight has the mean Z/Z_base, however short the walk: 20,000 walks, a mean off by more than 6 standard errors once
// in 10⁹.
TEST(LabelledAnnealing, TheMeanWeightIsTheRatioOfPartitionFunctions) {
  const Model model = LabelledModel(3, 4, 4, 11, 0.5);
  const ExactModel exact(model);
  Matrix draws(20000, 7);
  BitMatrix h(20000, 4);
  exact.Sample(3, 0, draws, h);
  const Matrix values = WithoutLabels(model, draws);
  ThreadPool pool(2);
  const AisOptions options{.chains = 20000, .temperatures = 5, .seed = 4};
  const AisResult result = AnnealedImportance(model, FitBase(model, values), draws, options, pool);
  EXPECT_NEAR(result.log_partition.value, exact.log_partition(), 6 * result.log_partition.error);
  EXPECT_LT(result.log_partition.error, 0.02);
  // The way back: at or above, and by as little.
  EXPECT_GT(result.upper.value, exact.log_partition() - 6 * result.upper.error);
  EXPECT_LT(result.upper.value, exact.log_partition() + 0.2);
}

// 21 hidden units are one too many to enumerate; one that does nothing leaves the rest exact.
TEST(LabelledLikelihood, IsAnnealedWhereStatesCannotBeEnumerated) {
  const Model small = LabelledModel(3, 3, 20, 5, 0.3);
  Parameters p(6, 21);
  for (Index i = 0; i < 6; ++i) std::ranges::copy(small.W().row(i), p.W.row(i).begin());
  std::ranges::copy(small.b(), p.b.begin());
  std::ranges::copy(small.mu(), p.mu.begin());
  std::ranges::copy(small.log_var(), p.log_var.begin());
  const Model model(p, small.variance_floor(), 3);
  ThreadPool pool(2);
  const PartitionFunction z =
      ComputePartition({model}, RandomVisible(50, 3, 2), {.chains = 400, .temperatures = 300}, pool);
  EXPECT_EQ(z.method, PartitionMethod::kAnnealing);
  EXPECT_NEAR(z.log_partition.value, ExactModel(small, pool).log_partition() + std::numbers::ln2,
              6 * z.log_partition.error);
  EXPECT_LT(z.log_partition.error, 0.05);
}

// The part of a unit, E[log p(v_i | h) | v], by enumeration of h and y.
TEST(LabelledLikelihood, ThePartOfConstantUnitsIsTheirs) {
  const Model model = LabelledModel(2, 3, 4, 13);
  Matrix rows = RandomVisible(4, 2, 14);
  for (Index r = 0; r < 4; ++r) rows(r, 1) = 0.5f;
  ThreadPool pool(1);
  const DataLikelihood likelihood = MeanLogLikelihood({model}, {}, rows, 0, false, 1, pool);
  ASSERT_EQ(likelihood.degenerate_units, 1);
  double sum = 0;
  for (Index r = 0; r < 4; ++r) {
    double total = 0, part = 0;
    for (unsigned state = 0; state < 16; ++state) {
      std::vector<double> h(4);
      double m = model.mu()[1];
      for (std::size_t j = 0; j < 4; ++j) {
        h[j] = state >> j & 1;
        m += h[j] * double{model.W().row(1)[j]};
      }
      for (Index k = 0; k < 3; ++k) {
        const double weight = std::exp(-Energy(model, State(model, Doubles(rows.row(r)), k), h));
        const double log_var = model.log_var()[1];
        total += weight;
        part -= weight * 0.5 * (std::log(2 * std::numbers::pi) + log_var + std::pow(0.5 - m, 2) / std::exp(log_var));
      }
    }
    sum += part / total / 4;
  }
  EXPECT_NEAR(likelihood.degenerate_nats, sum, 1e-4);
}

}  // namespace
}  // namespace grbm
