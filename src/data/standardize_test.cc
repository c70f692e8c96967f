#include "grbm/data/standardize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "grbm/core/error.h"
#include "grbm/core/random.h"
#include "grbm/data/info.h"

namespace grbm {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::ThrowsMessage;

// Two rows of 1 × 2 pixels of 3 channels.
Dataset Colours() {
  return {std::vector<std::uint8_t>{0, 10, 7, 4, 20, 7, 8, 30, 7, 12, 40, 7}, 6, {1, 2, 3}, "colours", {1, 1}};
}

Matrix Random(Index rows, Index cols, float mean) {
  const Stream stream(1, Purpose::kExact);
  Matrix values(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) values(r, c) = mean + stream.Normal(static_cast<std::uint64_t>(r), 0, c);
  }
  return values;
}

TEST(ComputeStandardization, OnePerChannel) {
  const Standardization s = ComputeStandardization(Colours(), Standardize::kChannel);
  const float first = std::sqrt(20.0f);  // 0, 4, 8, 12
  const float second = std::sqrt(125.0f);
  EXPECT_THAT(s.mean, ElementsAre(6, 25, 7, 6, 25, 7));
  EXPECT_THAT(s.deviation, ElementsAre(first, second, 1, first, second, 1));
}

// What is known alone counts: column by column, and of all values together.
TEST(ComputeStandardization, IsOfKnownValues) {
  constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
  Matrix values(4, 2);
  std::ranges::copy(std::initializer_list<float>{1, 10, 3, kMissing, kMissing, 16, 5, kMissing},
                    values.values().begin());
  const Dataset data(values, {}, "gaps", {}, false, {}, true);
  const Standardization pixel = ComputeStandardization(data, Standardize::kPixel);
  EXPECT_THAT(pixel.mean, ElementsAre(3, 13));
  EXPECT_THAT(pixel.deviation, ElementsAre(std::sqrt(8.0f / 3), 3));
  const Standardization all = ComputeStandardization(data, Standardize::kChannel);
  EXPECT_THAT(all.mean, Each(7));  // 1, 3, 5, 10, 16
  EXPECT_FLOAT_EQ(all.deviation[0], std::sqrt((36 + 16 + 4 + 9 + 81) / 5.0f));
  EXPECT_THAT(Describe(data).missing, ElementsAre(0.25, 0.5));
  for (Index r = 0; r < 4; ++r) values(r, 1) = kMissing;
  EXPECT_THROW(ComputeStandardization(Dataset(values, {}, "gaps", {}, false, {}, true), Standardize::kPixel),
               DataError);
}

TEST(ComputeStandardization, WeightsAreAsRepeatedRows) {
  const Matrix few = Random(4, 3, 5);
  const Dataset data(few, {}, "a");
  const Dataset repeated = data.Select(std::vector<Index>{0, 2, 2, 2, 3, 3});
  const Dataset weighted = data.WithWeights({0.5, 0, 1.5, 1});
  for (const Standardize kind : {Standardize::kChannel, Standardize::kPixel}) {
    const Standardization a = ComputeStandardization(repeated, kind);
    const Standardization b = ComputeStandardization(weighted, kind);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_FLOAT_EQ(a.mean[i], b.mean[i]);
      EXPECT_FLOAT_EQ(a.deviation[i], b.deviation[i]);
    }
  }
}

