#include "grbm/report/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "data/image.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/report/color_map.h"
#include "grbm/report/mixture.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Cell (r, c) has the value 12 r + c of 0 ... 47.
Matrix Steps() {
  Matrix density(4, 12);
  for (Index r = 0; r < 4; ++r) {
    for (Index c = 0; c < 12; ++c) density(r, c) = static_cast<float>(12 * r + c);
  }
  return density;
}

Matrix Points(std::initializer_list<std::pair<float, float>> points) {
  Matrix out(static_cast<Index>(points.size()), 2);
  Index i = 0;
  for (const auto& [x, y] : points) out(i, 0) = x, out(i++, 1) = y;
  return out;
}

std::vector<Panel> EveryKind() {
  return {DensityPanel{"Heat", "KL 0.12", {"v₁", -3, 3}, {"v₂", -1, 1}, {"density"}, Steps()},
          ScatterPanel{"Dots", "", {"across"}, {"up"}, Points({{0, 0}, {1, 2}, {2, 1}})},
          LinePanel{"Curves",
                    "",
                    {"update"},
                    {"loss", 0, 0, true},
                    {{"first <&> \"one\"", {0, 1, 2}, {1, 10, 100}, {0.5, 5, 50}, {2, 20, 200}},
                     {"second", {0, 2}, {3, 4}, {}, {}}}},
          HistogramPanel{"Bars",
                         "",
                         {"value"},
                         {"frequency"},
                         {{"sample", {0, 1, 1, 2, 2, 2, 3}}},
                         {{"exact", {0, 3}, {0.1, 0.2}, {}, {}}}},
          ImagePanel{"Picture", "four pixels", {2, 2, 1, {0, 64, 128, 255}}}};
}

Image Drawn(const Figure& figure) { return To8Bit(DecodePng(RenderFigure(figure, FigureFormat::kPng), "figure")); }

Color At(const Image& image, Index x, Index y) { return {image.at(y, x, 0), image.at(y, x, 1), image.at(y, x, 2)}; }

// The first pixel on a way that has one of the colours.
Index FirstOf(const Image& image, const std::set<Color>& colors, Index along, bool across) {
  const Index end = across ? image.width : image.height;
  for (Index i = 0; i < end; ++i) {
    if (colors.contains(across ? At(image, i, along) : At(image, along, i))) return i;
  }
  return -1;
}

std::size_t Colors(const Image& image) {
  std::set<Color> colors;
  for (Index y = 0; y < image.height; ++y) {
    for (Index x = 0; x < image.width; ++x) colors.insert(At(image, x, y));
  }
  return colors.size();
}

template <typename E>
std::string Message(const Figure& figure) {
  try {
    RenderFigure(figure, FigureFormat::kSvg);
  } catch (const E& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "(not thrown)";
}

Figure One(Panel panel) {
  Figure figure;
  figure.panels.push_back(std::move(panel));
  return figure;
}

// Tags nest, attributes are quoted, no stray < or &: enough of XML for what is written here.
bool WellFormed(const std::string& xml) {
  std::vector<std::string> open;
  bool seen = false;
  for (std::size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&') {
      const std::size_t end = xml.find(';', i);
      const std::string name = end == std::string::npos ? "" : xml.substr(i, end - i);
      if (name != "&amp" && name != "&lt" && name != "&gt" && name != "&quot") return false;
    }
    if (xml[i] != '<') continue;
    const std::size_t end = xml.find('>', i);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(i + 1, end - i - 1);
    i = end;
    if (tag.empty() || tag.find('<') != std::string::npos) return false;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    if (tag[0] == '?' || tag[0] == '!') continue;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
      continue;
    }
    if (open.empty() && seen) return false;
    seen = true;
    if (tag.back() != '/') open.push_back(tag.substr(0, tag.find_first_of(" \n")));
  }
  return seen && open.empty();
}

class FigureTest : public testing::TemporaryFolder {};

