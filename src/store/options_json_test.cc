#include "store/options_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/hostile_test.h"

namespace grbm {
namespace {

using nlohmann::json;

enum class Shape { kRound, kSquare };

struct Sample {
  bool on = true;
  std::int64_t count = 3;
  double rate = 0.5;
  Shape shape = Shape::kSquare;

  std::vector<Field> Fields() {
    return {{"on", &on, "help"},
            {"count", &count, "help", {.min = -10, .max = 10}},
            {"rate", &rate, "help", {.min = 0, .max = 1}},
            {"shape", MakeChoice(shape, {"round", "square"}), "help"}};
  }
  bool operator==(const Sample&) const = default;
};

TEST(OptionsJson, EveryKindComesBack) {
  Sample sample = {false, -7, 0.1, Shape::kRound};
  const json object = OptionsToJson(sample.Fields());
  EXPECT_EQ(object.dump(), R"({"count":-7,"on":false,"rate":0.1,"shape":"round"})");
  Sample read;
  OptionsFromJson(object, read.Fields(), "t");
  EXPECT_EQ(read, sample);
}

TEST(OptionsJson, WhatIsNotNamedStays) {
  Sample sample;
  OptionsFromJson(json::parse(R"({"rate": 1})"), sample.Fields(), "t");
  EXPECT_EQ(sample, (Sample{.rate = 1.0}));
}

TEST(OptionsJson, ErrorsAreTheFilesNotTheUsers) {
  Sample sample;
  const auto refusal = [&](const std::string& text) {
    return DataMessage([&] { OptionsFromJson(ParseJson(text, 1000, "a"), sample.Fields(), "a"); });
  };
  EXPECT_EQ(refusal(R"({"cuont": 1})"), "a: unknown key 'cuont': did you mean 'count'?");
  EXPECT_EQ(refusal(R"({"count": 11})"), "a: count = 11: allowed is a whole number from -10 to 10");
  EXPECT_EQ(refusal(R"({"on": 1})"), "a: on = 1: allowed is true or false");
  EXPECT_EQ(refusal(R"({"on": [1]})"), "a: on is array: expected is text, a number, true or false");
  EXPECT_EQ(sample, Sample());
}

}  // namespace
}  // namespace grbm
