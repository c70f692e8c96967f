// Loading data by options: folders of images, splits, subsets, crops.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/hostile_test.h"
#include "data/test_files.h"
#include "data/test_images.h"
#include "grbm/core/error.h"
#include "grbm/core/npz.h"
#include "grbm/data/info.h"
#include "grbm/data/options.h"
#include "grbm/data/standardize.h"
#include "support/errors.h"

namespace grbm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ImageFolder : public FolderTest {
 protected:
  Dataset Load(DataOptions options = {}) const {
    if (options.source.empty()) options.source = folder_.string();
    return LoadDataset(options);
  }
};

TEST_F(ImageFolder, TakesImagesInTheOrderOfTheirNamesAndSkipsTheRest) {
  Put("b.PNG", MakeGreyPng(2, 1, 10));
  Put("a.png", MakeGreyPng(2, 1, 20));
  Put("c.jpg", MakeGreyPng(2, 1, 30));  // its bytes say what it is
  Put(".hidden.png", "no image");
  Put("README.txt", "text");
  std::filesystem::create_directories(Path("d.png"));
  const Dataset data = Load();
  EXPECT_TRUE(data.is_8bit());
  EXPECT_EQ(data.shape(), (ImageShape{1, 2, 1}));
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(20, 21, 10, 11, 30, 31));
}

TEST_F(ImageFolder, AnyNumberOfThreadsGivesTheSame) {
  for (int i = 0; i < 40; ++i) Put(fmt::format("{:02}.png", i), MakeGreyPng(9, 9, i));
  ThreadPool one(1);
  ThreadPool three(3);
  std::vector<Index> seen;
  const DataOptions options = {.source = folder_.string(), .crop = 8, .resize = 4};
  const Dataset a = LoadDataset(options, one, [&](Index done, Index total) {
    EXPECT_EQ(total, 40);
    seen.push_back(done);
  });
  EXPECT_EQ(seen.back(), 40);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(a.ReadAll(), LoadDataset(options, three).ReadAll());
  EXPECT_EQ(a.shape(), (ImageShape{4, 4, 1}));
}

// The picture 0, 1, ..., of 8 or of 16 bits: the same values, also where it is cut out of a larger one.
TEST_F(ImageFolder, OfSixteenBitsHasTheValuesOfEightAndMore) {
  std::vector<std::uint8_t> words;
  for (const std::uint8_t v : Ramp(16)) words.insert(words.end(), {v, v});
  Put("8/a.png", MakeGreyPng(4, 4));
  Put("16/a.png", MakePng(4, 4, PNG_COLOR_TYPE_GRAY, words, 16));
  for (const char* name : {"a.png", "c.png"}) Put(std::string("both/") + name, MakeGreyPng(4, 4));
  Put("both/b.png", MakePng(4, 4, PNG_COLOR_TYPE_GRAY, words, 16));
  for (const std::int64_t crop : {0, 2}) {
    const Dataset eight = LoadDataset({.source = Path("8"), .crop = crop});
    const Dataset sixteen = LoadDataset({.source = Path("16"), .crop = crop});
    const Dataset both = LoadDataset({.source = Path("both"), .crop = crop});
    EXPECT_EQ(eight.bits(), 8);
    EXPECT_EQ(sixteen.bits(), 16);
    EXPECT_EQ(both.bits(), 16);
    EXPECT_EQ(sixteen.shape(), eight.shape());
    const Matrix values = eight.ReadAll();
    EXPECT_THAT(sixteen.ReadAll().values(), ElementsAreArray(values.values()));
    for (Index r = 0; r < 3; ++r) EXPECT_THAT(both.Read(r, 1).values(), ElementsAreArray(values.values()));
  }
  // Resized without rounding: within half a step of the 8-bit result.
  const Matrix small = LoadDataset({.source = Path("16"), .resize = 3}).ReadAll();
  const Matrix rounded = LoadDataset({.source = Path("8"), .resize = 3}).ReadAll();
  bool fractions = false;
  for (Index i = 0; i < 9; ++i) {
    EXPECT_NEAR(small(0, i), rounded(0, i), 0.51);
    fractions = fractions || small(0, i) != std::round(small(0, i));
  }
  EXPECT_TRUE(fractions);
  EXPECT_EQ(Describe(LoadDataset({.source = Path("16")})).dtype, "u16");
}