TEST_F(FigureTest, TheHeatMapHasTheColoursOfItsValuesAndLowYBelow) {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    Figure figure = One(DensityPanel{"", "", {}, {}, {}, Steps()});
    figure.plot_width = 240;
    figure.plot_height = 120;
    figure.theme = theme;
    const Image image = Drawn(figure);
    const auto color = [](Index r, Index c) { return Viridis(static_cast<double>(12 * r + c) / 47); };
    std::set<Color> cells;
    for (Index i = 0; i < 48; ++i) cells.insert(color(i / 12, i % 12));
    const Index left = FirstOf(image, cells, image.height / 2, true);
    const Index top = FirstOf(image, cells, left + 10, false);
    ASSERT_GT(left, 0);
    ASSERT_GT(top, 0);
    // Two pixels per point: cells of 40 × 60 pixels.
    for (Index r = 0; r < 4; ++r) {
      for (Index c = 0; c < 12; ++c) {
        EXPECT_EQ(At(image, left + 20 + 40 * c, top + 30 + 60 * (3 - r)), color(r, c)) << r << " " << c;
        EXPECT_EQ(At(image, left + 4 + 40 * c, top + 4 + 60 * (3 - r)), color(r, c)) << r << " " << c;
      }
    }
    EXPECT_EQ(At(image, 0, 0), theme == Theme::kLight ? (Color{255, 255, 255}) : (Color{22, 24, 29}));
    EXPECT_EQ(At(image, image.width - 1, image.height - 1), At(image, 0, 0));
  }
}

TEST_F(FigureTest, AGivenRangeOfValuesSetsTheColours) {
  Matrix flat(1, 1);
  flat(0, 0) = 1;
  for (const auto& [high, position] : {std::pair{1.0, 1.0}, {2.0, 0.5}, {0.5, 1.0}}) {
    const Image image = Drawn(One(DensityPanel{"", "", {}, {}, {"", 0, high}, flat}));
    EXPECT_EQ(At(image, image.width / 3, image.height / 2), Viridis(position));
  }
}

TEST_F(FigureTest, LogarithmicColoursShowWhatIsFaint) {
  Matrix faint(1, 4);
  const double values[] = {1, 1e-3, 1e-6, 0};
  for (Index c = 0; c < 4; ++c) faint(0, c) = static_cast<float>(values[c]);
  DensityPanel panel = LogarithmicColors({"", "", {}, {}, {}, faint});
  const Image image = Drawn(One(panel));
  const Index left = FirstOf(image, {Viridis(1)}, image.height / 2, true);
  for (Index c = 0; c < 4; ++c) {  // cells of 110 pixels
    const double position = 1 + std::log10(static_cast<double>(faint(0, c))) / 6;
    EXPECT_EQ(At(image, left + 55 + 110 * c, image.height / 2), Viridis(position)) << c;
  }
  panel.value.low = panel.value.high = 0;
  EXPECT_THAT(Message<ConfigError>(One(panel)), HasSubstr("value: log = true: give the range of the colours"));
}

// Two modes 40 nats apart in height, which a density shows as one, and depths with no end.
TEST_F(FigureTest, LogDensitiesShowModesOfNoMass) {
  const auto log_density = [](double x, double y) {
    const auto peak = [&](double at) { return -((x - at) * (x - at) + y * y) / 2; };
    return 700 + std::max(peak(-5), peak(5) - 40);
  };
  const DensityPanel panel = PlaneLogDensity("", "", log_density);
  const auto at = [&](double x) { return panel.density(100, static_cast<Index>((x + 10) * 10)); };
  EXPECT_NEAR(at(-5), 0, 0.01);
  EXPECT_NEAR(at(5), -40, 0.01);
  EXPECT_LT(at(0), -12);
  EXPECT_EQ(panel.value.high, 0);
  EXPECT_EQ(panel.value.low, std::ranges::min(panel.density.values()));
  Drawn(One(panel));
  const double nothing = -std::numeric_limits<double>::infinity();
  for (const auto& bottomless : {PlaneLogDensity("", "", [&](double x, double) { return x < 0 ? 0 : nothing; }),
                                 PlaneLogDensity("", "", [&](double, double) { return nothing; })}) {
    EXPECT_EQ(std::ranges::min(bottomless.density.values()), -1e4F);
    Drawn(One(bottomless));
  }
  EXPECT_EQ(PlaneLogDensity("", "", [](double, double) { return 3; }).value.low, -1);  // flat: a range nevertheless
}

