#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grbm/search/search.h"
#include "support/errors.h"

namespace grbm {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Refusal(const std::string& text) {
  return ErrorOf([&] { ParseSearch(text, "x.toml"); });
}

TEST(SearchFile, WrongOnesAreRefusedWithTheirLine) {
  const std::string good = "preset = \"gmm-iso\"\nupdates = 5\n";
  const std::string vary = "[vary]\n\"train.momentum\" = [0.1]\n";
  EXPECT_EQ(Refusal(good + vary), "no error");
  EXPECT_THAT(Refusal("preset = \n"), StartsWith("x.toml:1: not valid TOML: "));
  EXPECT_EQ(Refusal(good + "updats = 5\n" + vary), "x.toml:3: unknown key 'updats': did you mean 'updates'?");
  EXPECT_THAT(Refusal("preset = \"gmn-iso\"\nupdates = 5\n" + vary),
              HasSubstr("x.toml:1: preset: unknown preset 'gmn-iso'"));
  EXPECT_EQ(Refusal(good + "minutes = 1\n" + vary),
            "x.toml:3: minutes: updates are given, too: allowed is one of the two");
  EXPECT_EQ(Refusal("preset = \"gmm-iso\"\n" + vary),
            "x.toml: updates: the budget of a trial: give updates or minutes");
  EXPECT_THAT(Refusal(good), HasSubstr("x.toml: nothing is varied"));
  EXPECT_EQ(Refusal(good + "[vary]\n\"train.momentum\" = []\n"),
            "x.toml:4: [vary] train.momentum: the list is empty: give at least one value");
  EXPECT_EQ(Refusal(good + "[vary]\n\"train.momentun\" = [1]\n"),
            "x.toml:4: [vary] train.momentun: unknown key 'momentun': did you mean 'momentum'?");
  EXPECT_THAT(Refusal(good + "[vary]\n\"train.momentum\" = [0.5, 1.5]\n"),
              HasSubstr("x.toml:4: [vary] train.momentum: momentum = 1.5: allowed is"));
  EXPECT_THAT(Refusal(good + "[vary]\n\"train.epochs\" = [1, 2]\n"), HasSubstr("updates = 5 says how long a trial is"));
  EXPECT_THAT(Refusal(good + "[set]\n\"train.momentum\" = 0.3\n" + vary), HasSubstr("it stands in [set], too"));
  EXPECT_THAT(Refusal(good + "[vary]\n\"train.momentum\" = { low = 0, high = 1 }\n"), HasSubstr("a grid takes a list"));
  const std::string random = good + "method = \"random\"\ntrials = 3\n[vary]\n\"train.momentum\" = ";
  EXPECT_THAT(Refusal(random + "{ low = 0.1, hihg = 1 }\n"), HasSubstr("unknown key 'hihg': did you mean 'high'?"));
  EXPECT_THAT(Refusal(random + "{ low = 0.1 }\n"), HasSubstr("high is missing"));
  EXPECT_THAT(Refusal(random + "{ low = 0.9, high = 0.1 }\n"), HasSubstr("allowed is low below high"));
  EXPECT_THAT(Refusal(random + "{ low = 0.0, high = 0.1, scale = \"log\" }\n"), HasSubstr("allowed is above 0"));
  EXPECT_THAT(Refusal(random + "{ low = 0.0, high = 2.0 }\n"), HasSubstr("momentum = 2: allowed is"));
  EXPECT_THAT(Refusal(random + "{ low = 0.2, high = 0.8, integer = true }\n"),
              HasSubstr("there is no whole number from 0.2 to 0.8"));
  EXPECT_THAT(Refusal(good + vary + "[vary.train]\nmomentum = [0.2]\n"),
              HasSubstr("[vary] train.momentum: it stands there twice"));
  EXPECT_THAT(Refusal(good + "[set]\n\"train.momentum\" = 0.3\ntrain.momentum = 0.4\n[vary]\n\"model.hidden\" = [1]\n"),
              HasSubstr("[set] train.momentum: it stands there twice"));
  EXPECT_EQ(Refusal(good + "method = \"random\"\n" + vary), "x.toml: trials: how many are drawn: at least 1");
  EXPECT_THAT(Refusal(good + "trials = 3\n" + vary), HasSubstr("x.toml:3: trials: the lists decide"));
  EXPECT_THAT(Refusal(good + "halving = 1\n" + vary), HasSubstr("x.toml:3: halving: "));
  EXPECT_EQ(Refusal(good + "metrics = \"quikc\"\n" + vary),
            "x.toml:3: metrics: unknown metric 'quikc': did you mean 'quick'?");
  EXPECT_THAT(
      Refusal(good + "rank_by = \"likelihood.nats_training\"\n" + vary),
      HasSubstr("x.toml:3: rank_by: 'likelihood.nats_training': allowed are scores of the metrics of this search"));
  EXPECT_THAT(Refusal(good + "metrics = \"mixture\"\n" + vary), HasSubstr("rank_by: the score that decides"));
}

}  // namespace
}  // namespace grbm
