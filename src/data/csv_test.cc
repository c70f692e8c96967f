// Tables that are not as they should be: what is meant, or what to do.
#include "data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grbm/core/error.h"
#include "support/errors.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

Dataset Csv(const std::string& text, const CsvOptions& options = {}) { return ParseCsv(text, "a.csv", options); }

std::string Refused(const std::string& text, const CsvOptions& options = {}) {
  return grbm::testing::ErrorOf([&] { Csv(text, options); });
}

TEST(CsvText, AColumnOfNumbersIsNoneForItsFirstCell) {
  EXPECT_EQ(Refused("a,b\nhello,2\n1.5,7\n2.5,8\n"),
            "a.csv: line 2, column 1 'a': 'hello' is not a number, as 2 of the 2 cells below are: name it in "
            "data.missing, or the columns that are numbers by data.columns, labels by data.label");
  EXPECT_THAT(Refused("a,b\n\n1,x\n2,\"3\"\n3,y\n4,4\n5,5\n"),
              HasSubstr("line 3, column 2 'b': 'x' is not a number, as 3 of the 4"));
  // Half of the cells are not most.
  const Dataset half = Csv("a,b\nx,1\n1,2\n");
  EXPECT_THAT(half.names().labels, ElementsAre("1", "x"));
  EXPECT_THAT(half.ReadAll().values(), ElementsAre(1, 2));
  // What is asked for is taken.
  EXPECT_THAT(Csv("a,b\nx,1\n1,2\n1,3\n", {.label = "a"}).labels(), ElementsAre(1, 0, 0));
  EXPECT_THAT(Csv("a,b\nx,1\n1,2\n1,3\n", {.columns = "b"}).ReadAll().values(), ElementsAre(1, 2, 3));
  EXPECT_THAT(Csv("a,b\nx,1\n1,2\n3,3\n", {.missing = "x", .gaps = true}).ReadAll().values(),
              ElementsAre(IsNan(), 1, 1, 2, 3, 3));
}

TEST(CsvText, AColumnOfSeveralOfOneNameIsChosenByNumber) {
  const std::string text = "a,b,a,2,2\n1,2,3,4,5\n";
  EXPECT_EQ(Refused(text, {.columns = "b,a"}),
            "a.csv: data.columns: columns 1 and 3 are both called 'a': choose by number");
  EXPECT_THAT(Refused(text, {.condition = "a"}), HasSubstr("data.condition: columns 1 and 3 are both called 'a'"));
  EXPECT_THAT(Refused(text, {.label = "2"}), HasSubstr("data.label: columns 4 and 5 are both called '2'"));
  EXPECT_THAT(Csv(text, {.columns = "b,3,1"}).ReadAll().values(), ElementsAre(2, 3, 1));
  EXPECT_EQ(Csv(text).visible(), 5);
}