TEST_F(FigureTest, PanelsThatAreComparedShareTheirColours) {
  Matrix low(1, 1), high(1, 1);
  low(0, 0) = 1;
  high(0, 0) = 4;
  std::vector<DensityPanel> panels = {{"", "", {}, {}, {}, low}, {"", "", {}, {}, {}, high}};
  ShareColors(panels);
  const Image image = Drawn({.title = "", .panels = {panels[0], panels[1]}});
  EXPECT_EQ(At(image, image.width / 5, image.height / 2), Viridis(0.25));
  EXPECT_EQ(At(image, image.width * 7 / 10, image.height / 2), Viridis(1));
  panels[0].density(0, 0) = panels[1].density(0, 0) = 0;
  ShareColors(panels);
  EXPECT_EQ(panels[0].value.high, 1);
}

TEST_F(FigureTest, ImagesAreShownSharp) {
  const Figure figure = One(ImagePanel{"", "", {2, 2, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7}}});
  const Image image = Drawn(figure);
  EXPECT_EQ(image.width, 2 * (220 + 28));
  EXPECT_EQ(At(image, 28 + 215, 28 + 215), (Color{255, 0, 0}));
  EXPECT_EQ(At(image, 28 + 225, 28 + 215), (Color{0, 255, 0}));
  EXPECT_EQ(At(image, 28 + 215, 28 + 225), (Color{0, 0, 255}));
  EXPECT_EQ(At(image, 28 + 225, 28 + 225), (Color{9, 8, 7}));
}

// The middle and the number of pixels that are clearly blue.
struct Blue {
  double x = 0, y = 0, count = 0;
};

Blue FindBlue(const Image& image) {
  Blue blue;
  for (Index y = 0; y < image.height; ++y) {
    for (Index x = 0; x < image.width; ++x) {
      const Color c = At(image, x, y);
      if (c[2] - c[0] > 100) blue.x += static_cast<double>(x), blue.y += static_cast<double>(y), ++blue.count;
    }
  }
  return {blue.x / blue.count, blue.y / blue.count, blue.count};
}

TEST_F(FigureTest, PointsLieWhereTheyShould) {
  // The other points lie outside the axes.
  const auto draw = [](float x, float y) {
    return FindBlue(
        Drawn(One(ScatterPanel{"", "", {"", -1, 1}, {"", -1, 1}, Points({{x, y}, {40, 40}, {-1e30f, 1}}), 6})));
  };
  const Blue first = draw(0.5f, 0.5f), second = draw(-0.5f, -0.25f);
  EXPECT_NEAR(first.count, 3.14159 * 12 * 12, 40);
  EXPECT_NEAR(first.y, 2 * (14 + 220 * 0.25), 1.5);
  EXPECT_NEAR(second.x - first.x, 440 * -0.5, 1);
  EXPECT_NEAR(second.y - first.y, 440 * 0.375, 1);
}