TEST_F(ImageFolder, ErrorsNameTheImage) {
  Put("a.png", MakeGreyPng(4, 4));
  Put("b.png", MakeGreyPng(5, 4));
  EXPECT_EQ(DataMessage([&] { Load(); }),
            Path("b.png") +
                ": 5 × 4 pixels of 1 channel: expected are 4 × 4 pixels of 1 channel, as the first image "
                "a.png has: use data.crop or data.resize");
  EXPECT_EQ(Load({.crop = 4}).rows(), 2);
  Put("b.png", MakePng(4, 4, PNG_COLOR_TYPE_RGB, Ramp(48)));
  EXPECT_THAT(DataMessage([&] { Load(); }), HasSubstr("b.png: 4 × 4 pixels of 3 channels: expected are"));
  Put("b.png", MakeGreyPng(4, 4).substr(0, 60));
  EXPECT_THAT(DataMessage([&] { Load(); }), AllOf(HasSubstr(Path("b.png")), HasSubstr("damaged PNG image")));
  Put("b.png", "text");
  EXPECT_THAT(DataMessage([&] { Load(); }), HasSubstr(Path("b.png") + ": byte 0: 'text': neither"));
  Put("b.png", "");
  EXPECT_THAT(DataMessage([&] { Load(); }), HasSubstr(Path("b.png") + ": byte 0: ''"));
  // Of several bad images the first is named, whichever thread met it.
  for (int i = 0; i < 20; ++i) Put(fmt::format("c{:02}.png", i), "text");
  EXPECT_THAT(DataMessage([&] { Load(); }), HasSubstr(Path("b.png")));
  std::filesystem::remove(Path("b.png"));
  Put("b.gif", "GIF89a");
  EXPECT_THAT(DataMessage([&] { Load(); }), HasSubstr("b.gif: images of this format are not read"));
}

TEST_F(ImageFolder, AFolderWithoutImagesIsRefused) {
  EXPECT_THAT(DataMessage([&] { Load(); }), HasSubstr("no PNG or JPEG image in this folder (0 other files"));
  Put("a.txt", "");
  Put("class/a.txt", "");
  EXPECT_THAT(DataMessage([&] { Load(); }), HasSubstr("(2 other files or folders)"));
}

TEST_F(ImageFolder, ADanglingLinkIsAnError) {
  std::filesystem::create_symlink("nowhere", Path("a.png"));
  EXPECT_THROW(Load(), IoError);
}

class Partition : public ImageFolder {
 protected:
  void SetUp() override {
    ImageFolder::SetUp();
    for (int i = 0; i < 4; ++i) Put(fmt::format("images/{}.png", i), MakeGreyPng(1, 1, i));
  }
  Dataset Split(const std::string& split, const std::string& ending = "") const {
    return Load({.source = Path("images") + ending, .split = split});
  }
};

TEST_F(Partition, SplitsTheImages) {
  Put("list_eval_partition.txt", "0.png 0\r\n1.png 1\n2.png 2\n3.png 0\nnot-here.png 0\n");
  for (const std::string ending : {"", "/", "/."}) {
    EXPECT_THAT(Split("train", ending).ReadAll().values(), ElementsAre(0, 3));
    EXPECT_THAT(Split("valid", ending).ReadAll().values(), ElementsAre(1));
    EXPECT_THAT(Split("test", ending).ReadAll().values(), ElementsAre(2));
    EXPECT_THAT(Split("all", ending).ReadAll().values(), ElementsAre(0, 1, 2, 3));
  }
  std::filesystem::rename(Path("list_eval_partition.txt"), Path("images/list_eval_partition.txt"));
  EXPECT_THAT(Split("valid").ReadAll().values(), ElementsAre(1));
}