TEST(CsvText, OfOtherProgramsIsReadOrNamed) {
  // Line ends of old Macs.
  const Dataset old = Csv("x,kind\r1,a\r\r2,\"b\rc\"\r3,a");
  EXPECT_THAT(old.ReadAll().values(), ElementsAre(1, 2, 3));
  EXPECT_THAT(old.names().labels, ElementsAre("a", "b\rc"));
  EXPECT_THAT(Refused("x,y\r1,2\r\r3,z\r"), HasSubstr("line 4, column 2 'y': 'z' is not a number"));
  // A separator behind every cell.
  const Dataset trailing = Csv("a,b,\n1,2,\n3,4,\n");
  EXPECT_THAT(trailing.ReadAll().values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(trailing.names().columns, ElementsAre("a", "b"));
  EXPECT_THAT(Csv("1;\n2;\n").ReadAll().values(), ElementsAre(1, 2));
  // One that is not: a value that is missing.
  EXPECT_THAT(Csv("1,2,\n3,4,5\n", {.gaps = true}).ReadAll().values(), ElementsAre(1, 2, IsNan(), 3, 4, 5));
  EXPECT_THAT(Refused("a,b,\n1,2,3\n"), HasSubstr("line 1, column 1: 'a' is not a number"));
  for (const std::string& text : {std::string("\xff\xfex\0\n\0", 6), std::string("\xfe\xff\0x", 4),
                                  std::string("x\0\n\0", 4), std::string("\0x\0\n", 4)}) {
    EXPECT_EQ(Refused(text), "a.csv: text in UTF-16: save it as UTF-8");
  }
}

TEST(CsvText, SeparatorsThatAreNotAllowedAreNamed) {
  const std::string allowed = ": allowed are commas, tabs and semicolons";
  EXPECT_THAT(Refused("x|y\n1|2\n"), HasSubstr("'1|2' is not a number: cells seem to be separated by '|'" + allowed));
  EXPECT_THAT(Refused("1 2\n3 4\n"),
              HasSubstr("'3 4' is not a number: cells seem to be separated by blanks" + allowed));
  EXPECT_THAT(Refused("x\n1\n2\t3\n"), HasSubstr("separated as those of the first line are, and it has no tab"));
  EXPECT_EQ(Refused("1,5;2,5\n3,5;4,5\n"),
            "a.csv: line 1, column 2: '5;2' is not a number: the line has commas and semicolons: one of them separates "
            "cells, and decimals have a point");
  EXPECT_THAT(Refused("x\ta\n1\tb\n\"2,5\"\tc\n"), HasSubstr("'2,5' is not a number: decimals have a point"));
  EXPECT_THAT(Refused("\"a\" \"b\"\n"), HasSubstr("a closing quote: expected is a comma, a tab or a semicolon"));
  EXPECT_THAT(Refused("x,y\n1,2\n3,a b\n"), ::testing::EndsWith("'a b' is not a number"));
}

TEST(CsvText, MarksThatAreNumbersStandForEqualOnes) {
  const CsvOptions marks = {.missing = "NA, -999.0", .gaps = true};
  EXPECT_THAT(Csv("-999,-999.00\n-9.99e2,NA\n-998,-9990\n", marks).ReadAll().values(),
              ElementsAre(IsNan(), IsNan(), IsNan(), IsNan(), -998, -9990));
  EXPECT_THAT(Refused("x,k\n1,1\n2,-999\n", {.label = "k", .missing = "-999.0"}), HasSubstr("the label is missing"));
  EXPECT_THAT(Csv("x,k\n1,1\n2,-999\n", {.label = "k", .missing = "NA"}).labels(), ElementsAre(1, -999));
}

TEST(CsvText, AnIndexThatCountsTheRowsIsLeftOut) {
  const Dataset data = Csv("index,a\n0,5\n1,6\n2,7\n");
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(5, 6, 7));
  EXPECT_THAT(data.names().columns, ElementsAre("a"));
  EXPECT_THAT(data.names().notes, ElementsAre("column 1 'index' counts the rows, and is left out"));
  // What counts something else, stands elsewhere or is asked for is a value.
  for (const char* text : {"index,a\n0,5\n1,6\n3,7\n", "index,a\n1,5\n2,6\n", "a,index\n5,0\n6,1\n",
                           "row,a\n0,5\n1,6\n", "index,a\n0,5\n0.5,6\n"}) {
    EXPECT_EQ(Csv(text).visible(), 2) << text;
  }
  EXPECT_EQ(Csv("index\n0\n1\n").visible(), 1);
  EXPECT_EQ(Csv("index,a\n0,5\n1,6\n", {.columns = "index,a"}).visible(), 2);
  EXPECT_THAT(Csv("index,a\n0,5\n1,6\n", {.label = "index"}).labels(), ElementsAre(0, 1));
}

TEST(CsvText, SomethingMustBeLeftToModel) {
  EXPECT_EQ(Refused("a,b\n1,2\n", {.label = "a", .condition = "b"}),
            "a.csv: no column is left to model: all 2 are names of rows, labels, weights or conditions");
}

}  // namespace
}  // namespace grbm
