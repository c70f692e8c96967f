#include "grbm/data/fingerprint.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace grbm {
namespace {

Dataset Floats(std::vector<float> values, Index visible) {
  Matrix matrix(static_cast<Index>(values.size()) / visible, visible);
  std::ranges::copy(values, matrix.values().begin());
  return {std::move(matrix), {}, "floats", {}};
}

TEST(FingerprintTest, ValuesOrderShapeAndStorageCount) {
  std::set<std::uint64_t> seen;
  const auto differs = [&](const Dataset& data) { return seen.insert(Fingerprint(data)).second; };
  EXPECT_TRUE(differs(Floats({1, 2, 3, 4}, 2)));
  EXPECT_TRUE(differs(Floats({1, 2, 3, 4.0000005f}, 2)));
  EXPECT_TRUE(differs(Floats({3, 4, 1, 2}, 2)));
  EXPECT_TRUE(differs(Floats({1, 2, 3, 4}, 4)));
  EXPECT_TRUE(differs(Floats({1, 2, 3, 4, 1, 2}, 2)));
  EXPECT_TRUE(differs({std::vector<std::uint8_t>{1, 2, 3, 4}, 2, {}, "bytes"}));
  EXPECT_TRUE(differs({std::vector<std::uint8_t>{1, 2, 3, 4}, 4, {2, 2, 1}, "bytes"}));
  EXPECT_TRUE(differs({std::vector<std::uint8_t>{1, 2, 3, 4}, 4, {}, "bytes"}));
}

TEST(FingerprintTest, WeightsAndGapsCount) {
  const Dataset data = Floats({1, 2, 3, 4}, 2);
  EXPECT_NE(Fingerprint(data.WithWeights({1, 2})), Fingerprint(data));
  EXPECT_NE(Fingerprint(data.WithWeights({1, 2})), Fingerprint(data.WithWeights({2, 1})));
  Matrix gap = data.ReadAll();
  gap(0, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(Fingerprint(Dataset(gap, {}, "a", {}, false, {}, true)), Fingerprint(data));
}

TEST(FingerprintTest, ConditionsCount) {
  const std::vector<std::size_t> last = {2};
  const auto of = [&](float condition) {
    return Fingerprint(Floats({1, 2, 3, 4, 5, condition}, 3).WithConditions(last));
  };
  EXPECT_EQ(of(6), of(6));
  EXPECT_NE(of(6), of(7));
  const auto of_history = [&](float first) { return Fingerprint(Floats({first, 2, 3, 4}, 1).WithHistory(1)); };
  EXPECT_NE(of_history(1), of_history(9));
  EXPECT_NE(of_history(1), Fingerprint(Floats({2, 3, 4}, 1)));
}

TEST(FingerprintTest, NamesLabelsAndTheWayToTheRowsDoNot) {
  const Dataset all = Floats({1, 2, 3, 4, 5, 6}, 2);
  const Dataset some = Floats({3, 4, 5, 6}, 2);
  const Index rows[] = {1, 2};
  EXPECT_EQ(Fingerprint(all.Select(rows)), Fingerprint(some));
  EXPECT_EQ(Fingerprint(Dataset(some.ReadAll(), {}, "other", {7, 8})), Fingerprint(some));
}

}  // namespace
}  // namespace grbm
