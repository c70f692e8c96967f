#include "grbm/core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grbm/core/error.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;

enum class Shape { kRound, kSquare };

struct Sample {
  bool on = true;
  std::int64_t count = 3;
  double rate = 0.5;
  Shape shape = Shape::kSquare;
  std::string label = "none";

  std::vector<Field> Fields() {
    return {{"on", &on, "help"},
            {"count", &count, "help", {.min = 1, .max = 10}},
            {"rate", &rate, "help", {.min = 0, .max = 1, .min_open = true}},
            {"shape", MakeChoice(shape, {"round", "square"}), "help"},
            {"label", &label, "help"}};
  }
};

// The message of the ConfigError that `action` throws.
template <typename Action>
std::string Message(Action action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

TEST(Options, EveryKindReadsBackWhatWasAssigned) {
  Sample sample;
  const auto fields = sample.Fields();
  AssignText(fields[0], "false", "t");
  AssignText(fields[1], "7", "t");
  AssignText(fields[2], "0.25", "t");
  AssignText(fields[3], "round", "t");
  EXPECT_FALSE(sample.on);
  EXPECT_EQ(sample.count, 7);
  EXPECT_EQ(sample.rate, 0.25);
  EXPECT_EQ(sample.shape, Shape::kRound);
  AssignText(fields[4], "3 of 4", "t");
  EXPECT_EQ(sample.label, "3 of 4");
  EXPECT_EQ(ValueText(fields[3]), "\"round\"");
  Assign(fields[2], std::int64_t{1}, "t");  // a whole number serves for a fraction
  EXPECT_EQ(sample.rate, 1.0);
}

TEST(Options, ErrorsNameWhereWhatAndWhatIsAllowed) {
  Sample sample;
  const auto fields = sample.Fields();
  EXPECT_EQ(Message([&] { AssignText(fields[1], "11", "a.toml:3"); }),
            "a.toml:3: count = 11: allowed is a whole number from 1 to 10");
  EXPECT_EQ(Message([&] { AssignText(fields[2], "0", "x"); }),
            "x: rate = 0: allowed is a number above 0 and at most 1");
  EXPECT_EQ(Message([&] { AssignText(fields[3], "oval", "x"); }),
            "x: shape = \"oval\": allowed is one of \"round\", \"square\"");
  EXPECT_THAT(Message([&] { AssignText(fields[1], "3x", "x"); }), HasSubstr("count = 3x"));
  EXPECT_THAT(Message([&] { AssignText(fields[0], "yes", "x"); }), HasSubstr("true or false"));
  EXPECT_THAT(Message([&] { AssignText(fields[2], "nan", "x"); }), HasSubstr("rate = nan"));
  EXPECT_THAT(Message([&] { Assign(fields[1], 2.5, "x"); }), HasSubstr("whole number"));
  EXPECT_THAT(Message([&] { Assign(fields[4], true, "x"); }), HasSubstr("label = true: allowed is text"));
  EXPECT_EQ(sample.count, 3);  // nothing was half assigned
}

// A third of the word's letters may be wrong; neighbours that are swapped count once.
TEST(Options, OnlyWordsThatAreNearAreMeant) {
  const std::vector<std::string_view> known = {"a", "fid", "kid", "steps", "reconstruction"};
  const auto meant = [&](std::string_view word) { return DidYouMean(word, known); };
  EXPECT_EQ(meant("zz"), "");
  EXPECT_EQ(meant("b"), "");
  EXPECT_EQ(meant("foo"), "");
  EXPECT_EQ(meant("fod"), ": did you mean 'fid'?");
  EXPECT_EQ(meant("ifd"), ": did you mean 'fid'?");
  EXPECT_EQ(meant("stpes"), ": did you mean 'steps'?");
  EXPECT_EQ(meant("stops"), ": did you mean 'steps'?");
  EXPECT_EQ(meant("stopd"), "");
  EXPECT_EQ(meant("recnstuctoin"), ": did you mean 'reconstruction'?");
  EXPECT_EQ(meant("rxcxxstxuctxon"), "");
}

TEST(Options, UnknownKeysGetTheNearestName) {
  Sample sample;
  const auto fields = sample.Fields();
  EXPECT_EQ(Message([&] { FindField(fields, "cuont", "x"); }), "x: unknown key 'cuont': did you mean 'count'?");
  EXPECT_EQ(Message([&] { FindField(fields, "zzzzzz", "x"); }),
            "x: unknown key 'zzzzzz': known are on, count, rate, shape, label");
}

TEST(Options, OptionsSetInCodeAreCheckedToo) {
  Sample sample;
  EXPECT_NO_THROW(CheckFields(sample.Fields(), "x"));
  sample.count = 0;
  EXPECT_THAT(Message([&] { CheckFields(sample.Fields(), "x"); }), HasSubstr("count = 0"));
}

}  // namespace
}  // namespace grbm