TEST_F(Partition, WithoutAFileThereIsOnePart) {
  EXPECT_EQ(Split("train").rows(), 4);
  EXPECT_EQ(Split("all").rows(), 4);
  EXPECT_THROW(Split("test"), ConfigError);
  EXPECT_THROW(Split("tset"), ConfigError);
}

TEST_F(Partition, FilesThatAreNotValidAreRefused) {
  Put("list_eval_partition.txt", "0.png 0\n1.png 3\n");
  EXPECT_THAT(DataMessage([&] { Split("train"); }), HasSubstr("list_eval_partition.txt: line 2: '1.png 3': expected"));
  Put("list_eval_partition.txt", "0.png 0\n\n  2\n");
  EXPECT_THAT(DataMessage([&] { Split("train"); }), HasSubstr("line 3: '  2': expected is a file's name first"));
  Put("list_eval_partition.txt", "0.png 0\n");
  EXPECT_THAT(DataMessage([&] { Split("train"); }), HasSubstr("1.png: the image is not listed"));
  Put("list_eval_partition.txt", "0.png 0\n1.png 0\n2.png 0\n3.png 0\n");
  EXPECT_THAT(DataMessage([&] { Split("test"); }), HasSubstr("no image of split \"test\" among 4"));
}

TEST_F(ImageFolder, SubsetsAreDrawnBeforeDecoding) {
  for (int i = 0; i < 10; ++i) Put(fmt::format("{}.png", i), i == 0 ? "bad" : MakeGreyPng(1, 1, i));
  int read = 0;
  std::set<float> values;
  for (int seed = 0; seed < 20; ++seed) {
    try {
      const Dataset data = Load({.subset = 3, .subset_seed = seed});
      EXPECT_EQ(data.rows(), 3);
      const Matrix read_values = data.ReadAll();
      for (const float value : read_values.values()) values.insert(value);
      ++read;
    } catch (const DataError&) {  // the bad image was drawn
    }
  }
  EXPECT_GT(read, 5);
  EXPECT_LT(read, 20);
  EXPECT_EQ(values.size(), 9u);
}

class Subsets : public FolderTest {
 protected:
  Dataset Load(DataOptions options) const {
    options.source = Path("x-images");
    return LoadDataset(options);
  }
  void SetUp() override {
    FolderTest::SetUp();
    const std::vector<std::uint8_t> values = Ramp(100);
    Put("x-images", MakeIdx(8, {25, 2, 2}, std::string(values.begin(), values.end())));
    Put("x-labels", MakeIdx(8, {25}, std::string(values.begin(), values.begin() + 25)));
  }
};

TEST_F(Subsets, AreDrawnWithoutRepetitionByTheSeed) {
  const Dataset data = Load({.subset = 10});
  EXPECT_EQ(data.rows(), 10);
  const std::vector<int> labels(data.labels().begin(), data.labels().end());
  EXPECT_EQ(std::ranges::adjacent_find(labels, std::greater_equal<>()), labels.end());  // ascending, none twice
  for (Index r = 0; r < 10; ++r) EXPECT_EQ(data.ReadAll()(r, 0), 4 * labels[static_cast<std::size_t>(r)]);
  EXPECT_EQ(Load({.subset = 10}).ReadAll(), data.ReadAll());
  EXPECT_NE(Load({.subset = 10, .subset_seed = 2}).ReadAll(), data.ReadAll());
  EXPECT_EQ(Load({.subset = 25}).ReadAll(), Load({}).ReadAll());
}

// Each of 25 rows is in a subset of 10 with probability 0.4: counts over 2000 seeds within 5.5 deviations, which errs
// with probability 1e-6 for all 25 together.
TEST_F(Subsets, TakeEveryRowEquallyOften) {
  std::vector<double> counts(25);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    for (const Index row : RandomSubset(25, 10, seed)) ++counts[static_cast<std::size_t>(row)];
  }
  for (const double count : counts) EXPECT_LT(std::abs(count - 800), 5.5 * std::sqrt(2000 * 0.4 * 0.6));
}

