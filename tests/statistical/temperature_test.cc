// Training at temperatures other than 1: with every sampler whose chains have a law the estimate is the gradient of that
// law's likelihood.
//
// The oracle is the likelihood itself, by enumeration (exp(-E/τ), a model by math.md (8)) or by quadrature (exp(-Ẽ/τ)),
// and its finite differences in the parameters of the model: nothing of math.md (31) is in it. 68 tests of
// 13 parameters and one of 9 compare 893 means; each is off by more than 6.1 standard errors with
// probability 1.1e-9, any of them with less than 1e-6.
#include <gtest/gtest.h>

#include "grbm/model/energy.h"
#include "grbm/model/quadrature.h"
#include "grbm/sampler/law.h"
#include "grbm/train/contrastive.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ExactDraws;
using testing::ForParameters;
using testing::MeanVector;
using testing::RandomModel;
using testing::SamplerCase;
using Setting = testing::GradientCase;

constexpr double kBound = 6.1;

std::string Name(const ::testing::TestParamInfo<Setting>& test) { return test.param.name; }

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  for (const SamplerCase& sampler : testing::SamplersWithALaw()) {
    for (const auto& [at, temperature] : {std::pair{"_cold", 0.5}, std::pair{"_1", 1.0}, std::pair{"_hot", 4.0}}) {
      SamplerOptions options = sampler.sampler;
      options.temperature = temperature;
      settings.push_back({sampler.name + at + "_probability", options, HiddenKind::kProbability});
      if (options.adjust == Adjust::kNone) {
        settings.push_back({sampler.name + at + "_mean", options, HiddenKind::kProbability, VisibleKind::kMean});
      }
      if (options.method == Method::kLangevin) continue;  // it has no states
      settings.push_back({sampler.name + at + "_sample", options, HiddenKind::kSample});
    }
    // Proposals at another temperature leave the law as it is, and with it the gradient.
    if (sampler.sampler.adjust == Adjust::kNone) continue;
    SamplerOptions wide = sampler.sampler;
    wide.proposal_temperature = 3;
    settings.push_back({sampler.name + "_wide", wide, HiddenKind::kProbability});
  }
  return settings;
}

std::vector<Setting> JointSettings() {
  std::vector<Setting> settings = Settings();
  std::erase_if(settings, [](const Setting& s) { return s.sampler.method == Method::kLangevin; });
  return settings;
}

double MeanLogLikelihood(const Model& model, const SamplerOptions& sampler, const Matrix& data) {
  if (sampler.method != Method::kLangevin) {
    return ExactModel(model.Tempered(sampler.temperature)).MeanLogLikelihood(data);
  }
  const Quadrature law(model, sampler.temperature);
  double sum = 0;
  for (Index r = 0; r < data.rows(); ++r) sum += law.LogDensity(testing::Doubles(data.row(r)));
  return sum / static_cast<double>(data.rows());
}

// Of the negative log-likelihood, by central differences: exact to about 1e-5.
std::vector<double> ExactGradientOf(const Model& model, const SamplerOptions& sampler, const Matrix& data) {
  std::vector<double> gradient;
  Parameters p = model.parameters();
  ForParameters(p, [&](float& x) {
    const float here = x;
    const auto at = [&](float value) {
      x = value;
      return MeanLogLikelihood(Model(p), sampler, data);
    };
    const float high = here + 0.01f;
    const float low = here - 0.01f;
    gradient.push_back((at(low) - at(high)) / (double{high} - double{low}));
    x = here;
  });
  return gradient;
}

// The mean of `runs` independent estimates; data(run) are those of an update.
MeanVector Estimate(const Model& model, const Setting& setting, TrainOptions train, int runs,
                    const std::function<Matrix(int)>& data) {
  train.hidden = setting.hidden;
  train.visible = setting.visible;
  ThreadPool pool(1);
  Contrastive contrastive(train, 5, pool);
  MeanVector estimate;
  for (int run = 0; run < testing::Repeats(runs); ++run) {
    estimate.Add(
        testing::Values(contrastive.Gradient(model, setting.sampler, data(run), static_cast<std::uint64_t>(run))));
  }
  return estimate;
}

void ExpectMean(const MeanVector& estimate, const std::vector<double>& expected) {
  ASSERT_EQ(estimate.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_LT(std::abs(estimate.mean(k) - expected[k]), kBound * estimate.error(k))
        << "parameter " << k << ": " << estimate.mean(k) << " ± " << estimate.error(k) << ", exact " << expected[k];
  }
}

class TemperedGradient : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Samplers, TemperedGradient, ::testing::ValuesIn(Settings()), Name);

TEST_P(TemperedGradient, IsThatOfTheLawsLikelihood) {
  const Model model = RandomModel(2, 3, 41, 0.7);
  const Matrix data = ExactDraws(RandomModel(2, 3, 42, 0.7), 100);
  TrainOptions train;
  train.burn_in = GetParam().sampler.steps - 10;
  ExpectMean(Estimate(model, GetParam(), train, 400, [&](int) { return data; }),
             ExactGradientOf(model, GetParam().sampler, data));
}

