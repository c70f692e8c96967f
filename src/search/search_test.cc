#include "grbm/search/search.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "grbm/core/file.h"
#include "grbm/train/run.h"
#include "search/common.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Trials of milliseconds on the isotropic mixture.
const std::string kTiny = R"(
preset = "gmm-iso"
updates = 18
samples = 40
rows = 100
at_once = 2
)";
const std::string kSet = R"(
[set]
"model.hidden" = 4
"sampler.steps" = 4
"train.burn_in" = 1
"checkpoint.pictures" = 0
)";

Search Parse(const std::string& top, const std::string& vary) {
  return ParseSearch(kTiny + top + kSet + "[vary]\n" + vary, "x.toml");
}

class SearchTest : public testing::TemporaryFolder {
 protected:
  SearchPlan Plan(const Search& search, const std::string& out = "out") const {
    ThreadPool pool(1);
    return PlanSearch(search, Path(out), pool);
  }
  std::vector<TrialState> Run(const Search& search, const SearchPlan& plan) const {
    SearchObserver silent;
    auto states = RunSearch(search, plan, "", silent);
    EXPECT_TRUE(states.has_value());
    return states.value_or(std::vector<TrialState>());
  }
};

std::vector<std::vector<std::string>> Values(const SearchPlan& plan) {
  std::vector<std::vector<std::string>> all;
  for (const Trial& trial : plan.trials) all.push_back(trial.values);
  return all;
}

// A state of one seed with one score.
TrialState Scored(double value, std::size_t rung = 0, const std::string& outcome = "trained") {
  CellResult result;
  result.outcome = outcome;
  result.metrics["quick"] = {{"frechet", {value, 0}}};
  TrialState state;
  state.rung = rung;
  state.results = {result};
  return state;
}

TEST_F(SearchTest, AGridIsEveryCombinationInTheOrderOfTheFile) {
  const Search search =
      Parse("", "\"train.momentum\" = [0.5, 0.9]\n\"model.variance_floor\" = [0.1, 0.2, 0.1]\n");  // one twice
  EXPECT_EQ(search.vary[0].name, "train.momentum");
  const SearchPlan plan = Plan(search);
  EXPECT_THAT(Values(plan), ElementsAre(ElementsAre("0.5", "0.1"), ElementsAre("0.5", "0.2"), ElementsAre("0.9", "0.1"),
                                        ElementsAre("0.9", "0.2")));
  for (const Trial& trial : plan.trials) {
    EXPECT_EQ(trial.updates, 18U);
    EXPECT_EQ(trial.config.model.hidden, 4);
  }
  EXPECT_EQ(plan.trials[3].config.train.momentum, 0.9);
}

// Also where rows are no multiple of batches.
TEST_F(SearchTest, EveryTrialMakesExactlySoManyUpdates) {
  for (const int updates : {1, 7, 1000, 99999}) {
    const Search search = ParseSearch(
        fmt::format("preset = \"gmm-iso\"\nupdates = {}\nset.data.subset = 997\nvary.train.batch_size = [3, 64, 900]\n",
                    updates),
        "x.toml");
    for (const Trial& trial : Plan(search).trials) {
      EXPECT_EQ(trial.updates, static_cast<std::uint64_t>(updates));
      EXPECT_EQ(TotalUpdates(trial.config.train, 997), static_cast<std::uint64_t>(updates));
    }
  }
}

TEST_F(SearchTest, TheSameSeedDrawsTheSameTrialsAndMoreOfThemChangeNone) {
  const std::string vary = R"("train.learning_rate" = { low = 0.001, high = 1, scale = "log" }
"sampler.steps" = { low = 2, high = 4 }
"train.optimizer" = ["sgd", "adam"]
)";
  const std::string top = "method = \"random\"\ntrials = ";
  const auto ten = Values(Plan(ParseSearch(kTiny + top + "10\n[vary]\n" + vary, "x.toml")));
  const auto again = Values(Plan(ParseSearch(kTiny + top + "10\n[vary]\n" + vary, "x.toml")));
  const auto more = Values(Plan(ParseSearch(kTiny + top + "200\n[vary]\n" + vary, "x.toml")));
  const auto other = Values(Plan(ParseSearch(kTiny + top + "10\nseed = 2\n[vary]\n" + vary, "x.toml")));
  EXPECT_EQ(ten, again);
  EXPECT_TRUE(std::equal(ten.begin(), ten.end(), more.begin()));
  EXPECT_NE(ten, other);
  std::set<std::string> steps;
  std::size_t small = 0;
  for (const std::vector<std::string>& values : more) {
    const double rate = std::stod(values[0]);
    EXPECT_GE(rate, 0.001);
    EXPECT_LE(rate, 1);
    small += rate < 0.0316 ? 1 : 0;  // half of them on a logarithmic scale
    steps.insert(values[1]);
  }
  EXPECT_EQ(more.size(), 200U);
  EXPECT_NEAR(static_cast<double>(small), 100, 5 * 7.1);
  EXPECT_THAT(steps, ElementsAre("2", "3", "4"));
  // Another setting beside it changes no draw of this one.
  const auto alone = Values(Plan(ParseSearch(
      kTiny + top + "10\n[vary]\n\"train.learning_rate\" = { low = 0.001, high = 1, scale = \"log\" }\n", "x.toml")));
  for (std::size_t k = 0; k < alone.size(); ++k) EXPECT_EQ(alone[k][0], ten[k][0]);
}