TEST_F(Subsets, CropAndResizeAnyEightBitImages) {
  const Dataset data = Load({.crop = 1, .subset = 10});
  EXPECT_EQ(data.shape(), (ImageShape{1, 1, 1}));
  for (Index r = 0; r < 10; ++r) EXPECT_EQ(data.ReadAll()(r, 0), 4 * data.labels()[static_cast<std::size_t>(r)]);
  EXPECT_EQ(Load({.resize = 4}).shape(), (ImageShape{4, 4, 1}));
  EXPECT_THROW(LoadDataset({.source = Put("a.csv", "1,2\n"), .resize = 1}), ConfigError);
}

TEST_F(Subsets, SettingsThatCannotWorkAreRefused) {
  const auto message = [&](const DataOptions& options) -> std::string {
    try {
      Load(options);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({.subset = 26}), "data: subset = 26: " + Path("x-images") +
                                         " has 25 rows: allowed are 1 to 25, or 0 "
                                         "for all");
  EXPECT_THAT(message({.subset = -1}), HasSubstr("data: subset = -1: allowed is a whole number from 0"));
  EXPECT_THAT(message({.crop = -1}), HasSubstr("data: crop = -1"));
  EXPECT_THAT(message({.resize = 100000}), HasSubstr("data: resize = 100000"));
  EXPECT_THAT(message({.split = "test"}), HasSubstr("has one part: allowed are \"train\" and \"all\""));
}

TEST(Mixtures, AreASourceOfData) {
  const Dataset iso = LoadDataset({.source = "gmm-iso"});
  EXPECT_EQ(iso.rows(), 1000);
  EXPECT_EQ(iso.visible(), 2);
  EXPECT_EQ(iso.labels().size(), 1000u);
  EXPECT_EQ(LoadDataset({.source = "gmm-aniso", .subset = 7}).rows(), 7);
  EXPECT_NE(LoadDataset({.source = "gmm-iso", .subset_seed = 2}).ReadAll(), iso.ReadAll());
  EXPECT_THROW(LoadDataset({.source = "gmm-iso", .split = "test"}), ConfigError);
  EXPECT_THROW(LoadDataset({.source = "gmm-iso", .resize = 2}), ConfigError);
}

TEST(Strokes, AreImagesWithoutAFile) {
  const Dataset strokes = LoadDataset({.source = "strokes", .subset = 20});
  EXPECT_EQ(strokes.rows(), 20);
  EXPECT_EQ(strokes.shape(), (ImageShape{28, 28, 1}));
  EXPECT_TRUE(strokes.is_8bit());
  EXPECT_EQ(LoadDataset({.source = "strokes", .subset = 40}).Read(0, 20), strokes.ReadAll());  // row i is row i
  EXPECT_NE(LoadDataset({.source = "strokes", .subset = 20, .subset_seed = 2}).ReadAll(), strokes.ReadAll());
  EXPECT_EQ(LoadDataset({.source = "strokes", .resize = 14}).shape(), (ImageShape{14, 14, 1}));
  EXPECT_EQ(LoadDataset({.source = "strokes"}).rows(), 1000);
  EXPECT_THROW(LoadDataset({.source = "strokes", .split = "test"}), ConfigError);
  const Matrix rows = strokes.ReadAll();
  for (Index r = 0; r < rows.rows(); ++r) {
    // Black at the border, a white line within: it covers between 2 % and 40 % of the image.
    EXPECT_EQ(rows(r, 0), 0);
    const auto white = std::ranges::count(rows.row(r), 255.0f);
    EXPECT_GE(white, 784 * 2 / 100) << r;
    EXPECT_LE(white, 784 * 40 / 100) << r;
  }
}

TEST(DataOptions, FieldsAreTheOnesOfTheConfiguration) {
  DataOptions options;
  std::vector<std::string_view> names;
  for (const Field& field : options.Fields()) names.push_back(field.name);
  EXPECT_THAT(names,
              ElementsAre("source", "columns", "label", "weight", "condition", "history", "key", "missing", "gaps",
                          "standardize", "margin", "crop", "resize", "subset", "subset_seed", "split", "held_out", "noise"));
  AssignText(FindField(options.Fields(), "standardize", "test"), "pixel", "test");
  EXPECT_EQ(options.standardize, Standardize::kPixel);
}

TEST_F(ImageFolder, FoldersInItAreClasses) {
  Put("dog/1.png", MakeGreyPng(2, 1, 10));
  Put("cat/2.png", MakeGreyPng(2, 1, 20));
  Put("cat/1.png", MakeGreyPng(2, 1, 30));
  std::filesystem::create_directories(Path("empty"));
  Put("run/manifest.json", "{}");
  Put("run/samples.png", MakeGreyPng(9, 9));
  const Dataset data = Load();
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(30, 31, 20, 21, 10, 11));
  EXPECT_THAT(data.labels(), ElementsAre(0, 0, 1));
  EXPECT_THAT(data.names().labels, ElementsAre("cat", "dog"));
  EXPECT_THAT(data.names().notes, ElementsAre("folder empty: no image, and no class"));
}

