// Readers of single files: IDX, gzip, NPY, CSV.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/hostile_test.h"
#include "data/column_steps.h"
#include "data/csv.h"
#include "data/gzip.h"
#include "data/idx.h"
#include "data/npy_rows.h"
#include "data/sparse.h"
#include "data/test_files.h"
#include "grbm/core/npz.h"
#include "grbm/data/options.h"
#include "support/errors.h"

namespace grbm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

FileBytes InMemory(const std::string& contents) {
  auto owner = std::make_shared<const std::string>(contents);
  return {owner, *owner};
}

Dataset Idx(const std::string& contents) { return ReadIdx(InMemory(contents), "a", {}); }

std::string BigEndian(const void* value, std::size_t size) {
  std::string bytes(static_cast<const char*>(value), size);
  return {bytes.rbegin(), bytes.rend()};
}

TEST(Idx, ReadsEveryElementTypeAndRank) {
  const Dataset images = Idx(MakeIdx(0x08, {2, 1, 2}, std::string("\x00\x01\xfe\xff", 4)));
  EXPECT_TRUE(images.is_8bit());
  EXPECT_EQ(images.shape(), (ImageShape{1, 2, 1}));
  EXPECT_THAT(images.ReadAll().values(), ElementsAre(0, 1, 254, 255));
  EXPECT_EQ(Idx(MakeIdx(0x08, {1, 1, 1, 3}, "abc")).shape(), (ImageShape{1, 1, 3}));

  const Dataset table = Idx(MakeIdx(0x09, {1, 2}, "\xff\x01"));
  EXPECT_FALSE(table.is_8bit());
  EXPECT_FALSE(table.shape().known());
  EXPECT_THAT(table.ReadAll().values(), ElementsAre(-1, 1));
  const std::int16_t i16 = -300;
  const std::int32_t i32 = 70000;
  const float f32 = 1.5f;
  const double f64 = -0.1;
  EXPECT_THAT(Idx(MakeIdx(0x0b, {1, 1}, BigEndian(&i16, 2))).ReadAll().values(), ElementsAre(-300));
  EXPECT_THAT(Idx(MakeIdx(0x0c, {1, 1}, BigEndian(&i32, 4))).ReadAll().values(), ElementsAre(70000));
  EXPECT_THAT(Idx(MakeIdx(0x0d, {1, 1}, BigEndian(&f32, 4))).ReadAll().values(), ElementsAre(1.5f));
  EXPECT_THAT(Idx(MakeIdx(0x0e, {1, 1}, BigEndian(&f64, 8))).ReadAll().values(), ElementsAre(-0.1f));
}

TEST(Idx, SurvivesDamage) {
  const std::string valid = MakeIdx(0x08, {2, 1, 3}, "abcdef");
  ExpectSurvivesDamage([](const std::string& contents) { Idx(contents).ReadAll(); }, valid);
  const double values[] = {0, 0};
  const std::string doubles = MakeIdx(0x0e, {1, 2}, std::string(reinterpret_cast<const char*>(values), 16));
  ExpectSurvivesDamage([](const std::string& contents) { Idx(contents).ReadAll(); }, doubles);
  ExpectSurvivesDamage([](const std::string& contents) { Idx(contents).ReadAll(); }, MakeGzip(valid));
}