TEST_F(SearchTest, ListsThatAreUsedUpGiveFewerTrials) {
  const Search search = Parse("method = \"random\"\ntrials = 50\n", "\"train.optimizer\" = [\"sgd\", \"adam\"]\n");
  EXPECT_EQ(Plan(search).trials.size(), 2U);
}

TEST_F(SearchTest, RungsDivideTrialsAndBudget) {
  const std::string nine = "\"train.momentum\" = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]\n";
  const auto rungs = Plan(Parse("halving = 3\n", nine)).rungs;
  ASSERT_EQ(rungs.size(), 3U);
  EXPECT_EQ(rungs[0].trials, 9U);
  EXPECT_EQ(rungs[0].updates, 2U);
  EXPECT_EQ(rungs[1].trials, 3U);
  EXPECT_EQ(rungs[1].updates, 6U);
  EXPECT_EQ(rungs[2].trials, 1U);
  EXPECT_EQ(rungs[2].updates, 18U);
  const auto timed =
      Plan(ParseSearch("preset = \"gmm-iso\"\nminutes = 9\nhalving = 3\n[vary]\n" + nine, "x.toml")).rungs;
  ASSERT_EQ(timed.size(), 3U);
  EXPECT_DOUBLE_EQ(timed[0].seconds, 60);
  EXPECT_DOUBLE_EQ(timed[2].seconds, 540);
  // No rung of less than one update.
  const auto few = Plan(ParseSearch("preset = \"gmm-iso\"\nupdates = 2\nhalving = 2\n[vary]\n" + nine, "x.toml")).rungs;
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[0].updates, 1U);
  EXPECT_EQ(few[1].trials, 4U);
}

TEST_F(SearchTest, TrainedTrialsOfLaterRungsAndBetterScoresComeFirst) {
  SearchOptions options;
  options.rank_by = "quick.frechet";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TrialState> states = {Scored(3), Scored(1, 0, "diverged"), Scored(2), Scored(9, 1), Scored(nan)};
  EXPECT_THAT(RankTrials(states, options), ElementsAre(3, 2, 0, 4, 1));
  options.best = Best::kGreatest;
  EXPECT_THAT(RankTrials(states, options), ElementsAre(3, 0, 2, 4, 1));
}

TEST_F(SearchTest, WhatIsBetterIsKnownOfEachScore) {
  SearchOptions options;
  for (const char* name : {"likelihood.nats_held_out", "coverage.recall", "mixing.energy_ess"}) {
    options.rank_by = name;
    EXPECT_TRUE(GreatestIsBest(options)) << name;
  }
  for (const char* name :
       {"quick.frechet", "likelihood.bits_per_dimension_held_out", "mixture.kl_data_model", "fid.fid"}) {
    options.rank_by = name;
    EXPECT_FALSE(GreatestIsBest(options)) << name;
  }
}

TEST_F(SearchTest, OfAnIntervalTheWorseEndCounts) {
  TrialState state = Scored(0);
  Score& score = state.results[0]->metrics["quick"][0];
  score = {"frechet", {}, "", 1, 4};
  EXPECT_EQ(SummarizeSeeds(state, "quick.frechet", false).mean, 4);
  EXPECT_EQ(SummarizeSeeds(state, "quick.frechet", true).mean, 1);
}

