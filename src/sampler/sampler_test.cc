#include "grbm/sampler/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "grbm/sampler/inpaint.h"
#include "support/models.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using testing::RandomModel;

std::vector<SamplerOptions> EverySampler() {
  std::vector<SamplerOptions> all;
  const auto add = [&](Method method, Adjust adjust, double proposals = 0) {
    SamplerOptions o;
    o.method = method;
    o.adjust = adjust;
    o.steps = 7;
    o.step_size = 0.3;
    o.langevin_steps = 3;
    o.step_scale = StepScale::kUnit;
    o.temperature = 1.5;
    o.proposal_temperature = proposals;
    all.push_back(o);
  };
  add(Method::kGibbs, Adjust::kNone);
  add(Method::kPartialGibbs, Adjust::kNone);
  add(Method::kLangevin, Adjust::kNone);
  add(Method::kLangevin, Adjust::kMetropolis);
  add(Method::kGibbsLangevin, Adjust::kNone);
  add(Method::kGibbsLangevin, Adjust::kMetropolis);
  add(Method::kGibbsLangevin, Adjust::kConditional);
  add(Method::kLangevin, Adjust::kMetropolis, 2.5);
  add(Method::kGibbsLangevin, Adjust::kMetropolis, 2.5);
  add(Method::kGibbsLangevin, Adjust::kConditional, 2.5);
  return all;
}

class EachSampler : public ::testing::TestWithParam<SamplerOptions> {
 protected:
  Model model = RandomModel(37, 70, 1, 0.15);
  SamplerOptions options = GetParam();

  Chains RunFromNoise(Index count, int threads, std::uint32_t first = 0) {
    ThreadPool pool(threads);
    Chains chains = NoiseChains(model, count, 5, pool, first);
    Sampler(model, options, pool).Run(chains, {.seed = 5});
    return chains;
  }
};

std::string SamplerName(const ::testing::TestParamInfo<SamplerOptions>& info) {
  const char* const methods[] = {"gibbs", "langevin", "gibbs_langevin", "partial_gibbs"};
  const char* const rules[] = {"", "_metropolis", "_conditional"};
  return std::string(methods[static_cast<int>(info.param.method)]) + rules[static_cast<int>(info.param.adjust)] +
         (info.param.proposal_temperature > 0 ? "_wide" : "");
}

INSTANTIATE_TEST_SUITE_P(Samplers, EachSampler, ::testing::ValuesIn(EverySampler()), SamplerName);

TEST_P(EachSampler, OneTwoAndFiveThreadsGiveTheSameBits) {
  const Chains one = RunFromNoise(150, 1);
  for (const int threads : {2, 5}) {
    const Chains other = RunFromNoise(150, threads);
    EXPECT_TRUE(one.visible == other.visible);
    EXPECT_TRUE(one.hidden == other.hidden);
  }
}

TEST_P(EachSampler, AnySplitOfTheChainsGivesTheSameBits) {
  const Chains whole = RunFromNoise(150, 2);
  for (const std::vector<Index>& cuts : {std::vector<Index>{0, 1, 2, 150}, {0, 32, 64, 150}, {0, 5, 47, 101, 150}}) {
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      const Chains part = RunFromNoise(cuts[c + 1] - cuts[c], 2, static_cast<std::uint32_t>(cuts[c]));
      for (Index r = 0; r < part.count(); ++r) {
        for (Index i = 0; i < 37; ++i) ASSERT_EQ(part.visible(r, i), whole.visible(cuts[c] + r, i));
        for (Index j = 0; j < 70; ++j) ASSERT_EQ(part.hidden.Get(r, j), whole.hidden.Get(cuts[c] + r, j));
      }
    }
  }
}