TEST_F(ImageFolder, ImagesBesideFoldersOfImagesAreRefused) {
  Put("cat/1.png", MakeGreyPng(1, 1));
  Put("top.png", MakeGreyPng(1, 1, 40));
  EXPECT_EQ(DataMessage([&] { Load(); }),
            folder_.string() +
                ": images, such as top.png, beside folders of images, such as cat: allowed are either: move the images "
                "into the folders of their classes, or give one folder");
  // Folders without images, with what is not read, or of a run may lie beside images.
  std::filesystem::remove_all(Path("cat"));
  Put("empty/notes.txt", "");
  Put("other/x.gif", "GIF89a");
  Put("run/manifest.json", "{}");
  Put("run/samples.png", MakeGreyPng(9, 9));
  const Dataset data = Load();
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(40));
  EXPECT_THAT(data.names().notes, IsEmpty());
}

class HeldOut : public FolderTest {
 protected:
  std::vector<float> Part(const std::string& split, const std::string& held_out, std::int64_t subset = 0) const {
    const Matrix rows =
        LoadDataset({.source = Path("a.csv"), .subset = subset, .split = split, .held_out = held_out}).ReadAll();
    return {rows.values().begin(), rows.values().end()};
  }
  void SetUp() override {
    FolderTest::SetUp();
    std::string text;
    for (int i = 0; i < 50; ++i) text += fmt::format("{}\n", i);
    Put("a.csv", text);
  }
};

TEST_F(HeldOut, AShareIsInOnePartOnly) {
  const std::vector<float> train = Part("train", "0.2");
  const std::vector<float> test = Part("test", "0.2");
  EXPECT_EQ(train.size(), 40u);
  EXPECT_EQ(test.size(), 10u);
  EXPECT_EQ(Part("all", "0.2").size(), 50u);
  std::set<float> both(train.begin(), train.end());
  both.insert(test.begin(), test.end());
  EXPECT_EQ(both.size(), 50u);
  const std::vector<float> few = Part("train", "0.2", 7);
  EXPECT_EQ(few.size(), 7u);
  EXPECT_TRUE(std::ranges::includes(train, few));
  EXPECT_EQ(Part("test", "0.001").size(), 1u);
}