// One trial leaves the finite numbers, one has settings that contradict each other.
TEST_F(SearchTest, DivergedAndImpossibleTrialsAreRowsOfTheTable) {
  const Search search = ParseSearch(kTiny + R"(
metrics = "quick,mixture"
[set]
model.hidden = 4
train.burn_in = 1
train.clip_norm = 0
train.learning_rate_schedule = "constant"
[vary]
"train.learning_rate" = [0.02, 1e9]
"sampler.steps" = [4, 1]
)",
                                    "x.toml");
  const SearchPlan plan = Plan(search);
  const std::vector<TrialState> states = Run(search, plan);
  EXPECT_EQ(states[0].Outcome(), "trained");
  EXPECT_THAT(states[1].Outcome(), HasSubstr("refused: train: burn_in = 1: allowed is below sampler.steps = 1"));
  EXPECT_THAT(states[2].Outcome(), StartsWith("diverged at update "));
  const std::string page = ReadFile(WriteSearchPage(search, plan, states));
  EXPECT_THAT(page, HasSubstr("| 1 | 0.02 | 4 | "));
  EXPECT_THAT(page, HasSubstr("| mixture.kl_data_model | outcome |"));
  EXPECT_THAT(page, HasSubstr("diverged at update "));
  EXPECT_THAT(page, HasSubstr("--set train.learning_rate=0.02 --set sampler.steps=4 --set train.epochs=1.8 --seed 1"));
  for (const char* file : {"table.csv", "settings.png", "settings.svg", "time.png"}) {
    EXPECT_GT(std::filesystem::file_size(plan.out + "/" + file), 100U) << file;
  }
}

// Of six, the two best of the first rung, and of those the best.
TEST_F(SearchTest, HalvingKeepsTheBestAndASurvivorHasTheBitsOfARunThatNeverPaused) {
  const std::string vary = "\"train.learning_rate\" = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]\n";
  const Search halved = Parse("halving = 3\nseeds = 2\n", vary);
  const SearchPlan plan = Plan(halved);
  const std::vector<TrialState> states = Run(halved, plan);
  // Independently of RankTrials: means over the two seeds, as the first rung's files have them.
  std::vector<std::pair<double, std::size_t>> first;
  for (std::size_t k = 0; k < 6; ++k) {
    double sum = 0;
    for (const std::string& folder : plan.trials[k].folders) {
      const CellResult result = *ReadResultFile(folder + "/rungs/1.json");
      EXPECT_EQ(result.updates, 6U);
      sum += result.Find("quick", "frechet")->estimate.value;
    }
    first.emplace_back(sum, k);
  }
  std::ranges::sort(first);
  for (std::size_t place = 0; place < 6; ++place) {
    const std::size_t k = first[place].second;
    EXPECT_EQ(states[k].rung, place < 2 ? 1U : 0U) << k;
    EXPECT_EQ(states[k].results[1]->updates, place < 2 ? 18U : 6U) << k;
    EXPECT_EQ(ReadResult(plan.trials[k].folders[0])->updates, place < 2 ? 18U : 6U);
  }

  const Search whole = Parse("seeds = 2\n", vary);
  const SearchPlan whole_plan = Plan(whole, "whole");
  const std::vector<TrialState> undisturbed = Run(whole, whole_plan);
  const std::size_t survivor = first[0].second;
  for (const std::size_t seed : {0, 1}) {
    const std::string paused = plan.trials[survivor].folders[seed];
    const std::string straight = whole_plan.trials[survivor].folders[seed];
    EXPECT_EQ(ReadFile(ModelPath(paused)), ReadFile(ModelPath(straight)));
    EXPECT_EQ(ReadFile(MetricsPath(paused)), ReadFile(MetricsPath(straight)));
    EXPECT_NE(ReadFile(ModelPath(paused)), ReadFile(RungModelPath(plan, paused, 0)));
    EXPECT_EQ(states[survivor].results[seed]->Find("quick", "frechet")->estimate.value,
              undisturbed[survivor].results[seed]->Find("quick", "frechet")->estimate.value);
  }
}

// Stops when the first run has ended.
class StopAtResult : public SearchObserver {
 public:
  void OnResult(const Trial&, std::size_t, const TrialState&) override { stop_ = true; }
  bool ShouldStop() override { return stop_; }

 private:
  bool stop_ = false;
};

