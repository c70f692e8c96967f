// Samplers against the exact law of an enumerable model.
//
// One step from independent exact draws must leave every first and second moment of (v, h) as it is. Each test
// compares 35 moments twice, with the exact values and row by row with the states before the step: 70 comparisons in
// each of fewer than 100 tests. The bound of 6.3 standard errors is exceeded by chance with probability 3e-10 each,
// so in the whole family with probability below 7000 × 3e-10 ≈ 2e-6 at most, and below 1e-6 as the comparisons are
// correlated and fewer than that.
#include <gtest/gtest.h>

#include <ostream>

#include "grbm/model/conditions.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "grbm/sampler/sampler.h"
#include "support/models.h"
#include "support/moments.h"

namespace grbm {
namespace {

using testing::CompareMoments;
using testing::RandomModel;
using testing::Sample;
using testing::VisibleCorrelation;
using testing::Worst;

constexpr double kBound = 6.3;

struct Setting {
  std::string name;
  SamplerOptions options;
  Index chains_at_once = 64;
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

SamplerOptions Options(Method method, Adjust adjust, double step_size = 0.5, std::int64_t inner = 1,
                       StepScale scale = StepScale::kUnit, double temperature = 1.0) {
  SamplerOptions o;
  o.method = method;
  o.adjust = adjust;
  o.steps = 1;
  o.step_size = step_size;
  o.langevin_steps = inner;
  o.step_scale = scale;
  o.temperature = temperature;
  return o;
}

SamplerOptions WithProposals(SamplerOptions options, double temperature) {
  options.proposal_temperature = temperature;
  return options;
}

SamplerOptions Partial(double rho, double temperature = 1.0) {
  SamplerOptions o = Options(Method::kPartialGibbs, Adjust::kNone);
  o.refresh = 1 - rho;
  o.temperature = temperature;
  return o;
}

Model SmallModel() { return RandomModel(3, 4, 11, 0.8); }

struct Outcome {
  Sample before;
  Sample after;
  double accepted = 0;
};

// `rows` independent exact draws of the law, moved by the sampler, `chains_at_once` chains a run.
Outcome StepFromExactDraws(const Model& model, const ExactModel& law, const Setting& setting, Index rows) {
  Outcome outcome{{Matrix(rows, model.visible()), BitMatrix(rows, model.hidden())}, {}, 0};
  law.Sample(2024, 0, outcome.before.v, outcome.before.h);
  outcome.after = outcome.before;
  ThreadPool pool(1);
  Sampler sampler(model, setting.options, pool);
  for (Index first = 0; first < rows; first += setting.chains_at_once) {
    const Index count = std::min(setting.chains_at_once, rows - first);
    Chains chains{static_cast<std::uint32_t>(first), Matrix(count, model.visible()), BitMatrix(count, model.hidden())};
    CopyRows(outcome.before.v.view().Rows(first, count), chains.visible);
    CopyRows(outcome.before.h.view().Rows(first, count), chains.hidden);
    const double share = sampler.Run(chains, {.seed = 5}).back();
    outcome.accepted += share * static_cast<double>(count) / static_cast<double>(rows);
    CopyRows(chains.visible, outcome.after.v.view().Rows(first, count));
    CopyRows(chains.hidden, outcome.after.h.view().Rows(first, count));
  }
  return outcome;
}

Worst CompareWithLaw(const Outcome& outcome, const ExactModel& law) {
  const Worst exact = CompareMoments(outcome.after, law.Moments());
  const Worst paired = CompareMoments(outcome.before, outcome.after);
  return exact.z > paired.z ? exact : paired;
}

class Stationarity : public ::testing::TestWithParam<Setting> {};

TEST_P(Stationarity, OneStepKeepsTheExactLaw) {
  const Setting& setting = GetParam();
  const Model model = SmallModel();
  const ExactModel law(model.Tempered(setting.options.temperature));
  const Index rows = setting.chains_at_once == 1 ? 30000 : 150000;
  const ExactMoments moments = law.Moments();
  const Outcome outcome = StepFromExactDraws(model, law, setting, rows);
  const Worst worst = CompareWithLaw(outcome, law);
  EXPECT_LT(worst.z, kBound) << worst.where;

  // A sampler that never moves would pass the above.
  if (setting.options.adjust != Adjust::kNone) {
    EXPECT_GT(outcome.accepted, 0.2);
    EXPECT_LT(outcome.accepted, 0.95);
  }
  for (Index i = 0; i < model.visible(); ++i) {
    const double correlation = VisibleCorrelation(outcome.before, outcome.after, i);
    if (setting.options.adjust != Adjust::kNone) {
      EXPECT_LT(correlation, 0.9);
      continue;
    }
    // v' = m + ρ(v - m) + ...: v - m has variance τσ² and is independent of m, so the correlation is known.
    const double rho = setting.options.method == Method::kPartialGibbs ? 1 - setting.options.refresh : 0;
    const double variance = moments.vv(i, i) - std::pow(moments.v[static_cast<std::size_t>(i)], 2);
    const double conditional = std::exp(double{law.model().log_var()[static_cast<std::size_t>(i)]});
    EXPECT_NEAR(correlation, 1 - (1 - rho) * conditional / variance, 6.3 / std::sqrt(static_cast<double>(rows)));
  }
}

std::vector<Setting> ExactSettings() {
  std::vector<Setting> settings;
  const auto add = [&](const std::string& name, const SamplerOptions& options) {
    settings.push_back({name + "_64chains", options, 64});
    settings.push_back({name + "_1chain", options, 1});
  };
  add("gibbs", Options(Method::kGibbs, Adjust::kNone));
  add("partial_minus_half", Partial(-0.5));
  add("partial_half", Partial(0.5));
  add("partial_nine_tenths", Partial(0.9));
  using enum StepScale;
  add("langevin_unit_0_5", Options(Method::kLangevin, Adjust::kMetropolis, 0.5, 1, kUnit));
  add("langevin_unit_1", Options(Method::kLangevin, Adjust::kMetropolis, 1.0, 1, kUnit));
  add("langevin_mean_0_4", Options(Method::kLangevin, Adjust::kMetropolis, 0.4, 1, kMean));
  for (const auto& [rule, adjust] :
       {std::pair{"joint", Adjust::kMetropolis}, std::pair{"conditional", Adjust::kConditional}}) {
    const std::string name = rule;
    add(name + "_unit_1_K1", Options(Method::kGibbsLangevin, adjust, 1.0, 1, kUnit));
    add(name + "_unit_0_7_K3", Options(Method::kGibbsLangevin, adjust, 0.7, 3, kUnit));
    add(name + "_unit_1_2_K10", Options(Method::kGibbsLangevin, adjust, 1.2, 10, kUnit));
    add(name + "_mean_0_5_K2", Options(Method::kGibbsLangevin, adjust, 0.5, 2, kMean));
  }
  return settings;
}

// exp(-E/τ) for the joint samplers: the tempered model is the oracle.
std::vector<Setting> TemperedSettings() {
  std::vector<Setting> settings;
  for (const double temperature : {0.5, 4.0}) {
    const std::string at = temperature < 1 ? "_cold" : "_hot";
    settings.push_back({"gibbs" + at, Options(Method::kGibbs, Adjust::kNone, 1, 1, StepScale::kUnit, temperature)});
    settings.push_back({"partial" + at, Partial(0.5, temperature)});
    settings.push_back(
        {"joint" + at, Options(Method::kGibbsLangevin, Adjust::kMetropolis, 0.6, 3, StepScale::kUnit, temperature)});
    settings.push_back({"conditional" + at,
                        Options(Method::kGibbsLangevin, Adjust::kConditional, 0.8, 2, StepScale::kUnit, temperature)});
  }
  return settings;
}

// Proposals wider and narrower than the law.
std::vector<Setting> ProposalSettings() {
  std::vector<Setting> settings;
  const auto add = [&](const std::string& name, const SamplerOptions& options) {
    settings.push_back({name, options});
    settings.push_back({name + "_1chain", options, 1});
  };
  const auto proposals = [](Method method, Adjust adjust, double temperature, double proposal, StepScale scale) {
    return WithProposals(Options(method, adjust, 0.4, 2, scale, temperature), proposal);
  };
  using enum StepScale;
  for (const auto& [at, temperature, proposal] :
       {std::tuple{"wide", 1.0, 3.0}, std::tuple{"narrow", 1.0, 0.7}, std::tuple{"hot_wide", 4.0, 9.0}}) {
    const std::string name = at;
    add(name + "_joint", proposals(Method::kGibbsLangevin, Adjust::kMetropolis, temperature, proposal, kUnit));
    add(name + "_conditional", proposals(Method::kGibbsLangevin, Adjust::kConditional, temperature, proposal, kMean));
    if (temperature != 1) continue;  // adjusted Langevin has another law then
    add(name + "_langevin", proposals(Method::kLangevin, Adjust::kMetropolis, temperature, proposal, kUnit));
  }
  return settings;
}

const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Exact, Stationarity, ::testing::ValuesIn(ExactSettings()), kName);
INSTANTIATE_TEST_SUITE_P(Tempered, Stationarity, ::testing::ValuesIn(TemperedSettings()), kName);
INSTANTIATE_TEST_SUITE_P(Proposals, Stationarity, ::testing::ValuesIn(ProposalSettings()), kName);

// Labels: three Gaussian units beside a class of three. All 65 moments of (v, y, h), twice.
class Labelled : public ::testing::TestWithParam<Setting> {};

TEST_P(Labelled, OneStepKeepsTheExactLaw) {
  const Setting& setting = GetParam();
  const Model model = testing::LabelledModel(3, 3, 4, 12, 0.8);
  const ExactModel law(model.Tempered(setting.options.temperature));
  const Outcome outcome = StepFromExactDraws(model, law, setting, setting.chains_at_once == 1 ? 30000 : 150000);
  const Worst worst = CompareWithLaw(outcome, law);
  EXPECT_LT(worst.z, kBound) << worst.where;
  for (Index i = 0; i < 6; ++i) EXPECT_LT(VisibleCorrelation(outcome.before, outcome.after, i), 0.9) << i;
}

std::vector<Setting> LabelledSettings() {
  std::vector<Setting> settings;
  for (const char* const name :
       {"gibbs_64chains", "gibbs_1chain", "partial_half_64chains", "langevin_unit_0_5_64chains",
        "langevin_mean_0_4_1chain", "joint_unit_0_7_K3_64chains", "joint_mean_0_5_K2_1chain",
        "conditional_unit_0_7_K3_64chains", "conditional_mean_0_5_K2_1chain"}) {
    for (const Setting& setting : ExactSettings()) {
      if (setting.name == name) settings.push_back(setting);
    }
  }
  for (const Setting& setting : TemperedSettings()) settings.push_back(setting);
  return settings;
}
INSTANTIATE_TEST_SUITE_P(Exact, Labelled, ::testing::ValuesIn(LabelledSettings()), kName);

// Conditions: chains beside each other, of which half have one u and half another. All 35 moments of (v, h) given each.
class Conditioned : public ::testing::TestWithParam<Setting> {};

TEST_P(Conditioned, OneStepKeepsTheExactLawGivenEachChainsConditions) {
  const Setting& setting = GetParam();
  const Model model = testing::ConditionedModel(3, 2, 4, 12, 0.8);
  const Model units = WithConditionUnits(model);
  const std::vector<float> conditions[] = {{1.5f, -0.5f}, {-1.0f, 1.0f}};
  const Index rows = setting.chains_at_once == 1 ? 20000 : 100000;
  ThreadPool pool(1);
  Sampler sampler(units, setting.options, pool);
  Sample after[2];
  ExactMoments moments[2];
  Matrix states(2 * rows, units.visible());
  BitMatrix hidden(2 * rows, units.hidden());
  for (Index k = 0; k < 2; ++k) {
    const ExactModel law(GivenConditions(model, conditions[k]).Tempered(setting.options.temperature));
    moments[k] = law.Moments();
    Matrix v(rows, 3);
    BitMatrix h(rows, 4);
    law.Sample(2024, static_cast<std::uint32_t>(k * rows), v, h);
    for (Index r = 0; r < rows; ++r) {  // in turn
      std::ranges::copy(v.row(r), states.row(2 * r + k).begin());
      std::ranges::copy(conditions[k], states.row(2 * r + k).begin() + 3);
      for (Index j = 0; j < 4; ++j) hidden.Set(2 * r + k, j, h.Get(r, j));
    }
    after[k] = {Matrix(rows, 3), BitMatrix(rows, 4)};
  }
  TakeShift(model, states, pool);
  for (Index first = 0; first < 2 * rows; first += setting.chains_at_once) {
    const Index count = std::min(setting.chains_at_once, 2 * rows - first);
    Chains chains{static_cast<std::uint32_t>(first), Matrix(count, 5), BitMatrix(count, 4)};
    CopyRows(states.view().Rows(first, count), chains.visible);
    CopyRows(hidden.view().Rows(first, count), chains.hidden);
    sampler.Run(chains, {.seed = 5});
    AddShift(model, chains.visible, pool);
    for (Index r = 0; r < count; ++r) {
      const Index k = (first + r) % 2;
      const Index at = (first + r) / 2;
      ASSERT_TRUE(std::ranges::equal(chains.visible.row(r).last(2), conditions[k])) << "a condition moved";
      std::ranges::copy(chains.visible.row(r).first(3), after[k].v.row(at).begin());
      for (Index j = 0; j < 4; ++j) after[k].h.Set(at, j, chains.hidden.Get(r, j));
    }
  }
  for (Index k = 0; k < 2; ++k) {
    const Worst worst = CompareMoments(after[k], moments[k]);
    EXPECT_LT(worst.z, kBound) << worst.where << " given condition " << k;
    EXPECT_GT(CompareMoments(after[k], moments[1 - k]).z, 2 * kBound) << "the other law must be told apart";
  }
}
INSTANTIATE_TEST_SUITE_P(Exact, Conditioned, ::testing::ValuesIn(LabelledSettings()), kName);

// The test can fail: without adjustment a large step changes the law, and so does the paper's tempered v with h at 1.
TEST(StationarityTest, SeesUnadjustedBias) {
  const Model model = SmallModel();
  const ExactModel law(model);
  const Setting langevin{"", Options(Method::kLangevin, Adjust::kNone, 0.5)};
  EXPECT_GT(CompareWithLaw(StepFromExactDraws(model, law, langevin, 150000), law).z, 2 * kBound);
  const Setting gibbs_langevin{"", Options(Method::kGibbsLangevin, Adjust::kNone, 0.7, 3)};
  EXPECT_GT(CompareWithLaw(StepFromExactDraws(model, law, gibbs_langevin, 150000), law).z, 2 * kBound);

  const ExactModel hot(model.Tempered(4.0));
  const Setting half_tempered{"", Options(Method::kGibbsLangevin, Adjust::kNone, 0.04, 100, StepScale::kUnit, 4.0)};
  EXPECT_GT(CompareWithLaw(StepFromExactDraws(model, hot, half_tempered, 150000), hot).z, 2 * kBound);
}

// From a start 20σ away, every exact sampler arrives at the law: 20,000 chains, 150 steps.
class Convergence : public ::testing::TestWithParam<Setting> {};

TEST_P(Convergence, FromAFarStart) {
  const Model model = SmallModel();
  const ExactModel law(model);
  SamplerOptions options = GetParam().options;
  options.steps = 150;
  options.anneal = false;
  ThreadPool pool(2);
  Matrix start(20000, model.visible());
  for (float& v : start.values()) v = 20.0f;
  Chains chains = ChainsFrom(model, start, 3, pool);
  Sampler(model, options, pool).Run(chains, {.seed = 4});
  const Worst worst = CompareMoments({chains.visible, chains.hidden}, law.Moments());
  EXPECT_LT(worst.z, kBound) << worst.where;
}

std::vector<Setting> ConvergenceSettings() {
  return {{"gibbs", Options(Method::kGibbs, Adjust::kNone)},
          {"partial_minus_half", Partial(-0.5)},
          {"partial_nine_tenths", Partial(0.9)},
          {"langevin", Options(Method::kLangevin, Adjust::kMetropolis, 0.4)},
          {"joint", Options(Method::kGibbsLangevin, Adjust::kMetropolis, 0.3, 3)},
          {"conditional", Options(Method::kGibbsLangevin, Adjust::kConditional, 0.5, 2)},
          {"langevin_wide", WithProposals(Options(Method::kLangevin, Adjust::kMetropolis, 0.3), 3)},
          {"joint_wide", WithProposals(Options(Method::kGibbsLangevin, Adjust::kMetropolis, 0.3, 3), 3)},
          {"conditional_wide", WithProposals(Options(Method::kGibbsLangevin, Adjust::kConditional, 0.4, 2), 3)}};
}
INSTANTIATE_TEST_SUITE_P(Exact, Convergence, ::testing::ValuesIn(ConvergenceSettings()), kName);

// Adjusted Langevin at temperature τ samples exp(-Ẽ/τ), which is not the marginal of exp(-E/τ): quadrature is the
// oracle.
class TemperedLangevin : public ::testing::TestWithParam<std::pair<double, double>> {};

TEST_P(TemperedLangevin, SamplesTheTemperedMarginalEnergy) {
  const auto [temperature, proposals] = GetParam();
  const Model model = RandomModel(2, 5, 21, 0.6);
  SamplerOptions options =
      WithProposals(Options(Method::kLangevin, Adjust::kMetropolis, 0.6, 1, StepScale::kUnit, temperature), proposals);
  options.steps = 120;
  options.anneal = false;
  ThreadPool pool(2);
  Chains chains = NoiseChains(model, 40000, 6, pool);
  const auto accepted = Sampler(model, options, pool).Run(chains, {.seed = 7});
  EXPECT_GT(accepted.back(), 0.2);
  EXPECT_LT(accepted.back(), 0.95);

  const auto compare = [&](const Quadrature& law) {
    Worst worst;
    const auto include = [&](const std::string& name, auto&& f) {
      const double expected = law.Expectation([&](std::span<const double> v) { return f(v[0], v[1]); });
      testing::IncludeMean(worst, chains.count(), expected, name,
                           [&](Index r) { return f(double{chains.visible(r, 0)}, double{chains.visible(r, 1)}); });
    };
    include("v0", [](double x, double) { return x; });
    include("v1", [](double, double y) { return y; });
    include("v0²", [](double x, double) { return x * x; });
    include("v1²", [](double, double y) { return y * y; });
    include("v0 v1", [](double x, double y) { return x * y; });
    include("|v0|", [](double x, double) { return std::abs(x); });
    return worst;
  };
  const Worst worst = compare(Quadrature(model, temperature));
  EXPECT_LT(worst.z, kBound) << worst.where;
  EXPECT_GT(compare(Quadrature(model.Tempered(temperature))).z, 2 * kBound) << "the other law must be told apart";
}

INSTANTIATE_TEST_SUITE_P(Temperatures, TemperedLangevin,
                         ::testing::Values(std::pair{0.5, 0.0}, std::pair{3.0, 0.0}, std::pair{3.0, 6.0}));

// Unadjusted Langevin: the bias of E|v|² falls in proportion to the step. Steps h, h/2 and h/4 from exact draws; the
// ratios of neighbouring biases must be 2 up to the second-order term (measured in the smallest step's favour) and
// six standard errors.
TEST(Langevin, UnadjustedBiasIsProportionalToTheStep) {
  const Model model = RandomModel(2, 3, 31, 0.6);
  const ExactModel law(model);
  const ExactMoments moments = law.Moments();
  const double expected = moments.vv(0, 0) + moments.vv(1, 1);
  const Index rows = 60000;
  ThreadPool pool(2);

  struct Estimate {
    double bias;
    double error;
  };
  const auto bias_at = [&](double step_size) {
    // The mean of |v|² over steps after the burn-in, chain by chain; chains are independent.
    class Accumulate : public Observer {
     public:
      explicit Accumulate(Index rows) : sums(static_cast<std::size_t>(rows)) {}
      void OnStep(const ChainState& state) override {
        ++steps;
        for (Index r = 0; r < state.visible.rows(); ++r) {
          for (const float v : state.visible.row(r)) sums[static_cast<std::size_t>(r)] += double{v} * double{v};
        }
      }
      std::vector<double> sums;
      double steps = 0;
    };
    SamplerOptions options = Options(Method::kLangevin, Adjust::kNone, step_size);
    options.anneal = false;
    const auto burn_in = static_cast<std::int64_t>(16 / step_size);
    options.steps = 3 * burn_in;
    Chains chains{0, Matrix(rows, 2), BitMatrix(rows, 3)};
    law.Sample(1, 0, chains.visible, chains.hidden);
    Accumulate accumulate(rows);
    Sampler(model, options, pool).Run(chains, {.seed = 8, .burn_in = burn_in}, &accumulate);
    double sum = 0;
    double squares = 0;
    for (const double s : accumulate.sums) {
      const double x = s / accumulate.steps - expected;
      sum += x;
      squares += x * x;
    }
    const auto n = static_cast<double>(rows);
    return Estimate{sum / n, std::sqrt((squares / n - sum * sum / n / n) / n)};
  };

  const Estimate large = bias_at(0.4);
  const Estimate middle = bias_at(0.2);
  const Estimate small = bias_at(0.1);
  EXPECT_GT(small.bias, 10 * small.error) << "the bias must be seen";
  // bias = a h + b h² + ...: with exact proportionality the ratio is 2; b h / a ≈ h/2 (for a Gaussian, 1/(1 - h/2)).
  const auto expect_ratio = [](const Estimate& of, const Estimate& to, double h) {
    const double ratio = of.bias / to.bias;
    const double error = ratio * std::hypot(of.error / of.bias, to.error / to.bias);
    EXPECT_NEAR(ratio, 2 * (1 + h / 4), h / 4 + 6 * error) << "at h = " << h;
  };
  expect_ratio(large, middle, 0.4);
  expect_ratio(middle, small, 0.2);
}

}  // namespace
}  // namespace grbm