// The mean and deviation are those of the values as they are moved, whatever the weights; what has values below 0 stays.
TEST(ComputeStandardization, WithAMarginIsThatOfTheValuesAsMoved) {
  Matrix values = Random(400, 4, 0);  // the last column has values below 0, and of the third none is 0
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index i = 0; i < 3; ++i) values(r, i) = std::max(0.0f, 3 * values(r, i)) + (i == 2 ? 0.5f : 0.0f);
  }
  std::vector<double> weights(400);
  for (std::size_t r = 0; r < weights.size(); ++r) weights[r] = 0.5 + static_cast<double>(r % 3);
  const Dataset data = Dataset(values, {}, "a").WithWeights(weights);
  const Standardization plain = ComputeStandardization(data, Standardize::kPixel);
  const Standardization s = ComputeStandardization(data, Standardize::kPixel, 0.5);
  EXPECT_TRUE(plain.margin.empty());
  EXPECT_THAT(s.margin, ElementsAre(0.5f * plain.deviation[0], 0.5f * plain.deviation[1], 0, 0));
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index i = 0; i < 2; ++i) values(r, i) -= values(r, i) == 0 ? s.margin[static_cast<std::size_t>(i)] : 0.0f;
  }
  const Dataset moved = Dataset(values, {}, "b").WithWeights(weights);
  const Standardization expected = ComputeStandardization(moved, Standardize::kPixel);
  const Standardization units = UnitStatistics(data, s);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(s.mean[i], expected.mean[i], 1e-6f) << i;
    EXPECT_NEAR(s.deviation[i], expected.deviation[i], 1e-6f) << i;
    EXPECT_NEAR(units.mean[i], 0, 1e-6f) << i;
    EXPECT_NEAR(units.deviation[i], 1, 1e-6f) << i;
  }
  EXPECT_EQ(s.mean[3], plain.mean[3]);
}

TEST(ComputeStandardization, MarginsAreOfChannelsTooAndOfConstants) {
  const Dataset images(std::vector<std::uint8_t>{0, 10, 0, 4, 20, 0, 8, 0, 0, 12, 40, 0}, 6, {1, 2, 3}, "images",
                       {1, 1});
  const Standardization plain = ComputeStandardization(images, Standardize::kChannel);
  const Standardization s = ComputeStandardization(images, Standardize::kChannel, 2);
  EXPECT_THAT(s.margin, ElementsAre(2 * plain.deviation[0], 2 * plain.deviation[1], 2, 2 * plain.deviation[0],
                                    2 * plain.deviation[1], 2));
  EXPECT_THAT(s.mean[2], -2);  // black throughout
  EXPECT_THAT(s.deviation[2], 1);
  EXPECT_FLOAT_EQ(s.mean[0], (-s.margin[0] + 4 + 8 + 12) / 4);
  EXPECT_THAT(UnitStatistics(images, s).deviation[2], 0);
  EXPECT_THAT(UnitStatistics(images, s).mean[5], 0);
}

TEST(ComputeStandardization, AMarginNeedsZerosAndDeviations) {
  const Dataset data(Random(5, 2, 9), {}, "a.csv");
  EXPECT_THAT(
      [&] { ComputeStandardization(data, Standardize::kChannel, 0.3); },
      ThrowsMessage<DataError>(
          "a.csv: data.margin = 0.3 is of values of which the least is 0, as black is: there are none here: set "
          "it to 0"));
  EXPECT_THAT([&] { ComputeStandardization(Colours(), Standardize::kNone, 0.3); },
              ThrowsMessage<ConfigError>(::testing::HasSubstr("with data.standardize=none there are none")));
}

TEST(ComputeStandardization, OnePerPixel) {
  const Standardization s = ComputeStandardization(Colours(), Standardize::kPixel);
  EXPECT_THAT(s.mean, ElementsAre(4, 20, 7, 8, 30, 7));
  EXPECT_THAT(s.deviation, ElementsAre(4, 10, 1, 4, 10, 1));
}

// Channel by channel 0, 4, 8, 12 and 10, 20, 30, 40 and 7.
TEST(UnitStatistics, AreOfEachUnitOnTheModelsScale) {
  const Dataset data = Colours();
  const Standardization of_data = UnitStatistics(data, {});
  EXPECT_THAT(of_data.mean, ElementsAre(4, 20, 7, 8, 30, 7));
  EXPECT_THAT(of_data.deviation, ElementsAre(4, 10, 0, 4, 10, 0));
  const Standardization s = UnitStatistics(data, ComputeStandardization(data, Standardize::kChannel));
  const auto near = [](double x) { return ::testing::FloatNear(static_cast<float>(x), 1e-6f); };
  EXPECT_THAT(s.mean, ElementsAre(near(-2 / std::sqrt(20)), near(-5 / std::sqrt(125)), near(0), near(2 / std::sqrt(20)),
                                  near(5 / std::sqrt(125)), near(0)));
  EXPECT_THAT(s.deviation, ElementsAre(near(4 / std::sqrt(20)), near(10 / std::sqrt(125)), near(0),
                                       near(4 / std::sqrt(20)), near(10 / std::sqrt(125)), near(0)));
}