TEST_F(SearchTest, StoppedItGoesOnToTheSameResultWithAnyNumberAtOnce) {
  const std::string vary = "\"train.learning_rate\" = [0.01, 0.02, 0.03, 0.04]\n\"train.momentum\" = [0.0, 0.5]\n";
  const Search search = Parse("halving = 2\n", vary);
  const std::vector<TrialState> whole = Run(search, Plan(search));
  Search one = search;
  one.options.at_once = 1;
  int stops = 0;
  std::optional<std::vector<TrialState>> parts;
  for (int round = 0; round < 100 && !parts; ++round) {
    StopAtResult observer;
    parts = RunSearch(one, Plan(one, "parts"), "", observer);
    stops += parts ? 0 : 1;
    if (round > 20) break;
  }
  EXPECT_GE(stops, 1);
  if (!parts) parts = Run(one, Plan(one, "parts"));  // whatever was left
  EXPECT_EQ(RankTrials(whole, search.options), RankTrials(*parts, search.options));
  for (std::size_t k = 0; k < whole.size(); ++k) {
    EXPECT_EQ(whole[k].rung, (*parts)[k].rung);
    EXPECT_EQ(whole[k].results[0]->Find("quick", "frechet")->estimate.value,
              (*parts)[k].results[0]->Find("quick", "frechet")->estimate.value);
  }
}

TEST_F(SearchTest, WhatIsFinishedIsNotTrainedAgainAndOtherScoresAreOnlyMeasured) {
  const std::string vary = "\"train.learning_rate\" = [0.01, 0.02]\n";
  const Search search = Parse("halving = 2\n", vary);
  const SearchPlan plan = Plan(search);
  const std::vector<TrialState> before = Run(search, plan);
  EXPECT_EQ(Plan(search).finished, 1U);  // the other was given up
  const auto written = [&](std::size_t k) {
    return std::filesystem::last_write_time(RungModelPath(plan, plan.trials[k].folders[0], 0));
  };
  const auto times = std::pair(written(0), written(1));
  // Judged by what the models of the first rung say, too.
  const Search other = Parse("halving = 2\nmetrics = \"quick,mixture\"\nrank_by = \"mixture.kl_data_model\"\n", vary);
  const std::vector<TrialState> after = Run(other, Plan(other));
  EXPECT_EQ(std::pair(written(0), written(1)), times);
  for (const std::size_t k : {0, 1}) {
    const CellResult first = *ReadResultFile(RungResultPath(plan, plan.trials[k].folders[0], 0));
    EXPECT_NE(first.Find("mixture", "kl_data_model"), nullptr);
    EXPECT_EQ(first.updates, 9U);
  }
  // With other numbers of samples all is measured again.
  Search fewer = search;
  fewer.options.samples = 30;
  const std::vector<TrialState> again = Run(fewer, plan);
  EXPECT_NE(again[0].results[0]->Find("quick", "frechet")->estimate.value,
            before[0].results[0]->Find("quick", "frechet")->estimate.value);
}

TEST_F(SearchTest, MinutesEndATrial) {
  const Search search = ParseSearch(R"(
preset = "gmm-iso"
minutes = 0.005
samples = 40
set.train.epochs = 100000.0
set.checkpoint.pictures = 0
vary.train.learning_rate = [0.01]
)",
                                    "x.toml");
  const SearchPlan plan = Plan(search);
  const std::vector<TrialState> states = Run(search, plan);
  const CellResult result = *states[0].results[0];
  EXPECT_TRUE(result.trained());
  EXPECT_GE(result.seconds, 0.3);
  EXPECT_LT(result.updates, plan.trials[0].updates);
  EXPECT_GT(result.updates, 0U);
  // A kill before the result was written: nothing is trained beyond the time.
  std::filesystem::remove(ResultPath(plan.trials[0].folders[0]));
  EXPECT_EQ(Run(search, plan)[0].results[0]->updates, result.updates);
}

TEST_F(SearchTest, AGridHasNoMoreTrialsThanCanBe) {
  const std::string good = "preset = \"gmm-iso\"\nupdates = 5\n";
  const std::string wide = "[" + fmt::format("{}", fmt::join(std::vector<int>(50, 1), ", ")) + "]";
  const Search many = ParseSearch(good + "[vary]\ntrain.rate_b = " + wide + "\ntrain.rate_mu = " + wide +
                                      "\ntrain.rate_W = " + wide + "\ntrain.rate_log_var = " + wide + "\n",
                                  "x.toml");
  EXPECT_THAT(ErrorOf([&] { Plan(many); }),
              HasSubstr("x.toml: a grid of 6.25e+06 trials: allowed are at most 1000000"));
}

