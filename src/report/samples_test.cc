#include "grbm/report/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "grbm/core/file.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ModelFile MakeFile(Index visible, const ImageShape& shape) {
  return {.model = Model::Initial(visible, 2, 1), .image_shape = shape};
}

Matrix Rows(Index rows, Index cols, std::initializer_list<float> values) {
  Matrix matrix(rows, cols);
  std::ranges::copy(values, matrix.values().begin());
  return matrix;
}

TEST(SamplesTest, EightBitDataAreShownFromBlackToWhite) {
  ModelFile file = MakeFile(4, {2, 2, 1});
  file.provenance["bits"] = "8";
  const GridOptions range = ShownRange(file, Rows(1, 4, {10, 20, 30, 40}));
  EXPECT_EQ(range.low, 0);
  EXPECT_EQ(range.high, 255);
}

TEST(SamplesTest, OtherDataAreShownInTheirRangeAsFarAsItIsFinite) {
  const ModelFile file = MakeFile(4, {2, 2, 1});
  const GridOptions range = ShownRange(file, Rows(1, 4, {-3, kNan, 5, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 5);
  for (const float value : {kNan, 7.0f}) {
    const GridOptions flat = ShownRange(file, Rows(1, 4, {value, value, value, value}));
    EXPECT_LT(flat.low, flat.high);
  }
}

class SamplesFileTest : public testing::TemporaryFolder {};

TEST_F(SamplesFileTest, ImagesBecomeAGridOfTheGivenRange) {
  const ModelFile file = MakeFile(4, {2, 2, 1});
  const GridOptions range{.low = 0, .high = 10};
  const Picture picture = DrawPicture(file, Rows(1, 4, {0, 5, 10, 99}), &range);
  ASSERT_EQ(picture.ending, ".png");
  WriteFileAtomically(Path("x.png"), picture.contents);
  EXPECT_EQ(ReadPng(Path("x.png")).pixels, (std::vector<std::uint8_t>{0, 128, 255, 255}));
}

TEST(SamplesTest, PointsOfThePlaneBecomeJsonWithoutThoseThatAreNotFinite) {
  const ModelFile file = MakeFile(2, {});
  const Picture picture = DrawPicture(file, Rows(3, 2, {1.5f, -2, kNan, 0, 0.12345f, 1e6f}));
  EXPECT_EQ(picture.ending, ".json");
  EXPECT_EQ(picture.contents, "[[1.5,-2],[0.1235,1e+06]]");
}

TEST(SamplesTest, OtherRowsHaveNoPicture) {
  EXPECT_FALSE(HasPictures(MakeFile(3, {})));
  EXPECT_FALSE(HasPictures(MakeFile(8, {2, 2, 2})));
  EXPECT_TRUE(HasPictures(MakeFile(12, {2, 2, 3})));
}

}  // namespace
}  // namespace grbm