TEST(ComputeStandardization, NoneIsTheIdentity) {
  EXPECT_TRUE(ComputeStandardization(Colours(), Standardize::kNone).identity());
}

TEST(ComputeStandardization, RowsThatAreNotImagesAreOneChannel) {
  Matrix values(2, 2);
  values(0, 0) = 1;
  values(0, 1) = 2;
  values(1, 0) = 3;
  values(1, 1) = 6;
  const Dataset data(values, {}, "table");
  const Standardization channel = ComputeStandardization(data, Standardize::kChannel);
  EXPECT_THAT(channel.mean, ElementsAre(3, 3));
  EXPECT_THAT(channel.deviation, Each(std::sqrt(3.5f)));
  const Standardization pixel = ComputeStandardization(data, Standardize::kPixel);
  EXPECT_THAT(pixel.mean, ElementsAre(2, 4));
  EXPECT_THAT(pixel.deviation, ElementsAre(1, 2));
}

TEST(ComputeStandardization, StandardizedDataHaveMeanZeroAndDeviationOne) {
  // 1000 rows: several blocks, the last one partial. Far from zero, where naive sums of squares cancel.
  for (const float mean : {0.0f, 1e6f}) {
    const Matrix values = Random(1000, 7, mean);
    const Dataset data(values, {}, "random");
    for (const Standardize kind : {Standardize::kChannel, Standardize::kPixel}) {
      Matrix mapped = values;
      ComputeStandardization(data, kind).Apply(mapped);
      const DataInfo info = Describe(Dataset(mapped, {}, "mapped"));
      EXPECT_NEAR(info.mean, 0, mean == 0 ? 1e-7 : 0.05);  // the mean is rounded to a float: 1/16 at 1e6
      EXPECT_NEAR(info.deviation, 1, mean == 0 ? 1e-6 : 1e-3);
    }
  }
}

TEST(ComputeStandardization, AConstantThatRoundsStaysConstant) {
  Matrix values(1001, 2);
  for (float& value : values.values()) value = 0.1f;
  for (const Standardize kind : {Standardize::kChannel, Standardize::kPixel}) {
    const Standardization s = ComputeStandardization(Dataset(values, {}, "constant"), kind);
    EXPECT_THAT(s.mean, Each(0.1f));
    EXPECT_THAT(s.deviation, Each(1));
  }
}

TEST(ComputeStandardization, IsThatOfTheSelectedRows) {
  const Dataset data = Colours().Select(std::vector<Index>{1});
  EXPECT_THAT(ComputeStandardization(data, Standardize::kPixel).mean, ElementsAre(8, 30, 7, 12, 40, 7));
}

TEST(ComputeStandardization, IsValidForAnyFiniteData) {
  Matrix values(2, 2);
  values(0, 0) = 3e38f;
  values(1, 0) = -3e38f;
  values(0, 1) = 1e-45f;
  for (const Standardize kind : {Standardize::kChannel, Standardize::kPixel}) {
    EXPECT_NO_THROW(CheckStandardization(ComputeStandardization(Dataset(values, {}, "extreme"), kind), 2, "extreme"));
  }
}

TEST(Describe, SaysWhatIsThere) {
  const DataInfo info = Describe(Colours());
  EXPECT_EQ(info.source, "colours");
  EXPECT_EQ(info.rows, 2);
  EXPECT_EQ(info.visible, 6);
  EXPECT_EQ(info.shape, (ImageShape{1, 2, 3}));
  EXPECT_EQ(info.dtype, "u8");
  EXPECT_EQ(info.min, 0);
  EXPECT_EQ(info.max, 40);
  EXPECT_NEAR(info.mean, 152.0 / 12, 1e-12);
  EXPECT_NEAR(info.deviation, std::sqrt(3420.0 / 12 - 152.0 * 152.0 / 144), 1e-12);
  EXPECT_EQ(info.constant_units, 2);
  EXPECT_THAT(info.labels, ElementsAre(Pair(1, 2)));
  EXPECT_EQ(Describe(Dataset(Random(3, 2, 0), {}, "floats")).dtype, "f32");
}

}  // namespace
}  // namespace grbm