// A score is one of the model and the data that it was measured on.
TEST_F(SearchTest, ModelsAndDataThatChangedAreNoticed) {
  std::string rows;
  for (int r = 0; r < 40; ++r) rows += fmt::format("{},{}\n", r % 7, r % 5);
  WriteFileAtomically(Path("x.csv"), rows);
  const std::string vary = fmt::format(
      "[set]\ndata.source = \"{}\"\ndata.subset = 0\ntrain.batch_size = 2\nmodel.hidden = 4\n"
      "train.burn_in = 1\nsampler.steps = 4\n[vary]\n\"train.momentum\" = [0.1]\n",
      Path("x.csv"));
  const auto refusal = [&](const std::string& top) {
    const Search search = ParseSearch(kTiny + top + vary, "x.toml");
    return ErrorOf([&] { Run(search, Plan(search)); });
  };
  EXPECT_EQ(refusal(""), "no error");
  EXPECT_EQ(refusal(""), "no error");
  const std::string folder = Plan(ParseSearch(kTiny + vary, "x.toml")).trials[0].folders[0];
  std::string model = ReadFile(ModelPath(folder));
  model.back() = static_cast<char>(model.back() ^ 1);
  WriteFileAtomically(ModelPath(folder), model);
  EXPECT_EQ(refusal(""), "no error");  // what was measured stands
  EXPECT_THAT(refusal("metrics = \"quick,background\"\n"), HasSubstr("x.toml: metrics: background"));
  EXPECT_THAT(
      refusal("seed = 1\nmetrics = \"quick,likelihood\"\n"),
      HasSubstr("model.safetensors: not the model that the search trained to update 18: put it back, or remove"));
  rows[0] = '8';  // as many rows: other numbers of them are other runs
  WriteFileAtomically(Path("x.csv"), rows);
  EXPECT_THAT(refusal(""), HasSubstr("x.csv: the data are no longer those of the run in "));
}

TEST_F(SearchTest, ALostRungIsNotMeasuredOnALaterModel) {
  const Search search = Parse("halving = 3\n", "\"train.learning_rate\" = [0.001, 0.003, 0.01]\n");
  const SearchPlan plan = Plan(search);
  const std::vector<TrialState> states = Run(search, plan);
  const std::string& folder = plan.trials[RankTrials(states, search.options)[0]].folders[0];
  const std::string model = ReadFile(folder + "/rungs/1.safetensors");
  std::filesystem::remove(folder + "/rungs/1.json");
  EXPECT_THAT(ErrorOf([&] { Run(search, plan); }),
              HasSubstr("rungs/1.json is lost, and the run has gone on to update 18: remove"));
  EXPECT_EQ(ReadFile(folder + "/rungs/1.safetensors"), model);
  std::filesystem::remove_all(folder);
  Run(search, plan);
  EXPECT_EQ(ReadFile(folder + "/rungs/1.safetensors"), model);
  EXPECT_EQ(ReadResultFile(folder + "/rungs/1.json")->updates, 6U);
}

TEST_F(SearchTest, ModelsWithConditionsAreSearchedToo) {
  std::string rows = "a,b,c\n";
  for (int r = 0; r < 40; ++r) rows += fmt::format("{},{},{}\n", r % 7, r % 5, r % 3);
  WriteFileAtomically(Path("c.csv"), rows);
  for (const char* given : {"condition = \"c\"", "history = 2"}) {
    const Search search = ParseSearch(
        fmt::format("preset = \"small-mnist\"\nupdates = 4\nrows = 100\nmetrics = \"likelihood\"\nrank_by = "
                    "\"likelihood.nats_training\"\n"
                    "set.data.source = \"{}\"\nset.data.{}\nset.train.batch_size = 4\nset.model.hidden = 3\n"
                    "set.checkpoint.pictures = 0\nvary.train.learning_rate = [0.01]\n",
                    Path("c.csv"), given),
        "x.toml");
    const std::vector<TrialState> states = Run(search, Plan(search, given));
    EXPECT_EQ(states[0].Outcome(), "trained") << given;
    EXPECT_NE(states[0].results[0]->Find("likelihood", "nats_training"), nullptr) << given;
  }
}