TEST_F(FigureTest, EveryKindIsDrawnInEveryFormat) {
  for (const Panel& panel : EveryKind()) {
    EXPECT_GT(Colors(Drawn(One(panel))), 4u);
  }
  Figure figure;
  figure.title = "All";
  figure.panels = EveryKind();
  figure.columns = 2;
  WriteFigure(Path("a.png"), figure);
  WriteFigure(Path("a.svg"), figure);
  WriteFigure(Path("a.pdf"), figure);
  const Image image = ReadPng(Path("a.png"));
  EXPECT_GT(image.height, image.width);
  EXPECT_GT(Colors(image), 50u);
  const std::string svg = ReadFile(Path("a.svg"));
  EXPECT_TRUE(WellFormed(svg));
  for (const char* text :
       {"<title>All</title>", "Heat; v₁; v₂; density; KL 0.12", "Dots; across; up",
        "first &lt;&amp;&gt; \"one\"; second", "Bars; value; frequency; sample; exact", "Picture; four pixels"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  const std::string pdf = ReadFile(Path("a.pdf"));
  EXPECT_THAT(pdf, StartsWith("%PDF-"));
  EXPECT_THAT(pdf, HasSubstr("%%EOF"));
}

TEST_F(FigureTest, TheSameFigureGivesTheSameBytes) {
  Figure figure;
  figure.panels = EveryKind();
  for (const FigureFormat format : {FigureFormat::kPng, FigureFormat::kSvg, FigureFormat::kPdf}) {
    const std::string first = RenderFigure(figure, format);
    RenderFigure(One(EveryKind()[2]), format);
    EXPECT_TRUE(RenderFigure(figure, format) == first);
  }
}

TEST_F(FigureTest, TheDarkThemeIsDark) {
  Figure figure = One(EveryKind()[2]);
  const Image light = Drawn(figure);
  figure.theme = Theme::kDark;
  const Image dark = Drawn(figure);
  const auto mean = [](const Image& image) {
    double sum = 0;
    for (const std::uint8_t v : image.pixels) sum += v;
    return sum / static_cast<double>(image.pixels.size());
  };
  EXPECT_GT(mean(light), 220);
  EXPECT_LT(mean(dark), 50);
}

TEST_F(FigureTest, LongTextStaysOnThePage) {
  std::string title;
  for (int i = 0; i < 200; ++i) title += "Öl";
  Figure figure = One(
      LinePanel{title, title, {title}, {title}, {{title, {0, 1}, {0, 1}, {}, {}}, {title, {0, 1}, {1, 0}, {}, {}}}});
  figure.title = title;
  const Image image = Drawn(figure);
  for (Index y = 0; y < image.height; ++y) {
    EXPECT_EQ(At(image, 4, y), (Color{255, 255, 255}));
    EXPECT_EQ(At(image, image.width - 5, y), (Color{255, 255, 255}));
  }
}

TEST_F(FigureTest, LongTitlesGoOnBelow) {
  const auto height = [](const std::string& title) {
    Figure figure = One(ImagePanel{title, "", {1, 1, 1, {0}}});
    figure.plot_width = figure.plot_height = 150;
    return Drawn(figure).height;
  };
  const Index one_line = height("Gibbs");
  EXPECT_EQ(height("Gibbs-Langevin without adjustment"), one_line + 26);
  EXPECT_EQ(height("Gibbs-Langevin with adjustment, since the repair of 2022"), one_line + 52);
  EXPECT_EQ(height("Gibbs-Langevin with adjustment, since the repair of 2022 and all that is still to be said of it"),
            one_line + 52);
  EXPECT_EQ(height("Gibbs-Langevin-without-any-adjustment-whatever"), one_line);  // smaller, then cut
}

TEST_F(FigureTest, CurvesMayHaveGapsAndSinglePoints) {
  const double nan = std::nan("");
  const Image gap = Drawn(One(LinePanel{"", "", {}, {}, {{"", {0, 1, 2, 3, 4}, {1, 1, nan, 1, 1}, {}, {}}}}));
  const Image full = Drawn(One(LinePanel{"", "", {}, {}, {{"", {0, 1, 2, 3, 4}, {1, 1, 1, 1, 1}, {}, {}}}}));
  EXPECT_NE(gap, full);
  EXPECT_GT(Colors(Drawn(One(LinePanel{"", "", {}, {}, {{"", {0}, {1}, {}, {}}}}))), 4u);
  EXPECT_GT(Colors(Drawn(One(HistogramPanel{"", "", {}, {}, {{"", {5}}}, {}, 0}))), 4u);
}

TEST_F(FigureTest, DataThatCannotBeDrawn) {
  EXPECT_THAT(Message<DataError>({}), HasSubstr("no panels"));
  EXPECT_THAT(Message<DataError>(One(DensityPanel{})), HasSubstr("figure: panel 0: density of 0×0"));
  Matrix density = Steps();
  density(2, 5) = kNan;
  EXPECT_EQ(Message<DataError>(One(DensityPanel{"", "", {}, {}, {}, density})),
            "figure: panel 0: density(2, 5) = nan: allowed are finite numbers");
  EXPECT_THAT(Message<DataError>(One(ScatterPanel{})), HasSubstr("points of 0×0"));
  EXPECT_THAT(Message<DataError>(One(ScatterPanel{"", "", {}, {}, Matrix(3, 3)})), HasSubstr("points of 3×3"));
  EXPECT_THAT(Message<DataError>(One(ScatterPanel{"", "", {}, {}, Points({{0, 0}, {1, kInf}})})),
              HasSubstr("points(1, 1) = inf"));
  EXPECT_THAT(Message<DataError>(One(LinePanel{})), HasSubstr("no curves"));
  EXPECT_EQ(Message<DataError>(One(LinePanel{"", "", {}, {}, {{"a", {0, 1}, {0}, {}, {}}}})),
            "figure: panel 0: curve \"a\": y has 1 values: expected are 2, as many as x has");
  EXPECT_THAT(Message<DataError>(One(LinePanel{"", "", {}, {}, {{"a", {0, 1}, {0, 1}, {0}, {0, 1}}}})),
              HasSubstr("low has 1"));
  EXPECT_THAT(Message<DataError>(One(LinePanel{"", "", {}, {}, {{"a", {0, 1}, {0, 1}, {0, 1}, {}}}})),
              HasSubstr("high has 0"));
  EXPECT_THAT(Message<DataError>(One(LinePanel{"", "", {}, {}, {{"a", {0, NAN}, {0, 1}, {}, {}}}})),
              HasSubstr("x[1] = nan"));
  EXPECT_THAT(Message<DataError>(One(LinePanel{"", "", {}, {}, {{"a", {0, 1}, {NAN, INFINITY}, {}, {}}}})),
              HasSubstr("no finite value"));
  EXPECT_THAT(Message<DataError>(One(LinePanel{"", "", {}, {"", 0, 0, true}, {{"a", {0, 1}, {1, 0}, {}, {}}}})),
              HasSubstr("y[1] = 0 on a logarithmic axis"));
  EXPECT_THAT(Message<DataError>(One(LinePanel{"", "", {}, {}, {{"a", {0, 1}, {-1e308, 1e308}, {}, {}}}})),
              HasSubstr("too wide"));
  EXPECT_THAT(Message<DataError>(One(HistogramPanel{})), HasSubstr("no samples"));
  EXPECT_THAT(Message<DataError>(One(HistogramPanel{"", "", {}, {}, {{"s", {}}}, {}})),
              HasSubstr("sample \"s\" is empty"));
  EXPECT_THAT(Message<DataError>(One(HistogramPanel{"", "", {}, {}, {{"s", {1, NAN}}}, {}})),
              HasSubstr("values[1] = nan"));
  EXPECT_THAT(Message<DataError>(One(ImagePanel{"", "", {2, 2, 1, {0}}})), HasSubstr("panel 0: image: 2×2 pixels"));
  for (const std::string bad : {"two\nlines", "\xff", "\xc3", "\xed\xa0\x80", "\xc0\xaf", "bell\a"}) {
    EXPECT_THAT(Message<DataError>(One(ImagePanel{bad, "", {1, 1, 1, {0}}})), HasSubstr("UTF-8"));
  }
}

TEST_F(FigureTest, SettingsThatCannotWork) {
  Figure figure = One(EveryKind()[0]);
  figure.plot_width = 0;
  EXPECT_EQ(Message<ConfigError>(figure), "figure: plot_width = 0: allowed is 20 to 5000 points");
  figure = One(EveryKind()[0]);
  figure.columns = -1;
  EXPECT_THAT(Message<ConfigError>(figure), HasSubstr("columns = -1"));
  figure = {};
  figure.panels.assign(100, EveryKind()[4]);
  EXPECT_THAT(Message<ConfigError>(figure), HasSubstr("show fewer panels"));
  EXPECT_THAT(Message<ConfigError>(One(ScatterPanel{"", "", {"", 2, 1}, {}, Points({{0, 0}})})),
              HasSubstr("range 2 to 1"));
  EXPECT_THAT(Message<ConfigError>(One(HistogramPanel{"", "", {}, {}, {{"s", {1}}}, {}, -1})), HasSubstr("bins = -1"));
}

TEST_F(FigureTest, EndingsAndPaths) {
  const Figure figure = One(EveryKind()[4]);
  for (const std::string name : {"a.jpg", "a", "a.PNG", ".png", ""}) {
    EXPECT_THROW(WriteFigure(name.empty() ? "" : Path(name), figure), ConfigError) << name;
  }
  try {
    WriteFigure("a.bmp", figure);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "a.bmp: a figure cannot have the ending \".bmp\": allowed are .png, .svg and .pdf");
  }
  EXPECT_THROW(WriteFigure(Path("none/a.png"), figure), IoError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace grbm

// fontconfig keeps what it knows of a font in its cache and points there by offsets, which the leak sanitizer cannot
// follow: a fixed kilobyte, however many figures are drawn.
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig"; }