// Of rows in the order of time it is the last ones, and every row has its own past, whatever part it is in.
TEST_F(HeldOut, OfAHistoryItIsTheEnd) {
  DataOptions options{.source = Path("a.csv"), .history = 2, .held_out = "0.25"};
  const auto load = [&](const char* split) {
    options.split = split;
    return LoadDataset(options);
  };
  const Matrix all = LoadDataset({.source = Path("a.csv")}).ReadAll();
  const Dataset train = load("train");
  const Dataset test = load("test");
  EXPECT_EQ(train.rows(), 36);
  EXPECT_EQ(test.rows(), 12);
  EXPECT_EQ(load("all").rows(), 48);
  EXPECT_EQ(train.conditions(), 2);
  const std::vector<Index> first = {0};
  EXPECT_EQ(train.Read(0, 1)(0, 0), all(2, 0));
  EXPECT_THAT(train.ReadConditions(first).values(), ElementsAre(all(0, 0), all(1, 0)));
  EXPECT_EQ(test.Read(0, 1)(0, 0), all(38, 0));
  EXPECT_THAT(test.ReadConditions(first).values(), ElementsAre(all(36, 0), all(37, 0)));
  options.subset = 5;
  const Dataset few = load("train");
  for (Index r = 0; r < 5; ++r) {
    const auto at = std::ranges::find(all.values(), few.Read(r, 1)(0, 0)) - all.values().begin();
    EXPECT_THAT(few.ReadConditions(std::span(&r, 1)).values(), ElementsAre(all(at - 2, 0), all(at - 1, 0)));
  }
}

