#include "dashboard/run_text.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/hostile_test.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;

const std::string kDeep = std::string(200'000, '[') + std::string(200'000, ']');

TEST(RunText, ManifestsAreObjectsWithANumberOfRows) {
  EXPECT_EQ(ReadManifestText(R"({"seed":1,"data":{"rows":7}})", "m").rows, 7u);
  EXPECT_EQ(ReadManifestText(R"({"seed":1})", "m").rows, 0u);
  EXPECT_EQ(ReadManifestText(R"({"data":[]})", "m").rows, 0u);
  EXPECT_EQ(DataMessage([] { ReadManifestText("[]", "m"); }), "m: not a manifest: expected is an object");
  EXPECT_EQ(DataMessage([] { ReadManifestText(R"({"data":{"rows":"many"}})", "m"); }),
            "m: data.rows is not a whole number");
  EXPECT_EQ(DataMessage([] { ReadManifestText(R"({"data":{"rows":-1}})", "m"); }),
            "m: data.rows is not a whole number");
  EXPECT_THAT(DataMessage([] { ReadManifestText(kDeep, "m"); }), HasSubstr("more than 8 levels"));
  EXPECT_THAT(DataMessage([] { ReadManifestText(std::string(30'000'000, '['), "m"); }), HasSubstr("bytes of JSON"));
}

TEST(RunText, MetricsAreColumnsOfTheLinesThatCanBeRead) {
  EXPECT_EQ(MetricColumns("{\"update\":1,\"a\":2}\n{\"update\":2,\"b\":3,\"c\":\"x\"}\n").dump(),
            R"({"update":[1,2],"a":[2,null],"b":[null,3],"c":[null,null]})");
  EXPECT_EQ(MetricColumns("{\"update\":1}").dump(), R"({"update":[1]})");  // a line without its end
  for (const std::string& bad :
       {std::string("\n"), std::string("x"), std::string("[]"), std::string("{}"), std::string("{\"update\":\"1\"}"),
        kDeep, "{\"update\":1,\"a\":" + kDeep + "}", std::string("{\"update\":1,\"update\":2}")}) {
    EXPECT_EQ(MetricColumns(bad).dump(), "{}");
    EXPECT_EQ(MetricColumns(bad + "\n{\"update\":3}\n").dump(), R"({"update":[3]})");
  }
  EXPECT_EQ(MetricColumns("").dump(), "{}");
  EXPECT_EQ(
      MetricColumns(R"({"update":1234567890,"a":0.12345678901234567,"b":-9.876543e-12,"c":7654321.5,"d":0.0})").dump(),
      R"({"update":[1234567890],"a":[0.123457],"b":[-9.87654e-12],"c":[7654320.0],"d":[0.0]})");
  for (const double extreme : {1e308, -1.7976931348623157e308, 5e-324, 2e-308}) {
    const double read = MetricColumns(fmt::format("{{\"update\":1,\"a\":{}}}", extreme))["a"][0];
    EXPECT_NEAR(read / extreme, 1, 1e-5);
  }
}

TEST(RunText, NeitherLinesNorColumnsOfMetricsGrowWithoutLimit) {
  std::string text;
  for (int k = 1; k <= 30000; ++k) text += fmt::format("{{\"update\":{},\"a_error\":1}}\n", k);
  const auto columns = MetricColumns(text);
  EXPECT_LE(columns["update"].size(), 22'000u);
  EXPECT_GE(columns["update"].size(), 20'000u);
  EXPECT_EQ(columns["update"].back(), 30000);
  std::string wide = "{\"update\":1";
  for (int k = 0; k < 3000; ++k) wide += fmt::format(",\"{}\":1", k);
  EXPECT_EQ(MetricColumns(wide + "}\n").size(), 200u);
}

TEST(RunText, StartsOfARunAreReadFromItsTimes) {
  const std::string start =
      R"({"update":0,"seconds":0.5,"started":"2026-01-02T03:04:05Z","command":"grbm train x","threads":2})";
  EXPECT_EQ(RunStarts(start + "\n{\"update\":1,\"seconds\":2}\n" + start).dump(),
            R"([{"update":0,"seconds":0.5,"threads":2,"started":"2026-01-02T03:04:05Z","command":"grbm train x"},)"
            R"({"update":0,"seconds":0.5,"threads":2,"started":"2026-01-02T03:04:05Z","command":"grbm train x"}])");
  for (const std::string& bad : {std::string(""), std::string("\"started\""), std::string(R"({"started":"x"})"),
                                 std::string(R"({"update":0,"seconds":0,"started":7})"), std::string(R"(["started"])"),
                                 "{\"update\":0,\"seconds\":0,\"started\":" + kDeep + "}"}) {
    EXPECT_EQ(RunStarts(bad).dump(), "[]") << bad.substr(0, 40);
  }
  std::string many;
  for (int k = 0; k < 3000; ++k) many += start + "\n";
  EXPECT_EQ(RunStarts(many).size(), 1000u);
}

TEST(RunText, EvaluationsAndPointsAreLeftOutWhereTheyAreSomethingElse) {
  EXPECT_EQ(EvaluationScores(R"({"model":"m","quick":{"x":{"value":1}}})").dump(), R"({"quick":{"x":{"value":1}}})");
  EXPECT_EQ(PicturePoints("[[1,2],[3,4.5]]").dump(), "[[1,2],[3,4.5]]");
  for (const std::string& bad : {std::string("[[1]]"), std::string("[[1,\"2\"]]"), std::string("{}"), kDeep,
                                 std::string("[1,2]"), std::string("")}) {
    EXPECT_TRUE(PicturePoints(bad).is_null()) << bad.substr(0, 20);
    EXPECT_EQ(EvaluationScores(bad).dump(), "{}") << bad.substr(0, 20);
  }
}

}  // namespace
}  // namespace grbm