// With classes that are kept, chains are those of the model given each: the same draws, but for how sums are rounded.
TEST_P(EachSampler, ChainsThatKeepTheirClassAreOfTheModelGivenIt) {
  const Model labelled = testing::LabelledModel(6, 3, 9, 2, 0.4);
  options.keep_labels = true;
  ThreadPool pool(2);
  const Chains start = NoiseChains(labelled, 90, 5, pool);
  Chains chains = start;
  Sampler(labelled, options, pool).Run(chains, {.seed = 5});
  int moved = 0;
  for (Index label = 0; label < 3; ++label) {
    Chains given{0, WithoutLabels(labelled, start.visible), start.hidden};
    Sampler(GivenLabel(labelled, label), options, pool).Run(given, {.seed = 5});
    int of_class = 0;
    for (Index r = 0; r < start.count(); ++r) {
      if (LabelOf(labelled, start.visible.row(r)) != label) continue;
      ++of_class;
      ASSERT_EQ(LabelOf(labelled, chains.visible.row(r)), label);
      for (Index i = 0; i < 6; ++i) ASSERT_NEAR(chains.visible(r, i), given.visible(r, i), 1e-4);
      if (options.method != Method::kLangevin) {
        for (Index j = 0; j < 9; ++j) ASSERT_EQ(chains.hidden.Get(r, j), given.hidden.Get(r, j));
      }
      if (chains.visible(r, 0) != start.visible(r, 0)) ++moved;
    }
    EXPECT_GT(of_class, 15);
  }
  EXPECT_GT(moved, 30);
  options.keep_labels = false;
  chains = start;
  Sampler(labelled, options, pool).Run(chains, {.seed = 5});
  int changed = 0;
  for (Index r = 0; r < start.count(); ++r) {
    if (LabelOf(labelled, chains.visible.row(r)) != LabelOf(labelled, start.visible.row(r))) ++changed;
  }
  EXPECT_GT(changed, 10);
}

// From one and the same state, no two chains of three blocks draw alike.
TEST_P(EachSampler, ChainsAndSeedsDiffer) {
  ThreadPool pool(1);
  options.adjust_after = options.steps;  // so that no two are alike for having been rejected
  const Chains start{0, Matrix(70, 37), BitMatrix(70, 70)};
  Chains chains = start;
  Sampler(model, options, pool).Run(chains, {.seed = 5});
  std::set<float> values;
  for (Index r = 0; r < 70; ++r) values.insert(chains.visible(r, 0));
  EXPECT_EQ(values.size(), 70u);
  Chains other = start;
  Sampler(model, options, pool).Run(other, {.seed = 6});
  for (Index r = 0; r < 70; ++r) values.insert(other.visible(r, 0));
  EXPECT_EQ(values.size(), 140u);
}

TEST_P(EachSampler, ARunInTwoPartsEqualsOneRun) {
  options.anneal = false;  // Langevin's schedule spans a run
  const Chains whole = RunFromNoise(40, 2);
  ThreadPool pool(2);
  Chains chains = NoiseChains(model, 40, 5, pool);
  options.steps = 3;
  Sampler(model, options, pool).Run(chains, {.seed = 5});
  options.steps = 4;
  Sampler(model, options, pool).Run(chains, {.seed = 5, .first_step = 3});
  if (options.method != Method::kLangevin) {
    // The rounding of the caches is the same, for they are functions of the state.
    EXPECT_TRUE(whole.hidden == chains.hidden);
  }
  EXPECT_TRUE(whole.visible == chains.visible);
}

TEST_P(EachSampler, TheObserverSeesEveryState) {
  struct Record : Observer {
    void OnStep(const ChainState& state) override {
      steps.push_back(state.step);
      shares.push_back(static_cast<double>(std::ranges::count(state.accepted, 1)) / 40.0);
      visible = Matrix(state.visible.rows(), state.visible.cols());
      CopyRows(state.visible, visible);
      hidden_rows = state.hidden.rows();
      if (hidden_rows > 0) {
        hidden = BitMatrix(hidden_rows, state.hidden.units());
        CopyRows(state.hidden, hidden);
      }
    }
    std::vector<std::int64_t> steps;
    std::vector<double> shares;
    Matrix visible;
    BitMatrix hidden;
    Index hidden_rows = -1;
  } record;

  ThreadPool pool(2);
  Chains chains = NoiseChains(model, 40, 5, pool);
  options.adjust_after = 2;
  const auto accepted = Sampler(model, options, pool).Run(chains, {.seed = 5, .burn_in = 3}, &record);
  EXPECT_THAT(record.steps, ::testing::ElementsAre(4, 5, 6, 7));
  ASSERT_EQ(accepted.size(), 7u);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(record.shares[k], accepted[k + 3]);
  for (std::size_t t = 0; t < 2; ++t) EXPECT_EQ(accepted[t], 1.0) << "never rejected before adjust_after";
  if (options.adjust != Adjust::kNone) {
    EXPECT_LT(accepted[4], 1.0);
    EXPECT_GT(accepted[4], 0.0);
  }

  EXPECT_TRUE(record.visible == chains.visible);
  EXPECT_EQ(record.hidden_rows, options.method == Method::kLangevin ? 0 : 40);
  if (record.hidden_rows > 0) {
    EXPECT_TRUE(record.hidden == chains.hidden);
  }
}

