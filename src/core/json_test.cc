#include "core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/hostile_test.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;

TEST(ParseJson, KeysMayComeAgainInOtherObjects) {
  EXPECT_NO_THROW(ParseJson(R"({"a":{"a":1},"b":{"a":2},"c":[{"a":3},{"a":4}]})", 100, "t"));
  EXPECT_EQ(DataMessage([] { ParseJson(R"({"b":{"a":1,"a":2}})", 100, "t"); }), "t: the key 'a' is there twice");
  EXPECT_EQ(DataMessage([] { ParseJson(R"({"a":{"c":{}},"a":2})", 100, "t"); }), "t: the key 'a' is there twice");
}

TEST(ParseJson, LimitsLengthAndDepth) {
  EXPECT_NO_THROW(ParseJson("[[[[[[[[1]]]]]]]]", 100, "t"));
  EXPECT_EQ(DataMessage([] { ParseJson("[[[[[[[[[1]]]]]]]]]", 100, "t"); }), "t: more than 8 levels of JSON");
  EXPECT_EQ(DataMessage([] { ParseJson("[1,2]", 4, "t"); }), "t: 5 bytes of JSON: allowed are 4");
  EXPECT_THAT(DataMessage([] { ParseJson("\"\xff\"", 100, "t"); }), HasSubstr("not valid JSON"));
}

TEST(ParseJson, NeitherDepthNorLengthCostsMemory) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(DataMessage([&] { ParseJson(deep, 1 << 20, "t"); }), "t: more than 8 levels of JSON");
  EXPECT_EQ(DataMessage([&] { ParseJson<nlohmann::ordered_json>(deep, 1 << 20, "t"); }),
            "t: more than 8 levels of JSON");
  EXPECT_THAT(DataMessage([&] { ParseJson(deep, 1000, "t"); }), HasSubstr("400000 bytes of JSON: allowed are 1000"));
}

TEST(ParseJson, KeepsTheOrderOfKeysWhereAsked) {
  EXPECT_EQ(ParseJson<nlohmann::ordered_json>(R"({"b":1,"a":2})", 100, "t").dump(), R"({"b":1,"a":2})");
  EXPECT_EQ(ParseJson(R"({"b":1,"a":2})", 100, "t").dump(), R"({"a":2,"b":1})");
}

}  // namespace
}  // namespace grbm
