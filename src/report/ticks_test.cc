#include "report/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "grbm/report/color_map.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Labels(const Ticks& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks.ticks) {
    if (!tick.label.empty()) labels.push_back(tick.label);
  }
  return labels;
}

TEST(Ticks, LinearStepsAreOneTwoOrFive) {
  EXPECT_THAT(Labels(LinearTicks(0, 1, 5)), ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(Labels(LinearTicks(-10, 10, 6)), ElementsAre("−10", "−5", "0", "5", "10"));
  EXPECT_THAT(Labels(LinearTicks(-0.1, 0.1, 3)), ElementsAre("−0.1", "0.0", "0.1"));
  EXPECT_THAT(Labels(LinearTicks(3, 47, 5)), ElementsAre("10", "20", "30", "40"));
  EXPECT_THAT(Labels(LinearTicks(1000.1, 1000.9, 4)), ElementsAre("1000.2", "1000.4", "1000.6", "1000.8"));
}

TEST(Ticks, LargeAndSmallNumbersShareAPower) {
  const Ticks large = LinearTicks(0, 1.2e6, 4);
  EXPECT_EQ(large.power, "×10⁶");
  EXPECT_THAT(Labels(large), ElementsAre("0.0", "0.5", "1.0"));
  const Ticks small = LinearTicks(-4e-12, 4e-12, 4);
  EXPECT_EQ(small.power, "×10⁻¹²");
  EXPECT_THAT(Labels(small), ElementsAre("−4", "−2", "0", "2", "4"));
  EXPECT_EQ(LinearTicks(0, 99999, 4).power, "");
  EXPECT_THAT(Labels(LinearTicks(-1234567, -1234560, 3)), ElementsAre("−1234565", "−1234560"));
}

TEST(Ticks, LogarithmicTicksAreDecades) {
  const Ticks wide = LogTicks(1e-3, 1e1, 8);
  EXPECT_THAT(Labels(wide), ElementsAre("10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹"));
  EXPECT_EQ(wide.ticks.size(), 4u * 9 + 1);
  EXPECT_THAT(Labels(LogTicks(1e-20, 1e20, 5)), ElementsAre("10⁻²⁰", "10⁻¹¹", "10⁻²", "10⁷", "10¹⁶"));
  EXPECT_THAT(Labels(LogTicks(1.5, 60, 6)), ElementsAre("2", "5", "10", "20", "50"));
  EXPECT_THAT(Labels(LogTicks(0.03, 0.3, 6)), ElementsAre("0.05", "0.1", "0.2"));
  EXPECT_THAT(Labels(LogTicks(3, 4, 4)), ElementsAre("3.0", "3.5", "4.0"));
}

TEST(Ticks, AnyRangeHasFewTicksWithinItAndNoTwoLabelsAlike) {
  for (int i = 0; i < 2000; ++i) {
    const double size = std::pow(10.0, (i * 37 % 400) / 10.0 - 20);
    const double low = (i % 7 - 3) * size;
    const double high = low + size * (1 + i % 11);
    const int most = 1 + i % 9;
    const Ticks ticks = LinearTicks(low, high, most);
    EXPECT_LE(ticks.ticks.size(), static_cast<std::size_t>(most) + 1);
    std::set<std::string> labels;
    for (const Tick& tick : ticks.ticks) {
      EXPECT_GE(tick.value, low - 1e-6 * size);
      EXPECT_LE(tick.value, high + 1e-6 * size);
      EXPECT_TRUE(labels.insert(tick.label).second) << low << " " << high << " " << tick.label;
    }
  }
}

TEST(ColorMap, PassesThroughTheColoursOfViridis) {
  // The published palettes of two, three and five colours.
  const std::pair<double, Color> expected[] = {{0, {0x44, 0x01, 0x54}},
                                               {0.25, {0x3b, 0x52, 0x8b}},
                                               {0.5, {0x21, 0x90, 0x8c}},
                                               {0.75, {0x5d, 0xc8, 0x63}},
                                               {1, {0xfd, 0xe7, 0x25}}};
  for (const auto& [position, color] : expected) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(Viridis(position)[c], color[c], 2) << position << " " << c;
  }
  EXPECT_EQ(Viridis(-1), Viridis(0));
  EXPECT_EQ(Viridis(INFINITY), Viridis(1));
  EXPECT_EQ(Viridis(NAN), (Color{128, 128, 128}));
}

// Lightness of CIE 1976, 0 to 100.
double Lightness(Color color) {
  double y = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t c = 0; c < 3; ++c) {
    const double v = color[c] / 255.0;
    y += weights[c] * (v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4));
  }
  return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

TEST(ColorMap, LightnessRisesEvenly) {
  const double whole = Lightness(Viridis(1)) - Lightness(Viridis(0));
  EXPECT_GT(whole, 70);
  for (int i = 0; i < 16; ++i) {
    const double rise = Lightness(Viridis((i + 1) / 16.0)) - Lightness(Viridis(i / 16.0));
    EXPECT_NEAR(rise, whole / 16, whole / 16 * 0.25) << i;
  }
}

}  // namespace
}  // namespace grbm