// The gradient that accumulates as the chains run is that of the states that an observer sees, with p(h | v) of the law.
TEST_P(EachSampler, TheStatisticsTakeInEveryState) {
  struct Record : Observer {
    Record(const Model& model, EnergyStatistics::Hidden hidden, Law l, ThreadPool& p)
        : statistics(model, hidden), law(l), pool(p) {}
    void OnStep(const ChainState& state) override {
      if (statistics.hidden() == EnergyStatistics::Hidden::kState) {
        statistics.Add(state.visible, state.hidden, pool);
      } else {
        statistics.Add(state.visible, pool, law.hidden_temperature());
      }
    }
    EnergyStatistics statistics;
    Law law;
    ThreadPool& pool;
  };
  for (const auto hidden : {EnergyStatistics::Hidden::kState, EnergyStatistics::Hidden::kProbability}) {
    if (hidden == EnergyStatistics::Hidden::kState && options.method == Method::kLangevin) continue;
    ThreadPool pool(2);
    Record record(model, hidden, LawOf(options), pool);
    EnergyStatistics statistics(model, hidden);
    Chains chains = NoiseChains(model, 40, 5, pool);
    Sampler(model, options, pool).Run(chains, {.seed = 5, .burn_in = 2}, &record, &statistics);
    EXPECT_EQ(statistics.count(), 40.0 * static_cast<double>(options.steps - 2));
    EXPECT_TRUE(statistics.MeanGradient(pool) == record.statistics.MeanGradient(pool));
  }
}

TEST_P(EachSampler, NewParametersTakeEffect) {
  ThreadPool pool(1);
  const Model other = RandomModel(37, 70, 2, 0.15);
  Sampler fresh(other, options, pool);
  Sampler reused(model, options, pool);
  Chains a = NoiseChains(model, 40, 5, pool);
  Chains b = a;
  Chains warm_up = a;
  reused.Run(warm_up, {.seed = 1});
  reused.Set(other, options);
  fresh.Run(a, {.seed = 3});
  reused.Run(b, {.seed = 3});
  EXPECT_TRUE(a.visible == b.visible);
}

TEST(Sampler, NoiseIsStandardNormalAndHiddenFollows) {
  const Model model = RandomModel(3, 4, 1);
  ThreadPool pool(2);
  const Chains chains = NoiseChains(model, 100000, 9, pool);
  // 3 means, 3 variances and 4 activities, each within 5.5 standard errors (family-wise error 4e-7).
  const Matrix p = HiddenProbabilities(model, chains.visible, pool);
  for (Index i = 0; i < 3; ++i) {
    double sum = 0;
    double squares = 0;
    for (Index r = 0; r < chains.count(); ++r) {
      sum += double{chains.visible(r, i)};
      squares += double{chains.visible(r, i)} * double{chains.visible(r, i)};
    }
    EXPECT_LT(std::abs(sum) / std::sqrt(1e5), 5.5);
    EXPECT_LT(std::abs(squares - 1e5) / std::sqrt(2e5), 5.5);
  }
  for (Index j = 0; j < 4; ++j) {
    double excess = 0;
    double variance = 0;
    for (Index r = 0; r < chains.count(); ++r) {
      const double q = p(r, j);
      excess += (chains.hidden.Get(r, j) ? 1.0 : 0.0) - q;
      variance += q * (1 - q);
    }
    EXPECT_LT(std::abs(excess) / std::sqrt(variance), 5.5);
  }
}

TEST(Sampler, TheFinalStateIsShownAsAsked) {
  const Model model = RandomModel(3, 4, 1);
  ThreadPool pool(1);
  const Chains chains = NoiseChains(model, 5, 1, pool);
  SamplerOptions options;  // of rows that nobody says are images
  EXPECT_TRUE(FinalVisible(model, chains, options, pool) == chains.visible);
  options.final = Final::kMean;
  EXPECT_TRUE(FinalVisible(model, chains, options, pool) == VisibleMean(model, chains.hidden, pool));
  options.final = Final::kSample;
  EXPECT_TRUE(FinalVisible(model, chains, options, pool) == chains.visible);
}