// Chains that start from data of the law itself have it from the first step on: nothing is left to learn.
// (Langevin begins without a hidden state.)
class TemperedStart : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Samplers, TemperedStart, ::testing::ValuesIn(JointSettings()), Name);

TEST_P(TemperedStart, OneStepFromDataOfTheLawLearnsNothing) {
  const Model model = RandomModel(2, 3, 41, 0.7);
  const ExactModel law(model.Tempered(GetParam().sampler.temperature));
  Setting setting = GetParam();
  setting.sampler.steps = 1;
  TrainOptions train;
  train.algorithm = Algorithm::kCd;
  const auto draw = [&](int run) {
    Matrix v(100, 2);
    BitMatrix h(100, 3);
    law.Sample(99, static_cast<std::uint32_t>(100 * run), v, h);
    return v;
  };
  ExpectMean(Estimate(model, setting, train, 2000, draw), std::vector<double>(13, 0.0));
}

// As in learning_test.cc: two modes that no chain leaves, whose weights 0.8 and 0.2 are raised to 1/τ.
class TemperedCooling : public ::testing::TestWithParam<SamplerCase> {};
INSTANTIATE_TEST_SUITE_P(Samplers, TemperedCooling, ::testing::ValuesIn(testing::SamplersWithALaw()),
                         [](const ::testing::TestParamInfo<SamplerCase>& test) { return test.param.name; });

TEST_P(TemperedCooling, ModesFarApartHaveTheSharesOfTheLaw) {
  const Model model = testing::TwoFarModes();
  Matrix data(500, 1);
  for (float& v : data.values()) v = -4;
  for (const double temperature : {0.5, 2.0}) {
    Setting setting{"", GetParam().sampler};
    setting.sampler.steps = 20;
    setting.sampler.temperature = temperature;
    TrainOptions train;
    train.burn_in = 16;
    train.start_temperature = 20;
    const MeanVector estimate = Estimate(model, setting, train, 20, [&](int) { return data; });
    const double odds = std::pow(4, 1 / temperature);
    // The gradient of b, times τ, is the chains' mean of h: the data have h = 0. 5 standard errors of 20 × 500
    // independent chains are at most 0.025; resampling and cooling in 16 steps leave no more than twice that.
    EXPECT_NEAR(temperature * estimate.mean(1), odds / (1 + odds), 0.05) << "temperature " << temperature;
  }
}

// The mean of v where noise is weighed as the law at τ against that at 20τ: by a sum over v, in double.
double WeighedNoise(const Model& model, const SamplerOptions& sampler) {
  const double tau = sampler.temperature;
  const bool marginal = sampler.method == Method::kLangevin;
  const Model hot = model.Tempered(marginal ? 20 : 20 * tau);
  const Model cold = model.Tempered(marginal ? 1 : tau);
  double sum = 0;
  double mean = 0;
  for (double v = -8; v <= 8; v += 0.001) {
    const std::vector<double> at = {v};
    const double log_weight = (MarginalEnergy(hot, at) - MarginalEnergy(cold, at)) / (marginal ? tau : 1);
    const double weight = std::exp(log_weight - 0.5 * v * v);
    sum += weight;
    mean += weight * v;
  }
  return mean / sum;
}

// One step of cooling, from 20 to 1, of chains that hardly move: noise, weighed. With data at 0 the gradient of μ is the
// mean of v over σ²τ.
TEST(Cooling, OneStepWeighsByTheLaw) {
  const Model model = RandomModel(1, 6, 43, 1.0);
  const Matrix data(1000, 1);
  TrainOptions train;
  train.burn_in = 1;
  train.start_temperature = 20;
  for (const SamplerCase& sampler : testing::SamplersWithALaw()) {
    Setting setting{"", sampler.sampler};
    if (setting.sampler.method == Method::kGibbs) continue;     // which moves as far as it can
    if (sampler.name == "gibbs_langevin_metropolis") continue;  // whose h would need more than a step
    setting.sampler.steps = 2;
    setting.sampler.step_size = setting.sampler.refresh = 1e-8;
    for (const double temperature : {0.5, 1.0, 3.0}) {
      setting.sampler.temperature = temperature;
      const MeanVector estimate = Estimate(model, setting, train, 200, [&](int) { return data; });
      const double scale = temperature * std::exp(double{model.log_var()[0]});
      const double mean = scale * estimate.mean(12);
      const double expected = WeighedNoise(model, setting.sampler);
      EXPECT_LT(std::abs(mean - expected), kBound * scale * estimate.error(12))
          << sampler.name << " at " << temperature << ": " << mean << ", exact " << expected;
    }
  }
}

}  // namespace
}  // namespace grbm
