#include "grbm/report/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grbm/core/error.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Matrix Rows(std::initializer_list<std::initializer_list<float>> rows) {
  Matrix out(static_cast<Index>(rows.size()), static_cast<Index>(rows.begin()->size()));
  Index r = 0;
  for (const auto& row : rows) std::copy(row.begin(), row.end(), out.row(r++).begin());
  return out;
}

template <typename E, typename Action>
std::string Message(Action action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "(not thrown)";
}

TEST(ImageGrid, TilesLieInRowsWithGapsBetweenThem) {
  // Three images of 1×2 in a grid of 2×2, one tile missing.
  const Image grid = ImageGrid(Rows({{0, 1}, {0.2f, 0.4f}, {0.6f, 0.8f}}), {1, 2, 1}, {.gap = 1, .background = 7});
  EXPECT_EQ(grid.height, 3);
  EXPECT_EQ(grid.width, 5);
  EXPECT_THAT(grid.pixels, ElementsAre(0, 255, 7, 51, 102,  //
                                       7, 7, 7, 7, 7,       //
                                       153, 204, 7, 7, 7));
}

TEST(ImageGrid, MagnifiesTilesButNotGaps) {
  const Image grid =
      ImageGrid(Rows({{0, 1}, {1, 0}}), {2, 1, 1}, {.columns = 2, .gap = 1, .scale = 2, .background = 9});
  EXPECT_EQ(grid.height, 4);
  EXPECT_EQ(grid.width, 5);
  EXPECT_THAT(grid.pixels, ElementsAre(0, 0, 9, 255, 255,  //
                                       0, 0, 9, 255, 255,  //
                                       255, 255, 9, 0, 0,  //
                                       255, 255, 9, 0, 0));
}

TEST(ImageGrid, ColourIsChannelsLast) {
  const Image grid = ImageGrid(Rows({{0, 0.2f, 0.4f, 0.6f, 0.8f, 1}}), {1, 2, 3}, {.scale = 2});
  EXPECT_EQ(grid.channels, 3);
  EXPECT_EQ(grid.width, 4);
  EXPECT_THAT(std::span(grid.pixels).first(12), ElementsAre(0, 51, 102, 0, 51, 102, 153, 204, 255, 153, 204, 255));
  EXPECT_EQ(grid.at(1, 3, 1), 204);
}

TEST(ImageGrid, ClampsRoundsAndShowsNanAsMidGrey) {
  const Image grid = ImageGrid(Rows({{-3, -2, -1.999f, 0, 1.999f, 2, 3, kInf, -kInf, kNan, 3e38f}}), {1, 11, 1},
                               {.low = -2, .high = 2});
  EXPECT_THAT(grid.pixels, ElementsAre(0, 0, 0, 128, 255, 255, 255, 255, 0, 128, 255));
  // The widest range there is does not overflow.
  EXPECT_EQ(ImageGrid(Rows({{0}}), {1, 1, 1}, {.low = -3e38f, .high = 3e38f}).pixels[0], 128);
}

TEST(ImageGrid, TheNearSquareHasNoEmptyRow) {
  for (const auto& [count, columns] : std::vector<std::pair<Index, Index>>{{1, 1}, {2, 2}, {3, 2}, {5, 3}, {10, 4}}) {
    const Image grid = ImageGrid(Matrix(count, 1), {1, 1, 1}, {.gap = 0});
    EXPECT_EQ(grid.width, columns);
    EXPECT_EQ(grid.height, (count + columns - 1) / columns);
  }
  EXPECT_EQ(ImageGrid(Matrix(2, 1), {1, 1, 1}, {.columns = 9, .gap = 0}).width, 2);
}

TEST(ImageGrid, ReadsViewsWithAStride) {
  const Matrix wide = Rows({{0, 1, 0.5f}, {1, 0, 0.5f}});
  const Image grid = ImageGrid(ConstMatrix(wide.data(), 2, 2, 3), {1, 2, 1}, {.columns = 1, .gap = 0});
  EXPECT_THAT(grid.pixels, ElementsAre(0, 255, 255, 0));
}

TEST(ImageGrid, RefusalsNameTheValueAndWhatIsAllowed) {
  const Matrix two(2, 6);
  EXPECT_EQ(Message<DataError>([&] {
              ImageGrid(two, {2, 2, 1});
            }),
            "image grid: rows of 6 values do not make images of 2×2×1 = 4 values");
  EXPECT_THAT(Message<DataError>([&] { ImageGrid(two, {1, 3, 2}); }), HasSubstr("1 or 3 channels"));
  EXPECT_THAT(Message<DataError>([&] { ImageGrid(two, {}); }), HasSubstr("0×0×0"));
  EXPECT_THAT(Message<DataError>([&] { ImageGrid(Matrix(0, 6), {2, 3, 1}); }), HasSubstr("no rows"));
  EXPECT_EQ(Message<ConfigError>([&] {
              ImageGrid(two, {2, 3, 1}, {.scale = 0});
            }),
            "image grid: scale = 0: allowed is 1 to 65536");
  EXPECT_THAT(Message<ConfigError>([&] { ImageGrid(two, {2, 3, 1}, {.gap = -1}); }), HasSubstr("gap = -1"));
  EXPECT_THAT(Message<ConfigError>([&] { ImageGrid(two, {2, 3, 1}, {.columns = -1}); }), HasSubstr("columns = -1"));
  EXPECT_THAT(Message<ConfigError>([&] { ImageGrid(two, {2, 3, 1}, {.low = 1, .high = 1}); }), HasSubstr("low = 1"));
  EXPECT_THAT(Message<ConfigError>([&] { ImageGrid(two, {2, 3, 1}, {.low = kNan}); }), HasSubstr("low = nan"));
  EXPECT_THAT(Message<ConfigError>([&] { ImageGrid(two, {2, 3, 1}, {.scale = 65536}); }), HasSubstr("lower scale"));
}

TEST(NormalizeFilters, ZeroIsMidGreyAndTheLargestWeightBlackOrWhite) {
  // visible × hidden: the filters are the columns.
  const Matrix weights = Rows({{0.5f, -4, 0, 9}, {-0.25f, 2, 0, 9}, {0, 0, 0, 9}});
  const Matrix filters = NormalizeFilters(weights, 3);
  EXPECT_EQ(filters.rows(), 3);
  EXPECT_EQ(filters.cols(), 3);
  const Image grid = ImageGrid(filters, {1, 3, 1}, {.columns = 1, .gap = 0, .low = -1, .high = 1});
  EXPECT_THAT(grid.pixels, ElementsAre(255, 64, 128, 0, 191, 128, 128, 128, 128));
}

TEST(NormalizeFilters, WeightsThatAreNotFiniteDoNotHideTheOthers) {
  const Matrix filters = NormalizeFilters(Rows({{kNan, 1e-45f}, {2, 0}, {-kInf, -1e-45f}}), 2);
  EXPECT_TRUE(std::isnan(filters(0, 0)));
  EXPECT_EQ(filters(0, 1), 1);
  EXPECT_EQ(filters(0, 2), -kInf);
  EXPECT_THAT(filters.row(1), ElementsAre(1, 0, -1));
}

TEST(NormalizeFilters, Refusals) {
  EXPECT_EQ(Message<ConfigError>([] { NormalizeFilters(Matrix(4, 2), 3); }),
            "filters: count = 3: allowed is 1 to 2, the number of hidden units");
  EXPECT_THROW(NormalizeFilters(Matrix(4, 2), 0), ConfigError);
  EXPECT_THROW(NormalizeFilters(Matrix(), 1), DataError);
}

}  // namespace
}  // namespace grbm