// v to μ + W p(h | v), written out in double, at the temperature of the law.
TEST(Sampler, FinalStepsAreStepsToTheMeanWithoutNoise) {
  const Model model = testing::RandomModel(3, 4, 5);
  ThreadPool pool(2);
  Chains chains = NoiseChains(model, 6, 7, pool);
  for (const double temperature : {1.0, 3.0}) {
    SamplerOptions options;
    options.method = Method::kGibbs;
    options.temperature = temperature;
    options.final = Final::kMean;
    options.final_steps = 2;
    const Matrix shown = FinalVisible(model, chains, options, pool);
    for (Index r = 0; r < 6; ++r) {
      std::vector<double> v = testing::Doubles(chains.visible.row(r));
      for (int step = 0; step < 2; ++step) {
        std::vector<double> next(model.mu().begin(), model.mu().end());
        for (Index j = 0; j < 4; ++j) {
          double logit = model.b()[static_cast<std::size_t>(j)];
          for (std::size_t i = 0; i < 3; ++i) {
            logit += v[i] * double{model.W()(static_cast<Index>(i), j)} / double{model.variance()[i]};
          }
          const double p = 1 / (1 + std::exp(-logit / temperature));
          for (std::size_t i = 0; i < 3; ++i) next[i] += p * double{model.W()(static_cast<Index>(i), j)};
        }
        v = next;
      }
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(shown(r, static_cast<Index>(i)), v[i], 1e-4);
      const Model law = model.Tempered(temperature);
      EXPECT_LT(MarginalEnergy(law, testing::Doubles(shown.row(r))),
                MarginalEnergy(law, testing::Doubles(chains.visible.row(r))));
    }
  }
}

template <typename Action>
std::string Refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Sampler, RefusesAStepThatDiverges) {
  Parameters p(3, 2);
  p.log_var = {0.0f, 0.0f, std::log(0.001f)};
  const Model model(p);
  ThreadPool pool(1);
  SamplerOptions options;
  options.step_size = 0.04;  // fits the mean variance, not that of unit 2
  EXPECT_EQ(Refusal([&] { Sampler(model, options, pool); }),
            "sampler: step_size = 0.04: a step diverges for 1 of 3 visible units, worst unit 2 "
            "whose step is 26.7 of its "
            "variance; allowed is below 2: set step_size below 0.003, or step_scale = \"unit\"");
  const Sampler counted(model, options, pool, OnUnstable::kAllow);
  EXPECT_EQ(counted.stability().unstable, 1);
  EXPECT_EQ(counted.stability().worst, 2);
  options.step_scale = StepScale::kUnit;
  EXPECT_EQ(Refusal([&] { Sampler(model, options, pool); }), "(accepted)");
  // Two variances diverge in every model: that is refused without one, wherever options come from.
  options.step_size = 2.0;
  EXPECT_EQ(Refusal([&] { CheckOptions(options); }),
            "sampler: step_size = 2: a step of 2 variances diverges; allowed is below 2");
  EXPECT_THAT(Refusal([&] { Sampler(model, options, pool, OnUnstable::kAllow); }), HasSubstr("allowed is below 2"));
  options.method = Method::kGibbs;  // has no step
  EXPECT_EQ(Refusal([&] { Sampler(model, options, pool); }), "(accepted)");
}

TEST(Sampler, RefusesNonsense) {
  const Model model = RandomModel(3, 4, 1);
  ThreadPool pool(1);
  const auto refusal = [&](auto change) {
    SamplerOptions options;
    change(options);
    return Refusal([&] { Sampler(model, options, pool); });
  };
  EXPECT_EQ(refusal([](auto& o) { o.steps = 0; }),
            "sampler: steps = 0: allowed is a whole number from 1 to 1000000000");
  EXPECT_THAT(refusal([](auto& o) { o.langevin_steps = -3; }), HasSubstr("langevin_steps = -3"));
  EXPECT_THAT(refusal([](auto& o) { o.langevin_steps = 1000000000; }), HasSubstr("whole number from 1 to 100000"));
  EXPECT_EQ(refusal([](auto& o) { o.step_size = 0; }), "sampler: step_size = 0: allowed is a number above 0");
  EXPECT_THAT(refusal([](auto& o) { o.temperature = NAN; }), HasSubstr("temperature = nan"));
  EXPECT_THAT(refusal([](auto& o) { o.refresh = 2; }), HasSubstr("refresh = 2"));
  EXPECT_THAT(refusal([](auto& o) {
                o.method = Method::kGibbs;
                o.adjust = Adjust::kMetropolis;
              }),
              HasSubstr("nothing to adjust"));
  EXPECT_THAT(refusal([](auto& o) {
                o.method = Method::kLangevin;
                o.adjust = Adjust::kConditional;
              }),
              HasSubstr("no hidden state"));
  // Where nothing is proposed.
  EXPECT_THAT(refusal([](auto& o) { o.proposal_temperature = 3; }),
              HasSubstr("proposal_temperature = 3: without adjustment a move is no proposal"));
  for (const Method method : {Method::kGibbs, Method::kPartialGibbs}) {
    EXPECT_THAT(refusal([&](auto& o) {
                  o.method = method;
                  o.proposal_temperature = 3;
                }),
                HasSubstr("proposal_temperature = 3: methods \"gibbs\" and \"partial-gibbs\" draw from the law"));
  }
  EXPECT_THAT(refusal([](auto& o) {
                o.adjust = Adjust::kMetropolis;
                o.proposal_temperature = -1;
              }),
              HasSubstr("proposal_temperature = -1"));

  Sampler sampler(model, SamplerOptions(), pool);
  Chains wrong{0, Matrix(2, 4), BitMatrix(2, 4)};
  EXPECT_THROW(sampler.Run(wrong, {}), DataError);
  wrong = {0, Matrix(2, 3), BitMatrix(3, 4)};
  EXPECT_THROW(sampler.Run(wrong, {}), DataError);
  Chains nan{0, Matrix(1, 3), BitMatrix(1, 4)};
  nan.visible(0, 1) = NAN;
  EXPECT_THAT(Refusal([&] { sampler.Run(nan, {}); }), HasSubstr("chains: element [0, 1] is nan"));
  Chains late{0xffffffff, Matrix(2, 3), BitMatrix(2, 4)};
  EXPECT_THROW(sampler.Run(late, {}), ConfigError);
  Chains none{0, Matrix(0, 3), BitMatrix(0, 4)};
  EXPECT_TRUE(sampler.Run(none, {}).empty());
}

