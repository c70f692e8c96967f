#include "grbm/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/hostile_test.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Dataset Bytes() { return {std::vector<std::uint8_t>{0, 1, 2, 3, 254, 255}, 2, {1, 2, 1}, "bytes", {7, 8, 9}}; }

Matrix Floats() {
  Matrix values(2, 3);
  for (Index i = 0; i < 6; ++i) values.data()[i] = 0.5f * static_cast<float>(i) - 1;
  return values;
}

TEST(Dataset, ReadsBytesAsFloatsInTheirOwnUnits) {
  const Dataset data = Bytes();
  EXPECT_EQ(data.rows(), 3);
  EXPECT_EQ(data.visible(), 2);
  EXPECT_TRUE(data.is_8bit());
  EXPECT_EQ(data.shape(), (ImageShape{1, 2, 1}));
  EXPECT_EQ(data.source(), "bytes");
  EXPECT_THAT(data.labels(), ElementsAre(7, 8, 9));
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(0, 1, 2, 3, 254, 255));
  EXPECT_THAT(data.Read(1, 1).values(), ElementsAre(2, 3));
}

TEST(Dataset, ReadsRowsInTheOrderAskedForAndLeavesTheRestOfTheMatrix) {
  Matrix out(3, 3);
  const std::vector<Index> rows = {2, 0, 2};
  Bytes().Read(rows, MutableMatrix(out.data(), 3, 2, 3));
  EXPECT_THAT(out.values(), ElementsAre(254, 255, 0, 0, 1, 0, 254, 255, 0));
}

TEST(Dataset, FloatsComeBackBitForBit) {
  Matrix values = Floats();
  values(0, 0) = std::numeric_limits<float>::denorm_min();
  values(0, 1) = -0.0f;
  values(0, 2) = std::numeric_limits<float>::max();
  const Dataset data(values, {}, "floats");
  EXPECT_FALSE(data.is_8bit());
  EXPECT_FALSE(data.shape().known());
  EXPECT_THAT(data.labels(), IsEmpty());
  EXPECT_EQ(data.ReadAll(), values);
  EXPECT_TRUE(std::signbit(data.ReadAll()(0, 1)));
}

TEST(Dataset, SelectionsSelectFromSelections) {
  const std::vector<Index> order = {2, 1, 0};
  const std::vector<Index> first_two = {0, 1};
  const Dataset data = Bytes().Select(order).Select(first_two);
  EXPECT_EQ(data.rows(), 2);
  EXPECT_THAT(data.labels(), ElementsAre(9, 8));
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(254, 255, 2, 3));
  EXPECT_EQ(Bytes().Select({}).rows(), 0);
}

TEST(Dataset, CopiesShareTheValues) {
  const Dataset data = Bytes();
  const Dataset copy = data;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.row(1), data.row(1));
  EXPECT_EQ(data.Select(std::vector<Index>{1}).row(0), data.row(1));
}

TEST(Dataset, ReadsFloatsThatAreNotAligned) {
  auto owner = std::make_shared<std::string>(1 + 2 * sizeof(float), '\0');
  const float values[] = {1.5f, -2.5f};
  std::memcpy(owner->data() + 1, values, sizeof(values));
  const void* start = owner->data() + 1;
  const Dataset data(Dataset::Storage{owner, start, false, 1, 2, {}, "unaligned"});
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(1.5f, -2.5f));
}

TEST(Dataset, RefusesWhatIsNotFiniteAndNamesThePlace) {
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    Matrix values = Floats();
    values(1, 2) = bad;
    EXPECT_THAT(DataMessage([&] { Dataset(values, {}, "a.npy"); }),
                HasSubstr("a.npy: row 1, column 2 (counted from 0): the value is "));
  }
}

TEST(Dataset, TakesGapsWhereTheyAreAskedFor) {
  Matrix values = Floats();
  EXPECT_FALSE(Dataset(values, {}, "a", {}, false, {}, true).has_gaps());
  values(1, 2) = std::nanf("");
  const Dataset data(values, {}, "a", {}, false, {}, true);
  EXPECT_TRUE(data.has_gaps());
  EXPECT_TRUE(std::isnan(data.ReadAll()(1, 2)));
  EXPECT_THAT(DataMessage([&] { data.RequireNoGaps("score"); }), HasSubstr("score: a has missing values: whole rows"));
  values(0, 0) = HUGE_VALF;
  EXPECT_THROW(Dataset(values, {}, "a", {}, false, {}, true), DataError);
}

TEST(Dataset, ValuesMayBeMissingWhereConditionsAreKnown) {
  Matrix values = Floats();
  values(1, 2) = std::nanf("");
  const Dataset data(values, {}, "a", {}, false, {}, true);
  const std::vector<std::size_t> first = {0};
  const Dataset given = data.WithConditions(first);
  EXPECT_TRUE(given.has_gaps());
  EXPECT_EQ(given.visible(), values.cols() - 1);
  EXPECT_TRUE(std::isnan(given.ReadAll()(1, 1)));
  const std::vector<std::size_t> last = {2};
  EXPECT_THAT(DataMessage([&] { data.WithConditions(last); }),
              HasSubstr("a: row 1 (counted from 0): a condition is missing"));
}