// Exact for the first trial, in bounds for the second: what one lacks is a gap in the table, and ends no search.
TEST_F(SearchTest, AScoreThatSomeTrialsLackIsAGap) {
  const std::string top = "metrics = \"likelihood\"\nchains = 4\ntemperatures = 5\nat_once = 1\n";
  const Search search = ParseSearch(
      "preset = \"small-mnist\"\nupdates = 1\nrows = 100\n" + top +
          "rank_by = \"likelihood.log_partition_lower\"\nset.data.source = \"strokes\"\nset.data.subset = 100\n"
          "set.train.batch_size = 50\n"
          "set.checkpoint.pictures = 0\nvary.model.hidden = [24, 3]\n",
      "x.toml");
  const SearchPlan plan = Plan(search);
  const std::vector<TrialState> states = Run(search, plan);
  EXPECT_EQ(states[1].Outcome(), "trained");
  EXPECT_EQ(SummarizeSeeds(states[1], search.options.rank_by, false).text, "—");
  EXPECT_THAT(RankTrials(states, search.options), ElementsAre(0, 1));
  const std::string page = ReadFile(WriteSearchPage(search, plan, states));
  EXPECT_THAT(page, HasSubstr(" --chains 4 --temperatures 5\n"));
}

TEST_F(SearchTest, ATrialThatLacksItsScoreForOneSeedComesBehindThoseThatHaveIt) {
  SearchOptions options;
  options.rank_by = "quick.frechet";
  TrialState failed = Scored(1);
  failed.results.push_back(failed.results[0]);
  failed.results[1]->metrics["quick"] = {{"failed", {}, "samples are not finite"}};
  TrialState whole = Scored(5);
  whole.results.push_back(whole.results[0]);
  EXPECT_THAT(RankTrials({failed, whole}, options), ElementsAre(1, 0));
  EXPECT_EQ(failed.Outcome(), "trained; quick failed: samples are not finite");
  TrialState diverged = whole;
  diverged.results[0]->outcome = diverged.results[1]->outcome = "diverged";
  diverged.results[0]->updates = 7;
  diverged.results[1]->updates = 3;
  EXPECT_EQ(diverged.Outcome(), "2 of 2 seeds diverged, the first at update 4");
}

// A score beyond what a figure can draw is left out of it.
TEST_F(SearchTest, AHugeScoreLeavesThePageWhole) {
  const Search search = Parse("", "\"train.momentum\" = [0.1, 0.2]\n");
  const SearchPlan plan = Plan(search);
  const std::string page = ReadFile(WriteSearchPage(search, plan, {Scored(2), Scored(6e56)}));
  EXPECT_THAT(page, HasSubstr("6e+56"));
}

// A model of finite numbers that no longer can be judged has diverged.
TEST_F(SearchTest, AModelTooFarOutIsARowOfTheTable) {
  const Search search = ParseSearch(
      "preset = \"gmm-iso\"\nupdates = 1\nsamples = 40\nrows = 100\nset.train.clip_norm = 0\n"
      "set.checkpoint.pictures = 0\nset.train.learning_rate_schedule = \"constant\"\n"
      "vary.train.learning_rate = [0.01, 1e30]\n",
      "x.toml");
  const std::vector<TrialState> states = Run(search, Plan(search));
  EXPECT_EQ(states[0].Outcome(), "trained");
  EXPECT_THAT(states[1].Outcome(), StartsWith("diverged at update "));
}

TEST_F(SearchTest, ScoresThatCannotBeHadAreRefusedBeforeAnythingIsTrained) {
  const std::string vary = "\"train.momentum\" = [0.1]\n";
  const auto refusal = [&](const std::string& top) {
    const Search search = Parse(top, vary);
    return ErrorOf([&] { Run(search, Plan(search)); });
  };
  EXPECT_EQ(refusal("rank_by = \"quick.freshet\"\n"),
            "x.toml: rank_by: quick has no score 'freshet' here: did you mean 'frechet'?");
  EXPECT_THAT(refusal("metrics = \"quick,fid\"\n"), HasSubstr("x.toml: metrics: fid: the weights of the Inception"));
  EXPECT_FALSE(std::filesystem::exists(Path("out")));
  const Search impossible =
      ParseSearch(kTiny + "set.train.burn_in = 9\nset.sampler.steps = 4\n[vary]\n" + vary, "x.toml");
  EXPECT_THAT(ErrorOf([&] { Run(impossible, Plan(impossible)); }),
              HasSubstr("x.toml: no trial can be run: train: burn_in"));
}

}  // namespace
}  // namespace grbm
