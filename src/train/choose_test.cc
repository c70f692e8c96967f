#include "grbm/train/choose.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/test_files.h"
#include "data/test_images.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Choose : public FolderTest {
 protected:
  ChosenSettings Chosen(const DataOptions& options) {
    ThreadPool pool(2);
    return ChooseSettings(options, pool);
  }
  static std::string Toml(const ChosenSettings& chosen) { return chosen.Toml(chosen.config); }
};

TEST_F(Choose, ATableGetsTheSettingsOfTables) {
  std::string text = "a,kind\n";
  for (int i = 0; i < 200; ++i) text += fmt::format("{},x\n", i);
  const ChosenSettings chosen = Chosen({.source = Put("a.csv", text)});
  EXPECT_EQ(chosen.kind, "a table of 200 rows and 1 column");
  EXPECT_THAT(chosen.notes, ElementsAre("column 2 'kind' holds text, and is taken as labels"));
  EXPECT_EQ(chosen.config.data.standardize, Standardize::kPixel);
  EXPECT_EQ(chosen.config.data.held_out, "0.1");
  EXPECT_EQ(chosen.config.model.hidden, 32);
  EXPECT_EQ(chosen.config.train.epochs, 2778);  // 5,000 updates of 100 among 180 rows
}

TEST_F(Choose, WhatIsSetAnewStandsInTheFileWithoutTheReasonOfTheOld) {
  const ChosenSettings chosen = Chosen({.source = Put("a.csv", "x,y\n1,2\n3,4\n")});
  Config config = chosen.config;
  config.model.hidden = 5;
  config.model.labels = true;
  config.train.burn_in = 0;  // its default
  const std::string toml = chosen.Toml(config);
  EXPECT_THAT(toml, HasSubstr("hidden = 5\n"));
  EXPECT_EQ(ConfigText(ParseConfig(toml, "chosen.toml")), ConfigText(config));
}

TEST_F(Choose, ATableWithGapsIsLearnedFromByWhatIsKnown) {
  const ChosenSettings chosen = Chosen({.source = Put("a.csv", "x,y\n1,2\n3,NA\n,5\n")});
  EXPECT_EQ(chosen.config.data.gaps, Gaps::kSample);
  EXPECT_THAT(Toml(chosen), HasSubstr("gaps = \"sample\""));
  EXPECT_THAT(chosen.notes, ElementsAre(HasSubstr("values are missing: they are drawn")));
  EXPECT_THAT(Toml(Chosen({.source = Put("b.csv", "1,2\n3,4\n")})), Not(HasSubstr("gaps")));
}

TEST_F(Choose, WithConditionsChainsDoNotCool) {
  const std::string path = Put("a.csv", "1,2\n3,4\n5,6\n");
  for (const DataOptions& options :
       {DataOptions{.source = path, .condition = "1"}, DataOptions{.source = path, .history = 2}}) {
    const ChosenSettings chosen = Chosen(options);
    EXPECT_EQ(chosen.config.train.start_temperature, 1);
    EXPECT_THAT(Toml(chosen), Not(HasSubstr("start_temperature")));
  }
}

TEST_F(Choose, FewRowsAreAllTrainedOn) {
  EXPECT_EQ(Chosen({.source = Put("a.csv", "1,2\n3,4\n")}).config.data.held_out, "");
}

TEST_F(Choose, WhatIsWrittenReadsBackTheSame) {
  const ChosenSettings chosen = Chosen({.source = Put("a b.csv", "x,y\n1,2\n3,4\n"), .columns = "y"});
  Config config = chosen.config;
  EXPECT_EQ(ConfigText(ParseConfig(Toml(chosen), "chosen.toml")), ConfigText(config));
  EXPECT_THAT(Toml(chosen), HasSubstr("columns = \"y\"\n"));
  EXPECT_THAT(Toml(chosen), HasSubstr("# columns have units of their own"));
}

TEST_F(Choose, ImagesOfOneSizeStayAsTheyAre) {
  for (int i = 0; i < 3; ++i) Put(fmt::format("{}.png", i), MakeGreyPng(28, 28, i));
  const ChosenSettings chosen = Chosen({.source = folder_.string()});
  EXPECT_EQ(chosen.kind, "3 images of 28 × 28 pixels and 1 channel");
  EXPECT_EQ(chosen.config.data.crop, 0);
  EXPECT_EQ(chosen.config.data.resize, 0);
  EXPECT_EQ(chosen.config.model.hidden, 1024);  // as presets/mnist.toml has
  EXPECT_EQ(chosen.config.data.noise, 1);
  EXPECT_EQ(chosen.config.model.variance_floor, 1);
  EXPECT_THAT(Toml(chosen), Not(HasSubstr("crop")));
  EXPECT_EQ(chosen.config.data.margin, 0);
}

TEST_F(Choose, ImagesWithMuchBlackHaveAMargin) {
  EXPECT_EQ(Chosen({.source = "strokes", .subset = 20}).config.data.margin, 1);
  EXPECT_EQ(Chosen({.source = "strokes", .standardize = Standardize::kNone, .subset = 20}).config.data.margin, 0);
  // 300 images of 2 × 2 pixels: black, three greys; and with one in ten of the black pixels nearly so.
  const auto images = [&](const char* name, std::string_view last) {
    std::string text("\0\0\x08\x03\0\0\x01\x2c\0\0\0\x02\0\0\0\x02", 16);
    for (int i = 0; i < 299; ++i) text += std::string("\0\x64\x96\xc8", 4);
    return Chosen({.source = Put(name, text + std::string(last))}).config.data.margin;
  };
  EXPECT_EQ(images("black-idx3-ubyte", std::string_view("\0\0\0\xff", 4)), 1);
  std::string nearly("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02", 16);
  nearly += std::string("\0\0\0\x01\0\0\xff\xff", 8);
  EXPECT_EQ(Chosen({.source = Put("nearly-idx3-ubyte", nearly)}).config.data.margin, 0);
}

TEST_F(Choose, PhotosAreBroughtToOneSize) {
  Put("a/1.png", MakeGreyPng(90, 60, 1));
  Put("b/2.png", MakeGreyPng(70, 80, 2));
  const ChosenSettings chosen = Chosen({.source = folder_.string()});
  EXPECT_EQ(chosen.kind, "2 images of 32 × 32 pixels and 1 channel");
  EXPECT_EQ(chosen.config.data.crop, 60);
  EXPECT_EQ(chosen.config.data.resize, 32);
  EXPECT_EQ(Chosen({.source = folder_.string(), .crop = 50}).config.data.crop, 50);
}

}  // namespace
}  // namespace grbm