TEST(Dataset, NamesAreThoseThatAreExpected) {
  const Dataset nameless(Floats(), {}, "a");
  const Dataset data = nameless.WithNames({.columns = {"a", "b", "u"}, .labels = {}, .notes = {}});
  const std::size_t last[] = {2};
  const Dataset given = data.WithConditions(last);
  EXPECT_THAT(given.names().columns, ElementsAre("a", "b"));
  EXPECT_THAT(given.names().conditions, ElementsAre("u"));
  const auto message = [&](std::vector<std::string> columns, std::vector<std::string> conditions) {
    return DataMessage([&] { given.CheckNames(columns, conditions, "the model"); });
  };
  const std::string none = "(nothing was thrown)";
  EXPECT_EQ(message({"a", "b"}, {"u"}), none);
  EXPECT_EQ(message({}, {}), none);
  EXPECT_THAT(message({"b", "a"}, {}),
              HasSubstr("its column 1 is 'a', that of the model 'b': name them in that order"));
  EXPECT_THAT(message({"a", "c"}, {}), HasSubstr("its column 2 is 'b', that of the model 'c': rename it"));
  EXPECT_THAT(message({}, {"w"}), HasSubstr("its condition 1 is 'u', that of the model 'w': rename it"));
  const std::string model[] = {"x"};
  EXPECT_NO_THROW(nameless.CheckNames(model, {}, "the model"));  // of places alone
}

TEST(Dataset, RowsCarryTheirWeights) {
  const Dataset data = Dataset(Floats(), {}, "a").WithWeights({0.5, 2});
  EXPECT_THAT(data.weights(), ElementsAre(0.5, 2));
  EXPECT_THAT(data.Select(std::vector<Index>{1, 0, 1}).weights(), ElementsAre(2, 0.5, 2));
  EXPECT_TRUE(data.WithWeights({}).weights().empty());
  const auto refused = [&](const std::vector<double>& weights) {
    return DataMessage([&] { data.WithWeights(weights); });
  };
  EXPECT_EQ(refused({1}), "a: 1 weights for 2 rows: expected is one for each");
  EXPECT_EQ(refused({1, -1}),
            "a: the weight of row 1 (counted from 0) is -1: allowed are finite numbers of at least 0");
  EXPECT_THAT(refused({NAN, 1}), HasSubstr("the weight of row 0 (counted from 0) is nan"));
  EXPECT_THAT(refused({1, HUGE_VAL}), HasSubstr("is inf"));
  EXPECT_EQ(refused({0, 0}), "a: the weights add up to 0: at least one must be above 0, and their sum finite");
}

TEST(Dataset, RefusesNoRowsAndLabelsOfAnotherNumber) {
  EXPECT_EQ(DataMessage([] { Dataset(Matrix(0, 3), {}, "a"); }),
            "a: 0 rows of 3 values: expected is at least one of each");
  EXPECT_EQ(DataMessage([] { Dataset(Matrix(3, 0), {}, "a"); }),
            "a: 3 rows of 0 values: expected is at least one of each");
  EXPECT_EQ(DataMessage([] {
              Dataset(Floats(), {}, "a", {1, 2, 3});
            }),
            "a: 3 labels for 2 rows: expected is one for each");
}

TEST(Dataset, TheDefaultIsEmpty) {
  const Dataset data;
  EXPECT_EQ(data.rows(), 0);
  EXPECT_EQ(data.visible(), 0);
  EXPECT_EQ(data.ReadAll().rows(), 0);
}

TEST(Dataset, RefusesWrongCalls) {
  const Dataset data = Bytes();
  EXPECT_EQ(DataMessage([&] { data.row(3); }),
            "bytes: 1 rows from row 3 on were asked for: there are 3, counted from 0");
  EXPECT_THROW(data.row(-1), DataError);
  EXPECT_THROW(data.Read(1, 3), DataError);
  EXPECT_THROW(data.Read(4, 0), DataError);
  EXPECT_THROW(data.Read(0, -1), DataError);
  EXPECT_THROW(data.Select(std::vector<Index>{0, 3}), DataError);
  Matrix narrow(2, 1);
  EXPECT_THROW(data.Read(0, narrow.view()), DataError);
  Matrix tall(2, 2);
  EXPECT_THROW(data.Read(std::vector<Index>{0}, tall), DataError);
  EXPECT_THROW(Dataset(std::vector<std::uint8_t>(5), 2, {}, "odd"), DataError);
  EXPECT_THROW(Dataset(std::vector<std::uint8_t>(6), 2, {1, 3, 1}, "other shape"), DataError);
}

}  // namespace
}  // namespace grbm