TEST_F(HeldOut, ConditionsAreColumnsOfTablesAndArrays) {
  const std::string table = Put("c.csv", "a,b,k,c\n1,2,x,3\n4,5,y,6\n");
  const Dataset named = LoadDataset({.source = table, .label = "k", .condition = "c,a"});
  const std::vector<Index> second = {1};
  EXPECT_THAT(named.ReadAll().values(), ElementsAre(2, 5));
  EXPECT_THAT(named.names().columns, ElementsAre("b"));
  EXPECT_THAT(named.ReadConditions(second).values(), ElementsAre(6, 4));
  EXPECT_THAT(named.labels(), ElementsAre(0, 1));
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  WriteNpz(Path("c.npz"), std::vector<Tensor>{MakeTensor("x", {2, 3}, values)});
  const Dataset array = LoadDataset({.source = Path("c.npz"), .condition = "2"});
  EXPECT_THAT(array.ReadAll().values(), ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(array.ReadConditions(second).values(), ElementsAre(5));
  const Standardization one = ConditionStandardization(array, Standardize::kPixel, {});
  EXPECT_THAT(one.mean, ElementsAre(3.5f));
  EXPECT_THAT(one.deviation, ElementsAre(1.5f));
  EXPECT_TRUE(ConditionStandardization(array, Standardize::kNone, {}).identity());
}

TEST_F(HeldOut, ConditionsThatCannotBeAreRefused) {
  const std::string table = Put("c.csv", "a,b,c\n1,2,3\n4,5,6\n");
  const auto refused = [](const DataOptions& options) { return testing::ErrorOf([&] { LoadDataset(options); }); };
  EXPECT_THAT(refused({.source = table, .condition = "d"}), HasSubstr("c.csv: data.condition: no column 'd'"));
  EXPECT_THAT(refused({.source = table, .columns = "a,b", .condition = "b"}),
              HasSubstr("column 2 'b' is a condition, and among data.columns"));
  EXPECT_THAT(refused({.source = table, .label = "b", .condition = "b"}),
              HasSubstr("column 2 'b' is the label, and among data.condition"));
  EXPECT_THAT(refused({.source = table, .condition = "1-3"}),
              HasSubstr("c.csv: no column is left to model: all 3 are"));
  EXPECT_THAT(refused({.source = table, .history = 2}), HasSubstr("2 rows, of which each needs 2 before it"));
  EXPECT_THAT(refused({.source = table, .condition = "a", .history = 1}),
              HasSubstr("history = 1: not with data.condition"));
  EXPECT_THAT(refused({.source = "gmm-iso", .history = 1}), HasSubstr("allowed for the rows of one file"));
  EXPECT_THAT(refused({.source = "gmm-iso", .condition = "1"}), HasSubstr("allowed for tables, NPY"));
  const std::string gaps = Put("g.csv", "a,b\n1,\n4,5\n6,7\n");
  EXPECT_THAT(refused({.source = gaps, .condition = "b"}), HasSubstr("line 2, column 2 'b': an empty cell"));
  EXPECT_THAT(refused({.source = gaps, .condition = "b", .gaps = Gaps::kSample}), HasSubstr("a condition is missing"));
  EXPECT_THAT(refused({.source = gaps, .history = 1, .gaps = Gaps::kSample}), HasSubstr("has missing values"));
}

TEST_F(HeldOut, MayBeOtherData) {
  const std::string other = Put("b.csv", "100\n101\n");
  EXPECT_THAT(Part("test", other), ElementsAre(100, 101));
  EXPECT_EQ(Part("train", other).size(), 50u);
  EXPECT_EQ(Part("train", other, 5).size(), 5u);
}

TEST_F(HeldOut, WhatCannotWorkIsRefused) {
  const auto refused = [](const DataOptions& options) {
    try {
      LoadDataset(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string path = Path("a.csv");
  EXPECT_THAT(refused({.source = path, .held_out = "1"}),
              HasSubstr("a share of the rows above 0 and below 1, or the path"));
  EXPECT_THAT(refused({.source = path, .held_out = "-0.1"}), HasSubstr("above 0 and below 1"));
  EXPECT_THAT(refused({.source = path, .split = "test", .held_out = "none.csv"}), HasSubstr("none.csv: cannot open"));
  EXPECT_THAT(refused({.source = path, .split = "test"}), HasSubstr("data.held_out makes a part \"test\""));
  EXPECT_THAT(refused({.source = path, .split = "valid", .held_out = "0.1"}), HasSubstr("\"all\", and \"test\""));
  EXPECT_THAT(refused({.source = path, .subset = 46, .held_out = "0.1"}), HasSubstr("allowed are 1 to 45"));
  EXPECT_THAT(refused({.source = "gmm-iso", .held_out = "0.1"}), HasSubstr("has held-out data of its own"));
  EXPECT_THAT(refused({.source = Put("one.csv", "1\n"), .held_out = "0.1"}), HasSubstr("has one row"));
  EXPECT_THAT(refused({.source = path, .key = "x"}), HasSubstr("allowed for NPZ and HDF5 files"));
  for (const char* name : {"mnist", "gmm-iso", "strokes"}) {
    EXPECT_EQ(refused({.source = name, .columns = "1"}),
              fmt::format("data: columns = 1: {}: allowed for tables (.csv, .tsv)", name));
    EXPECT_THAT(refused({.source = name, .label = "y"}), HasSubstr("named data have labels of their own, or none"));
    EXPECT_THAT(refused({.source = name, .key = "x"}), HasSubstr("allowed for NPZ and HDF5 files"));
  }
}

TEST_F(HeldOut, TheNpzArrayIsChosenByKey) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> numbers = {5, 7, 9};
  const std::string bytes(reinterpret_cast<const char*>(numbers.data()), 12);
  const Tensor x = MakeTensor("x", {3, 2}, values);
  WriteNpz(Path("one.npz"), std::vector<Tensor>{x, {"y", "I32", {3}, bytes}});
  WriteNpz(Path("two.npz"), std::vector<Tensor>{x, {"z", "I32", {1, 3}, bytes}});
  EXPECT_THAT(LoadDataset({.source = Path("one.npz")}).ReadAll().values(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(LoadDataset({.source = Path("one.npz"), .label = "y"}).labels(), ElementsAre(5, 7, 9));
  EXPECT_THAT(LoadDataset({.source = Path("two.npz"), .key = "z"}).ReadAll().values(), ElementsAre(5, 7, 9));
  const auto refused = [](const DataOptions& options) {
    try {
      LoadDataset(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refused({.source = Path("two.npz")}), HasSubstr("2 arrays of rows and values: say which by data.key"));
  EXPECT_THAT(refused({.source = Path("one.npz"), .key = "w"}), HasSubstr("no such array: there are x, y"));
  EXPECT_THAT(refused({.source = Path("one.npz"), .key = "y"}), HasSubstr("allowed are rows × values"));
  EXPECT_THAT(refused({.source = Path("one.npz"), .label = "x"}), HasSubstr("labels are of rank 1"));
}

}  // namespace
}  // namespace grbm