TEST(Sampler, RefusesStatisticsOfHiddenStatesThatThereAreNot) {
  ThreadPool pool(1);
  const Model model = RandomModel(2, 3, 1);
  SamplerOptions options;
  options.method = Method::kLangevin;
  options.steps = 1;
  options.step_size = 0.1;
  options.step_scale = StepScale::kUnit;
  Sampler sampler(model, options, pool);
  EnergyStatistics statistics(model);
  Chains chains = NoiseChains(model, 2, 1, pool);
  EXPECT_THROW(sampler.Run(chains, {.seed = 1}, nullptr, &statistics), ConfigError);
}

TEST(Inpaint, RefusesAMaskOfAnotherSize) {
  ThreadPool pool(1);
  const Model model = RandomModel(2, 3, 1);
  SamplerOptions options;
  options.method = Method::kGibbs;
  EXPECT_THROW(Inpaint(model, options, Matrix(1, 2), {true}, 1, pool), DataError);
}

TEST(Law, IsThatOfMethodAndAdjustment) {
  for (const SamplerOptions& options : EverySampler()) {
    const Law law = LawOf(options);
    if (options.method == Method::kLangevin && options.adjust != Adjust::kNone) {
      EXPECT_EQ(law.kind, Law::Kind::kMarginal);
      EXPECT_EQ(law.temperature, 1.5);
      EXPECT_EQ(law.hidden_temperature(), 1);
    } else if (options.adjust == Adjust::kNone && options.method != Method::kGibbs &&
               options.method != Method::kPartialGibbs) {
      EXPECT_EQ(law.kind, Law::Kind::kNone);
      EXPECT_EQ(law.temperature, 1);
      EXPECT_EQ(law.hidden_temperature(), 1);
    } else {
      EXPECT_EQ(law.kind, Law::Kind::kJoint);
      EXPECT_EQ(law.temperature, 1.5);
      EXPECT_EQ(law.hidden_temperature(), 1.5);
    }
    SamplerOptions later = options;
    later.adjust_after = options.steps;
    EXPECT_EQ(LawOf(later).kind, law.kind);
  }
}

// log p of v up to a constant, as each sampler's law says it of a model.
TEST(Law, OfVisibleUnitsIsThatOfTheChains) {
  const Model model = RandomModel(2, 3, 4);
  const std::vector<double> v = {0.7, -1.1};
  const std::vector<double> zero = {0, 0};
  const auto relative = [&](const Model& m, double temperature) {
    return (MarginalEnergy(m, zero) - MarginalEnergy(m, v)) / temperature;
  };
  for (const SamplerOptions& options : EverySampler()) {
    const VisibleLaw law = VisibleLawOf(model, options);
    const bool marginal = options.method == Method::kLangevin && options.adjust == Adjust::kMetropolis;
    const double expected = marginal ? relative(model, 1.5) : relative(model.Tempered(1.5), 1);
    EXPECT_NEAR(relative(law.model, law.temperature), expected, 1e-6);
    EXPECT_EQ(LawText(options), marginal ? "exp(-Ẽ/1.5)" : "exp(-E/1.5)");
  }
}

}  // namespace
}  // namespace grbm