TEST(Idx, MessagesNameThePlaceAndWhatWasExpected) {
  EXPECT_EQ(DataMessage([] { Idx("PK\3\4"); }),
            "a: byte 0: 'PK\\x03\\x04': not an IDX file: expected are two zeros, an element type and a rank");
  EXPECT_EQ(DataMessage([] {
              Idx(MakeIdx(0x08, {2, 1, 3}, "abcde"));
            }),
            "a: byte 16: 5 bytes of data do not fit dimensions [2, 1, 3]: expected are 6: truncated?");
  EXPECT_THAT(DataMessage([] { Idx(MakeIdx(0x08, {2, 1, 3}, "abcdefg")); }), HasSubstr("7 bytes of data"));
  EXPECT_THAT(DataMessage([] { Idx(MakeIdx(0x08, {6}, "abcdef")); }), HasSubstr("an array of shape [6]: allowed are"));
  EXPECT_THAT(DataMessage([] { Idx(MakeIdx(0x08, {1, 1, 1, 2}, "ab")); }), HasSubstr("with 1, 3 or 4 channels"));
  EXPECT_THAT(DataMessage([] { Idx(MakeIdx(0x08, {0, ~0u, ~0u}, "")); }), HasSubstr("has no rows"));
  EXPECT_THAT(DataMessage([] { Idx(MakeIdx(0x08, {1, 0, 5}, "")); }), HasSubstr("[1, 0, 5]"));
  EXPECT_THAT(DataMessage([] { Idx(std::string("\0\0\x08", 3)); }), HasSubstr("truncated?"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Headers that promise far more than there is, up to 2^128 elements.
void ReadLyingHeaders() {
  LimitMemory(200);
  const std::string header = MakeIdx(0x08, {1000000, 1000, 1000}, "abc");
  const std::string absurd = MakeIdx(0x0e, {~0u, ~0u, ~0u, ~0u}, "abc");
  for (const std::string& contents : {header, absurd, MakeGzip(header), MakeGzip(absurd)}) {
    try {
      Idx(contents);
      ::_exit(1);
    } catch (const DataError&) {
    } catch (...) {
      ::_exit(2);
    }
  }
  ::_exit(0);
}

TEST(Idx, HeadersThatLieCostNoMemory) { EXPECT_EXIT(ReadLyingHeaders(), ::testing::ExitedWithCode(0), ""); }
#endif

TEST(Gzip, InflatesOneMemberOrSeveral) {
  const std::string content(300000, 'x');
  EXPECT_EQ(Gunzip(MakeGzip(content), 1 << 20, "a"), content);
  EXPECT_EQ(Gunzip(MakeGzip("one") + MakeGzip("two"), 100, "a"), "onetwo");
  EXPECT_EQ(Gunzip(MakeGzip(""), 0, "a"), "");
  EXPECT_EQ(Gunzip(MakeGzip("four"), 4, "a"), "four");
  EXPECT_EQ(GunzipStart(MakeGzip(content), 10, "a"), "xxxxxxxxxx");
  EXPECT_EQ(GunzipStart(MakeGzip("short"), 10, "a"), "short");
}

TEST(Gzip, RefusesBombsTruncationAndDamage) {
  const std::string bomb = MakeGzip(std::string(50 << 20, '\0'));
  EXPECT_LT(bomb.size(), 100000u);
  EXPECT_EQ(DataMessage([&] { Gunzip(bomb, 1000000, "a"); }),
            "a: inflates to more than the 1000000 bytes that are allowed here");
  EXPECT_THAT(DataMessage([] { Gunzip(MakeGzip("five!"), 4, "a"); }), HasSubstr("more than the 4 bytes"));
  const std::string valid = MakeGzip("some content, some content");
  EXPECT_EQ(DataMessage([&] { Gunzip(valid.substr(0, valid.size() - 1), 100, "a"); }),
            fmt::format("a: byte {}: the compressed data end too early: truncated?", valid.size() - 1));
  EXPECT_THAT(DataMessage([&] { Gunzip(valid + "rest", 100, "a"); }), HasSubstr("bytes that are not compressed data"));
  std::string damaged = valid;
  damaged[valid.size() - 8] ^= 1;  // the checksum
  EXPECT_THAT(DataMessage([&] { Gunzip(damaged, 100, "a"); }), HasSubstr("the compressed data are damaged"));
  ExpectSurvivesDamage([](const std::string& contents) { Gunzip(contents, 100, "a"); }, valid);
  // A bomb behind an honest header stops at the size that the header says.
  EXPECT_THAT(DataMessage([&] {
                Idx(MakeGzip(MakeIdx(8, {1, 2, 2}, std::string(50 << 20, '\0'))));
              }),
              HasSubstr("inflates to more than the 20 bytes"));
}

class FileReaders : public FolderTest {};

TEST_F(FileReaders, LabelsAreThoseOfTheFileBeside) {
  const std::string images = MakeIdx(8, {2, 1, 1}, "ab");
  const std::string labels = MakeIdx(8, {2}, std::string("\3\xff", 2));
  EXPECT_THAT(LoadDataset({.source = Put("train-images-idx3-ubyte", images)}).labels(), IsEmpty());
  Put("train-labels-idx1-ubyte", labels);
  EXPECT_THAT(LoadDataset({.source = Path("train-images-idx3-ubyte")}).labels(), ElementsAre(3, 255));
  Put("x-images.idx3.gz", MakeGzip(images));
  Put("x-labels.idx1", labels);
  EXPECT_THAT(LoadDataset({.source = Path("x-images.idx3.gz")}).labels(), ElementsAre(3, 255));
  Put("y-images", images);
  Put("y-labels", MakeIdx(8, {3}, "abc"));
  EXPECT_EQ(DataMessage([&] { LoadDataset({.source = Path("y-images")}); }),
            Path("y-images") + ": 3 labels for 2 rows: expected is one for each");
  Put("y-labels", images);
  EXPECT_THAT(DataMessage([&] { LoadDataset({.source = Path("y-images")}); }),
              HasSubstr("expected is a list of whole numbers"));
}

TEST_F(FileReaders, TheFormatIsThatOfTheBytesNotOfTheName) {
  EXPECT_EQ(LoadDataset({.source = Put("a.csv", MakeIdx(8, {2, 1, 1}, "ab"))}).rows(), 2);
  EXPECT_EQ(LoadDataset({.source = Put("b.npy", MakeGzip(MakeIdx(8, {2, 1, 1}, "ab")))}).rows(), 2);
  EXPECT_THAT(LoadDataset({.source = Put("c.CSV", "1,2\n")}).ReadAll().values(), ElementsAre(1, 2));
  EXPECT_THAT(DataMessage([&] { LoadDataset({.source = Put("d.bin", "1,2\n")}); }),
              AllOf(HasSubstr("d.bin: byte 0: '1,2\\x0a': not a format that is known"), HasSubstr(".csv")));
  EXPECT_THAT(DataMessage([&] { LoadDataset({.source = Put("e", "")}); }), HasSubstr("e: byte 0: ''"));
  EXPECT_THAT(DataMessage([&] { LoadDataset({.source = Put("f.png", "\x89PNG\r\n\x1a\n")}); }),
              HasSubstr("give the folder of the images instead"));
  EXPECT_EQ(DataMessage([&] { LoadDataset({.source = Put("g.csv.gz", MakeGzip("1,2\n")), .columns = "1"}); }),
            Path("g.csv.gz") + ": compressed, and not an IDX file: no other is read compressed: gunzip it first");
}

TEST_F(FileReaders, NpyOfBytesAndFloatsStaysInTheFile) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  WriteNpy(Path("f.npy"), MakeTensor("", {3, 2}, values));
  const Dataset floats = LoadDataset({.source = Path("f.npy")});
  EXPECT_FALSE(floats.is_8bit());
  EXPECT_FALSE(floats.shape().known());
  EXPECT_THAT(floats.ReadAll().values(), ElementsAre(1, 2, 3, 4, 5, 6));
  WriteNpy(Path("u.npy"), {"", "U8", {2, 1, 1, 3}, "abcdef"});
  const Dataset bytes = LoadDataset({.source = Path("u.npy")});
  EXPECT_TRUE(bytes.is_8bit());
  EXPECT_EQ(bytes.shape(), (ImageShape{1, 1, 3}));
  // Mapped: a change of the file in place shows. (Nobody should.)
  std::fstream file(Path("u.npy"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file << "z" << std::flush;
  EXPECT_EQ(bytes.ReadAll()(1, 2), 'z');
}

TEST_F(FileReaders, NpyOfOtherTypesBecomesFloats) {
  const double values[] = {1.5, -2};
  WriteNpy(Path("d.npy"), {"", "F64", {1, 2}, {reinterpret_cast<const char*>(values), sizeof(values)}});
  EXPECT_THAT(LoadDataset({.source = Path("d.npy")}).ReadAll().values(), ElementsAre(1.5, -2));
  WriteNpy(Path("one.npy"), {"", "U8", {6}, "abcdef"});
  EXPECT_THAT(DataMessage([&] { LoadDataset({.source = Path("one.npy")}); }), HasSubstr("an array of shape [6]"));
  const double huge[] = {1, 1e300};
  WriteNpy(Path("h.npy"), {"", "F64", {1, 2}, {reinterpret_cast<const char*>(huge), sizeof(huge)}});
  EXPECT_THAT(DataMessage([&] { LoadDataset({.source = Path("h.npy")}); }), HasSubstr("row 0, column 1"));
}

// Seconds since 1970: as 32-bit floats they come in steps of 128.
TEST_F(FileReaders, ColumnsThatFloatsCannotTellApartAreNamed) {
  const double stamps[] = {1.7e9, 1, 1.7e9 + 60, 2};
  WriteNpy(Path("d.npy"), {"", "F64", {2, 2}, {reinterpret_cast<const char*>(stamps), sizeof(stamps)}});
  const std::int64_t whole[] = {1, 1'700'000'000, 2, 1'700'000'060};
  WriteNpy(Path("i.npy"), {"", "I64", {2, 2}, {reinterpret_cast<const char*>(whole), sizeof(whole)}});
  const auto warning = [&](const char* name) { return LoadDataset({.source = Path(name)}).warning(); };
  EXPECT_THAT(warning("d.npy"), HasSubstr("column 0 from 1700000000 to 1700000060 in steps of 128 (counted"));
  EXPECT_THAT(warning("i.npy"), HasSubstr("column 1 from 1700000000"));
  const std::uint64_t high[] = {(1ull << 63) + 1, 1, (1ull << 63) + 50, 2};
  WriteNpy(Path("u.npy"), {"", "U64", {2, 2}, {reinterpret_cast<const char*>(high), sizeof(high)}});
  EXPECT_THAT(warning("u.npy"),
              HasSubstr("column 0 from 9223372036854775809 to 9223372036854775858 in steps of 1.1e+12"));
  EXPECT_THAT(ParseCsv("x,t\n1,1700000000\n2,1700000060\n", "a.csv").warning(),
              HasSubstr("a.csv: 32-bit floats lose differences between the values of column 2 't' from 1700000000 to "
                        "1700000060 in steps of 128: take"));
}

TEST(ColumnSteps, OnlyWhatIsLostIsNamed) {
  const auto warning = [](std::initializer_list<double> values) {
    ColumnSteps<double> steps(1);
    for (const double x : values) steps.Add(0, x);
    return steps.Warning("a");
  };
  EXPECT_EQ(warning({}), "");
  EXPECT_EQ(warning({0, 0}), "");
  EXPECT_EQ(warning({5, 5}), "");
  EXPECT_EQ(warning({1, 1 + 1e-15}), "") << "rounding of a constant";
  EXPECT_EQ(warning({-1e-40, 1e-40}), "") << "no offset";
  EXPECT_EQ(warning({1e5, 1e5 + 1}), "");
  EXPECT_THAT(warning({1e5, 1e5 + 0.5}), HasSubstr("column 0"));
  EXPECT_THAT(warning({-1e9 - 60, -1e9}), HasSubstr("column 0"));
  ColumnSteps<double> many(8);
  for (std::size_t c = 0; c < 8; ++c) {
    many.Add(c, 1e9);
    many.Add(c, 1e9 + 1);
  }
  EXPECT_THAT(many.Warning("a"), HasSubstr("and 3 more"));
  // Whole numbers are never rounding: the last ones of 64 bits are told apart, too.
  ColumnSteps<std::uint64_t> last(1);
  last.Add(0, ~std::uint64_t{0});
  EXPECT_EQ(last.Warning("a"), "");
  last.Add(0, ~std::uint64_t{0} - 1);
  EXPECT_THAT(last.Warning("a"), HasSubstr("column 0 from 18446744073709551614 to 18446744073709551615 in steps"));
  ColumnSteps<std::int64_t> whole_range(1);
  for (const std::int64_t end : {INT64_MIN, INT64_MAX}) whole_range.Add(0, end);
  EXPECT_EQ(whole_range.Warning("a"), "");
}

TEST_F(FileReaders, NpyInFortransOrder) {
  // Fortran's order of [[a, b, c], [d, e, f]].
  std::string description = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
  const std::string header = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(description.size()) + '\0';
  const Dataset data = LoadDataset({.source = Put("f.npy", header + description + "adbecf")});
  EXPECT_THAT(data.ReadAll().values(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST_F(FileReaders, NpySurvivesDamage) {
  WriteNpy(Path("u.npy"), {"", "U8", {2, 3}, "abcdef"});
  std::ifstream file(Path("u.npy"), std::ios::binary);
  const std::string valid((std::istreambuf_iterator<char>(file)), {});
  ExpectSurvivesDamage([](const std::string& contents) { ReadNpyRows(InMemory(contents), "a").ReadAll(); }, valid);
}

TEST_F(FileReaders, MissingPathsAndFoldersInPlaceOfFiles) {
  try {
    LoadDataset({.source = Path("none.csv")});
    FAIL();
  } catch (const IoError& error) {
    EXPECT_EQ(error.what(), Path("none.csv") + ": cannot open: No such file or directory");
  }
  std::filesystem::create_directories(Path("x-labels"));
  EXPECT_EQ(LoadDataset({.source = Put("x-images", MakeIdx(8, {1, 1, 1}, "a"))}).rows(), 1);
  EXPECT_THROW(MapFile(folder_.string()), IoError);
  EXPECT_THROW(LoadDataset({.source = ""}), ConfigError);
}

Dataset Csv(const std::string& text, const CsvOptions& options = {}) { return ParseCsv(text, "a.csv", options); }

TEST(Csv, ReadsNumbersWithAndWithoutAHeader) {
  const Dataset data = Csv("1,2.5\n-3e2,+.5\n");
  EXPECT_EQ(data.rows(), 2);
  EXPECT_EQ(data.visible(), 2);
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(1, 2.5, -300, 0.5));
  EXPECT_THAT(Csv("x,y\n1,2").ReadAll().values(), ElementsAre(1, 2));
  EXPECT_THAT(Csv("\"x, the first\",y\n1,2").ReadAll().values(), ElementsAre(1, 2));
}

TEST(Csv, TakesTheUsualOddities) {
  EXPECT_THAT(Csv("\xef\xbb\xbfx,y\r\n1,2\r\n\r\n3,4\r\n\r\n").ReadAll().values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Csv(" 1 ,\t2\n\"3\", \" 4 \" \n").ReadAll().values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Csv("\n\n1\n2").ReadAll().values(), ElementsAre(1, 2));
  EXPECT_THAT(Csv("1e-400,2\n").ReadAll().values(), ElementsAre(0, 2));
}

TEST(Csv, RefusesTheRestWithLineAndColumn) {
  EXPECT_EQ(DataMessage([] { Csv("1,2\n3,x\n"); }), "a.csv: line 2, column 2: 'x' is not a number");
  EXPECT_EQ(DataMessage([] { Csv("1,2\n\n3,,4\n"); }),
            std::string("a.csv: line 3, column 2: an empty cell: the value is missing: leave the row out, or fill in "
                        "the value") +
                kGapAdvice);
  EXPECT_EQ(DataMessage([] { Csv("1,2\n3,4,5\n"); }),
            "a.csv: line 2, column 3: the line has 3 cells: expected are 2, as above");
  EXPECT_EQ(DataMessage([] { Csv("1,2\n3\n"); }),
            "a.csv: line 2, column 2: the line has 1 cells: expected are 2, as above");
  EXPECT_EQ(DataMessage([] { Csv("x,y\n1\n"); }),
            "a.csv: line 2, column 2: the line has 1 cells: expected are 2, as above");
  EXPECT_EQ(
      DataMessage([] { Csv("x,y,1\n"); }),
      "a.csv: line 1, column 1: 'x' is not a number: name the columns that are by data.columns, labels by data.label");
  EXPECT_THAT(DataMessage([] { Csv("x\n1;2\n"); }),
              HasSubstr("column 1 'x': '1;2' is not a number: cells are separated as those of the first line are, and "
                        "it has no semicolon"));
  EXPECT_THAT(DataMessage([] { Csv("x;y\n1;2,5\n3;4\n5,5;1\n"); }),
              HasSubstr("'2,5' is not a number: decimals have a point"));
  EXPECT_THAT(DataMessage([] { Csv("x,y\na,b\n"); }), HasSubstr("line 2, column 1 'x': 'a' is not a number"));
  EXPECT_THAT(DataMessage([] { Csv("1,2\n3,nan\n"); }), HasSubstr("line 2, column 2: 'nan': allowed are finite"));
  EXPECT_THAT(DataMessage([] { Csv("1,-inf\n"); }), HasSubstr("line 1, column 2: '-inf'"));
  EXPECT_THAT(DataMessage([] { Csv("1e39\n"); }), HasSubstr("line 1, column 1: '1e39'"));
  EXPECT_THAT(DataMessage([] { Csv("1e400\n"); }), HasSubstr("line 1, column 1: '1e400'"));
  EXPECT_THAT(DataMessage([] { Csv("1,\"2\n"); }), HasSubstr("line 1, column 2: a quote without its end"));
  EXPECT_THAT(DataMessage([] { Csv("\"1\"2,3\n"); }), HasSubstr("line 1, column 1: text after a closing quote"));
  EXPECT_THAT(DataMessage([] { Csv("1,0x10\n"); }), HasSubstr("'0x10' is not a number"));
  EXPECT_THAT(DataMessage([] { Csv("1,+-2\n"); }), HasSubstr("'+-2' is not a number"));
  EXPECT_THAT(DataMessage([] { Csv("x,y\n"); }), HasSubstr("no line with numbers"));
  EXPECT_THAT(DataMessage([] { Csv(""); }), HasSubstr("no line with numbers"));
  EXPECT_THAT(DataMessage([] { Csv("1\n1\r2\n"); }), HasSubstr("'1\\x0d2' is not a number"));
  EXPECT_THAT(DataMessage([] { Csv(std::string("1\n\0\n", 4)); }), HasSubstr("line 2, column 1: '\\x00'"));
}

TEST(Csv, TakesOtherSeparatorsAndQuotes) {
  EXPECT_THAT(Csv("x\ty\n1\t2\n").ReadAll().values(), ElementsAre(1, 2));
  EXPECT_THAT(Csv("x;y\n1;2\n").ReadAll().values(), ElementsAre(1, 2));
  EXPECT_THAT(Csv("1;2\n").ReadAll().values(), ElementsAre(1, 2));
  const Dataset data = Csv("\"a \"\"b\"\", c\",\"two\nlines\"\r\n1,\"2\"\r\n");
  EXPECT_THAT(data.names().columns, ElementsAre("a \"b\", c", "two\nlines"));
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(1, 2));
  EXPECT_THAT(DataMessage([] { Csv("\"x\ny\",z\n1,2\n3,w\n"); }), HasSubstr("line 4, column 2 'z': 'w'"));
}

TEST(Csv, LeavesOutTheColumnThatNamesTheRows) {
  const Dataset pandas = Csv(",a,b\n0,5,6\n1,7,8\n");
  EXPECT_THAT(pandas.ReadAll().values(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(pandas.names().columns, ElementsAre("a", "b"));
  EXPECT_THAT(pandas.names().notes, ElementsAre("column 1 names the rows, and is left out"));
  EXPECT_THAT(Csv("Unnamed: 0,a\n0,5\n").ReadAll().values(), ElementsAre(5));
  EXPECT_THAT(Csv("a,b\none,5,6\ntwo,7,8\n").ReadAll().values(), ElementsAre(5, 6, 7, 8));  // R
  EXPECT_THAT(Csv(",0,1\n0,5,6\n").ReadAll().values(), ElementsAre(5, 6));                  // without names
  EXPECT_THAT(Csv("0,1,2\n5,6,7\n").ReadAll().values(), ElementsAre(5, 6, 7));
  EXPECT_THAT(Csv("0,1\n5,6\n").ReadAll().values(), ElementsAre(0, 1, 5, 6));  // may be a row
  EXPECT_THAT(Csv("year,2019\n1,2\n").ReadAll().values(), ElementsAre(1, 2));  // text above a number names it
}

TEST(Csv, TakesLabelsAndColumns) {
  const Dataset text = Csv("x,kind,y\n1,b,2\n3,a,4\n5,b,6\n");
  EXPECT_THAT(text.ReadAll().values(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(text.labels(), ElementsAre(1, 0, 1));
  EXPECT_THAT(text.names().labels, ElementsAre("a", "b"));
  EXPECT_THAT(DataMessage([] { Csv("x,day\n1,2020-01-01\n"); }), HasSubstr("'2020-01-01' is not a number: name the"));
  EXPECT_THAT(text.names().notes, ElementsAre("column 2 'kind' holds text, and is taken as labels"));
  const Dataset numbers = Csv("x,k\n1,7\n3,-2\n", {.label = "k"});
  EXPECT_THAT(numbers.ReadAll().values(), ElementsAre(1, 3));
  EXPECT_THAT(numbers.labels(), ElementsAre(7, -2));
  EXPECT_TRUE(numbers.names().labels.empty());
  EXPECT_THAT(Csv("a,b,c,d\n1,2,3,4\n", {.columns = "d, 1-2"}).ReadAll().values(), ElementsAre(4, 1, 2));
  EXPECT_THAT(Csv("u,2,v\n1,x,y\n", {.columns = "u"}).visible(), 1);  // text that is not asked for is no matter
  const auto refused = [](const CsvOptions& options) {
    return grbm::testing::ErrorOf([&] { Csv("width,b\n1,2\n", options); });
  };
  EXPECT_THAT(refused({.columns = "witdh"}), HasSubstr("data.columns: no column 'witdh': did you mean 'width'?"));
  EXPECT_THAT(refused({.columns = "zz"}), HasSubstr("no column 'zz': allowed are names"));
  EXPECT_THAT(refused({.columns = "0"}), HasSubstr("allowed are names of the first line, and numbers from 1 to 2"));
  EXPECT_THAT(refused({.columns = "1-3"}), HasSubstr("columns '1-3': allowed are numbers from 1 to 2"));
  EXPECT_THAT(refused({.columns = "2-1"}), HasSubstr("the smaller first"));
  EXPECT_THAT(refused({.columns = "b,2"}), HasSubstr("column 2 'b' is named twice"));
  EXPECT_THAT(refused({.columns = ","}), HasSubstr("no column ''"));
  EXPECT_THAT(refused({.columns = "1,2", .label = "b"}), HasSubstr("is the label, and among data.columns"));
  EXPECT_THAT(refused({.label = "kind"}), HasSubstr("data.label: no column 'kind'"));
}

TEST(Csv, NamesMissingValues) {
  const CsvOptions marks = {.missing = "NA,-999"};
  const auto refused = [&](const char* text) { return DataMessage([&] { Csv(text, marks); }); };
  EXPECT_EQ(refused("x,y\n1,2\n3,NA\n"),
            std::string("a.csv: line 3, column 2 'y': 'NA': the value is missing: leave the row out, or fill in the "
                        "value") +
                kGapAdvice);
  EXPECT_THAT(refused("x,y\nNA,2\n"), HasSubstr("line 2, column 1 'x': 'NA': the value is missing"));
  EXPECT_THAT(refused("1,-999\n"), HasSubstr("'-999': the value is missing"));
  EXPECT_THAT(refused("x,k\n1,a\n2,NA\n"), HasSubstr("line 3, column 2 'k': the label is missing"));
  EXPECT_EQ(Csv("1,-998\n", marks).rows(), 1);
}

TEST(Csv, TakesMissingValuesWhereTheyAreAskedFor) {
  const Dataset data = Csv("x,y,k\n1,NA,a\n,4,b\nNAN,6,b\n", {.missing = "NA", .gaps = true});
  EXPECT_TRUE(data.has_gaps());
  EXPECT_THAT(data.ReadAll().values(), ElementsAre(1, IsNan(), IsNan(), 4, IsNan(), 6));
  EXPECT_FALSE(Csv("1,2\n", {.gaps = true}).has_gaps());
  EXPECT_THAT(DataMessage([] { Csv("1,inf\n", {.gaps = true}); }), HasSubstr("'inf': allowed are finite numbers"));
  EXPECT_THAT(DataMessage([] { Csv("x,k\n1,a\n2,\n", {.label = "k", .gaps = true}); }),
              HasSubstr("the label is missing"));
}

TEST(Csv, TakesAColumnOfWeights) {
  const Dataset data = Csv("x,w,k\n1,0.5,a\n2,0,b\n", {.weight = "w"});
  EXPECT_EQ(data.visible(), 1);
  EXPECT_THAT(data.weights(), ElementsAre(0.5, 0));
  EXPECT_THAT(data.labels(), ElementsAre(0, 1));
  const auto refused = [](const char* text, const CsvOptions& options) {
    return DataMessage([&] { Csv(text, options); });
  };
  EXPECT_EQ(refused("x,w\n1,-1\n", {.weight = "w"}),
            "a.csv: line 2, column 2 'w': '-1' is no weight: allowed are finite numbers of at least 0");
  EXPECT_THAT(refused("x,w\n1,\n", {.weight = "w", .gaps = true}), HasSubstr("an empty cell is no weight"));
  EXPECT_THAT(refused("x,w\n1,nan\n", {.weight = "w"}), HasSubstr("'nan' is no weight"));
  EXPECT_THAT(refused("x,w\n1,0\n", {.weight = "w"}), HasSubstr("the weights add up to 0"));
  EXPECT_THROW(Csv("x,w\n1,2\n", {.columns = "x,w", .weight = "w"}), ConfigError);
  EXPECT_THROW(Csv("x,w\n1,2\n", {.label = "w", .weight = "w"}), ConfigError);
  EXPECT_THROW(Csv("x,w\n1,2\n", {.weight = "z"}), ConfigError);
}

Matrix Dense(const SparseMatrix& sparse) {
  RowStore store(sparse.columns);
  AppendDense(sparse, "a", store);
  return Dataset(store.Finish({}, "a")).ReadAll();
}

TEST(Sparse, BecomesDenseOrIsRefused) {
  const std::vector<float> values = {1, 2, 3, 4};
  const std::vector<std::int64_t> indices = {0, 2, 1, 1};
  const std::vector<std::int64_t> rows = {0, 2, 4};
  EXPECT_THAT(Dense({2, 3, false, values, indices, rows}).values(), ElementsAre(1, 0, 2, 0, 7, 0));
  EXPECT_THAT(Dense({3, 2, true, values, indices, rows}).values(), ElementsAre(1, 0, 0, 7, 2, 0));
  const auto refused = [&](const SparseMatrix& sparse) { return DataMessage([&] { Dense(sparse); }); };
  const std::vector<std::int64_t> outside = {0, 3, 1, 1};
  const std::vector<std::int64_t> negative = {0, -1, 1, 1};
  const std::vector<std::int64_t> back = {0, 5, 4};
  const std::vector<std::int64_t> late = {1, 2, 4};
  EXPECT_EQ(refused({2, 3, false, values, outside, rows}), "a: index 3 of the sparse matrix: allowed are 0 to 2");
  EXPECT_THAT(refused({2, 3, false, values, negative, rows}), HasSubstr("index -1"));
  EXPECT_THAT(refused({2, 3, false, values, indices, back}), HasSubstr("line 1 of the sparse matrix ends before"));
  EXPECT_THAT(refused({2, 3, false, values, indices, late}), HasSubstr("do not fit together"));
  EXPECT_THAT(refused({3, 3, false, values, indices, rows}), HasSubstr("do not fit together"));
  EXPECT_THAT(refused({2, 3, false, {}, indices, rows}), HasSubstr("do not fit together"));
}

}  // namespace
}  // namespace grbm
