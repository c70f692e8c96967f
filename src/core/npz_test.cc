#include "grbm/core/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>

#include "core/bytes.h"
#include "core/hostile_test.h"
#include "core/zip.h"
#include "grbm/core/file.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An .npy file of version 1.0.
std::string Npy(const std::string& description, const std::string& data) {
  std::string contents("\x93NUMPY\x01\x00", 8);
  AppendNumber(contents, static_cast<std::uint16_t>(description.size()));
  return contents + description + data;
}

std::string Describe(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

std::string Refusal(const std::string& description, const std::string& data = "") {
  return DataMessage([&] { ParseNpy(Npy(description, data), "t"); });
}

// An archive with one deflated member that claims to inflate to `claimed` bytes.
std::string DeflatedZip(const std::string& name, const std::string& content, std::uint32_t claimed) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string data(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(data.data());
  stream.avail_out = static_cast<uInt>(data.size());
  deflate(&stream, Z_FINISH);
  data.resize(stream.total_out);
  deflateEnd(&stream);

  ZipWriter writer("t");
  writer.Add(name, "", data);
  std::string zip;
  for (const std::string_view piece : writer.Finish()) zip += piece;
  // Directory entry: the method at 10, the checksum at 16, the size at 24.
  const std::size_t entry = zip.rfind("PK\x01\x02");
  const auto crc =
      static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  zip[entry + 10] = 8;
  std::memcpy(zip.data() + entry + 16, &crc, 4);
  std::memcpy(zip.data() + entry + 24, &claimed, 4);
  return zip;
}

std::string DeflatedZip(const std::string& name, const std::string& content) {
  return DeflatedZip(name, content, static_cast<std::uint32_t>(content.size()));
}

template <typename T>
T NumberAt(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// The same archive with all its sizes and places in 64 bits, as those of 4 GiB and more have them.
std::string Wide(const std::string& zip) {
  const std::size_t end = zip.rfind("PK\x05\x06");
  const auto count = NumberAt<std::uint16_t>(zip, end + 10);
  const std::size_t start = NumberAt<std::uint32_t>(zip, end + 16);
  std::string wide = zip.substr(0, start);
  for (std::size_t at = start, entries = 0; entries < count; ++entries) {
    const std::size_t name = NumberAt<std::uint16_t>(zip, at + 28);
    std::string entry = zip.substr(at, 46 + name);
    const auto field = static_cast<std::uint16_t>(5 + 28);  // one of another kind before it
    std::memcpy(entry.data() + 30, &field, 2);
    AppendNumber(entry, std::uint16_t{0x7075});
    AppendNumber(entry, std::uint16_t{1});
    entry += 'x';
    AppendNumber(entry, std::uint16_t{1});
    AppendNumber(entry, std::uint16_t{24});
    for (const std::size_t place : {24, 20, 42}) {
      AppendNumber(entry, std::uint64_t{NumberAt<std::uint32_t>(entry, place)});
      entry.replace(place, 4, "\xff\xff\xff\xff");
    }
    wide += entry;
    at += 46 + name;
  }
  const std::size_t end64 = wide.size();
  wide += "PK\x06\x06";
  AppendNumber(wide, std::uint64_t{44});
  AppendNumber(wide, std::uint32_t{0});  // versions
  AppendNumber(wide, std::uint64_t{0});  // disks
  AppendNumber(wide, std::uint64_t{count});
  AppendNumber(wide, std::uint64_t{count});
  AppendNumber(wide, std::uint64_t{end64 - start});
  AppendNumber(wide, std::uint64_t{start});
  wide += "PK\x06\x07";
  AppendNumber(wide, std::uint32_t{0});
  AppendNumber(wide, std::uint64_t{end64});
  AppendNumber(wide, std::uint32_t{1});
  return wide + zip.substr(end, 8) + std::string(12, '\xff') + std::string(2, '\0');
}

class Npz : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // Two small arrays as an archive.
  std::string Example() const {
    const std::vector<float> values = {1, -2, 3, 4, 5, 6};
    const Tensor tensors[] = {MakeTensor("W", {2, 3}, values), {"bytes", "U8", {3}, "abc"}};
    WriteNpz(path_, tensors);
    return ReadFile(path_);
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("grbm-npz-test-" + std::to_string(::getpid()))).string();
};

TEST_F(Npz, ReadsBackWhatWasWritten) {
  const std::string first = Example();
  const TensorFile file = ReadNpz(path_);
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_THAT(GetFloats(file, "W", std::array<Index, 2>{2, 3}), ElementsAre(1, -2, 3, 4, 5, 6));
  EXPECT_EQ(file.tensors[1].name, "bytes");
  EXPECT_EQ(file.tensors[1].bytes, "abc");
  EXPECT_EQ(Example(), first);  // no dates
  WriteNpz(path_, {});
  EXPECT_TRUE(ReadNpz(path_).tensors.empty());
}

TEST_F(Npz, ReadsZip64) {
  const TensorFile file = ParseNpz(Wide(Example()), "t");
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_THAT(GetFloats(file, "W", std::array<Index, 2>{2, 3}), ElementsAre(1, -2, 3, 4, 5, 6));
  EXPECT_EQ(file.tensors[1].bytes, "abc");
  const std::string npy = Npy(Describe("|u1", "(3,)"), "abc");
  EXPECT_EQ(ParseNpz(Wide(DeflatedZip("x.npy", npy)), "t").tensors.at(0).bytes, "abc");
}

TEST_F(Npz, RefusesZip64ThatLies) {
  const std::string wide = Wide(Example());
  ExpectSurvivesDamage([](const std::string& zip) { ParseNpz(zip, "t"); }, wide);
  std::string elsewhere = wide;
  elsewhere[elsewhere.rfind("PK\x06\x07") + 8] ^= 1;
  EXPECT_THAT(DataMessage([&] { ParseNpz(elsewhere, "t"); }), HasSubstr("end record of ZIP64 is damaged"));
  std::string narrow = wide;
  narrow[narrow.rfind("PK\x01\x02") + 46 + std::string("bytes.npy").size() + 5 + 2] = 16;
  EXPECT_THAT(DataMessage([&] { ParseNpz(narrow, "t"); }), HasSubstr("'bytes.npy': 4 GiB or more (ZIP64), but of no"));
}

TEST_F(Npz, AnEmptyArrayReadsBack) {
  const Tensor tensors[] = {MakeTensor("x", {0, 3}, {})};
  WriteNpz(path_, tensors);
  EXPECT_THAT(ReadNpz(path_).tensors.at(0).shape, ElementsAre(0, 3));
}

TEST_F(Npz, OneArrayReadsBack) {
  const std::vector<float> values = {1, 2, 3};
  for (const std::vector<Index>& shape : {std::vector<Index>{3}, {1, 3, 1}, {3, 1}}) {
    WriteNpy(path_, MakeTensor("ignored", shape, values));
    EXPECT_EQ(ReadFile(path_).size() % 64, 12u);
    EXPECT_THAT(GetFloats(ReadNpy(path_), "", shape), ElementsAre(1, 2, 3));
  }
  WriteNpy(path_, MakeTensor("", {}, std::span(values).first(1)));
  EXPECT_THAT(GetFloats(ReadNpy(path_), "", {}), ElementsAre(1));
}

TEST_F(Npz, ReadsDeflatedMembers) {
  const std::string data(100000, 'a');
  const TensorFile file = ParseNpz(DeflatedZip("x.npy", Npy(Describe("|u1", "(100000,)"), data)), "t");
  EXPECT_EQ(file.tensors.at(0).bytes, data);
}

TEST_F(Npz, BringsFortransOrderIntoCs) {
  const std::string data = "abcdefghijklmnopqrstuvwx";
  // Element (i, j, k) of shape (2, 3, 4) lies at i + 2 j + 6 k.
  const TensorFile file = ParseNpy(Npy(Describe("|i1", "(2, 3, 4)", true), data), "t");
  EXPECT_EQ(file.tensors[0].bytes, "agmsciouekqwbhntdjpvflrx");
  const TensorFile wide = ParseNpy(Npy(Describe("<u2", "(2, 2)", true), "aabbccdd"), "t");
  EXPECT_EQ(wide.tensors[0].bytes, "aaccbbdd");
  const TensorFile none = ParseNpy(Npy(Describe("<u2", "(2, 0)", true), ""), "t");
  EXPECT_EQ(none.tensors[0].bytes, "");
}

TEST_F(Npz, AcceptsOtherWritersDescriptions) {
  EXPECT_NO_THROW(ParseNpy(Npy("{'shape':(2L,),\"descr\":\"<u1\",'fortran_order':False}\n", "ab"), "t"));
  std::string version2("\x93NUMPY\x02\x00", 8);
  const std::string description = Describe("|b1", "()");
  AppendNumber(version2, static_cast<std::uint32_t>(description.size()));
  EXPECT_EQ(ParseNpy(version2 + description + "\x01", "t").tensors[0].dtype, "BOOL");
}

TEST_F(Npz, RefusesArraysThatAreNotWhole) {
  EXPECT_EQ(DataMessage([] { ParseNpy("", "t"); }), "t: byte 0: not a NumPy array");
  EXPECT_EQ(DataMessage([] { ParseNpy("PK\x03\x04 and more", "t"); }), "t: byte 0: not a NumPy array");
  EXPECT_THAT(DataMessage([] { ParseNpy(std::string("\x93NUMPY\x04\x00", 8), "t"); }),
              HasSubstr("version 4 of the format: allowed are 1 to 3"));
  EXPECT_THAT(DataMessage([] { ParseNpy(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "t"); }),
              HasSubstr("a header of 4294967295 bytes"));
  EXPECT_THAT(Refusal(Describe(">f4", "(1,)"), "1234"), HasSubstr("element type '>f4': allowed are little-endian"));
  EXPECT_THAT(Refusal(Describe("|O", "(1,)"), "1234"), HasSubstr("element type '|O'"));
  EXPECT_THAT(Refusal(Describe("<f4", "(2,)"), "1234"),
              HasSubstr("4 bytes of data do not fit shape [2] of F32: truncated?"));
  EXPECT_THAT(Refusal(Describe("<f4", "(1,)"), "12345"), HasSubstr("5 bytes of data"));
  EXPECT_THAT(Refusal(Describe("<f4", "(-1,)"), "1234"), HasSubstr("a whole number from 0 on"));
  EXPECT_THAT(Refusal(Describe("<f4", "(9223372036854775808,)"), "1234"), HasSubstr("whole number"));
  EXPECT_THAT(Refusal(Describe("<f8", "(2305843009213693952,)"), "1234"), HasSubstr("do not fit"));
  EXPECT_THAT(Refusal(Describe("<f4", "(4294967296, 4294967296)"), ""), HasSubstr("do not fit"));
  EXPECT_THAT(Refusal("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }"), HasSubstr("records"));
  EXPECT_THAT(Refusal("{'descr': '<f4', 'shape': (), }"), HasSubstr("without"));
  EXPECT_THAT(Refusal("{'descr': '<f4', 'descr': '<f4', }"), HasSubstr("twice"));
  EXPECT_THAT(Refusal(Describe("<f4", "(1,)") + "x", "1234"), HasSubstr("text after"));
  EXPECT_THAT(Refusal("{'descr': '<f4"), HasSubstr("does not end"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  EXPECT_THAT(Refusal(Describe("<f4", many + ")"), "1234"), HasSubstr("more than 64 dimensions"));
}

TEST_F(Npz, RefusesArchivesThatLie) {
  const auto refusal = [](const std::string& zip) { return DataMessage([&] { ParseNpz(zip, "t"); }); };
  const std::string npy = Npy(Describe("|u1", "(3,)"), "abc");
  EXPECT_THAT(refusal("no archive"), HasSubstr("not a ZIP archive"));
  EXPECT_THAT(refusal(DeflatedZip("x.txt", npy)), HasSubstr("'x.txt': expected is an .npy array"));
  const auto size = static_cast<std::uint32_t>(npy.size());
  EXPECT_THAT(refusal(DeflatedZip("x.npy", npy, size - 1)), HasSubstr("inflates to more than its"));
  EXPECT_THAT(refusal(DeflatedZip("x.npy", npy, size + 1)), HasSubstr("are damaged after"));
  EXPECT_THAT(refusal(DeflatedZip("x.npy", npy, 0xfffffffe)), HasSubstr("are damaged after"));
  EXPECT_THAT(refusal(DeflatedZip("x.npy", npy, 0xffffffff)), HasSubstr("ZIP64), but of no known size"));

  std::string damaged = Example();
  damaged[damaged.find("abc")] = 'z';
  EXPECT_EQ(refusal(damaged), "t: member 'bytes.npy': wrong checksum: the file is damaged");
  std::string encrypted = Example();
  encrypted[encrypted.rfind("PK\x01\x02") + 8] = 1;
  EXPECT_THAT(refusal(encrypted), HasSubstr("member 'bytes.npy': encrypted"));
  std::string method = Example();
  method[method.rfind("PK\x01\x02") + 10] = 12;
  EXPECT_THAT(refusal(method), HasSubstr("compression method 12: allowed are stored"));
}

TEST_F(Npz, RefusesMembersThatShareData) {
  // Two directory entries for one member: the way to make a small file inflate to a huge one.
  const std::string npy = Npy(Describe("|u1", "(3,)"), "abc");
  std::string zip = DeflatedZip("x.npy", npy);
  const std::size_t entry = zip.rfind("PK\x01\x02");
  const std::size_t end = zip.rfind("PK\x05\x06");
  const std::string directory = zip.substr(entry, end - entry);
  zip.insert(entry, directory);
  const std::size_t new_end = end + directory.size();
  zip[new_end + 8] = zip[new_end + 10] = 2;
  zip[new_end + 12] = static_cast<char>(2 * directory.size());
  EXPECT_EQ(DataMessage([&] { ParseNpz(zip, "t"); }), "t: members 'x.npy' and 'x.npy' overlap");
}

TEST_F(Npz, RefusesToWriteWhatNumpyCannotRead) {
  const auto refusal = [this](const std::vector<Tensor>& tensors) {
    return DataMessage([&] { WriteNpz(path_, tensors); });
  };
  EXPECT_THAT(refusal({{"x", "BF16", {1}, "ab"}}), HasSubstr("NumPy has no element type 'BF16'"));
  EXPECT_THAT(refusal({{"x", "F32", {1}, "ab"}}), HasSubstr("2 bytes do not fit shape [1] of F32"));
  EXPECT_THAT(refusal({{"x", "U8", {1}, "a"}, {"x", "U8", {1}, "a"}}), HasSubstr("two arrays"));
  EXPECT_THAT(refusal({{std::string(300, 'x'), "U8", {1}, "a"}}), HasSubstr("names of 200 bytes"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Npz, SurvivesDamage) {
  const auto read = [](const std::string& contents) { ParseNpz(contents, "t"); };
  ExpectSurvivesDamage(read, Example());
  ExpectSurvivesDamage(read, DeflatedZip("x.npy", Npy(Describe("|u1", "(3,)"), "abc")));
  ExpectSurvivesDamage([](const std::string& contents) { ParseNpy(contents, "t"); },
                       Npy(Describe("<f4", "(2, 1)", true), "abcdefgh"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void ParseLiesWithLittleMemory() {
  const std::string npy = Npy(Describe("<f4", "(1000000000,)"), "");
  const std::string zip = DeflatedZip("x.npy", npy, 0xfffffffe);
  LimitMemory(16);
  const bool refused = DataMessage([&] { ParseNpz(zip, "t"); }).find("damaged after") != std::string::npos &&
                       DataMessage([&] { ParseNpy(npy, "t"); }).find("do not fit") != std::string::npos;
  ::_exit(refused ? 0 : 1);
}

TEST_F(Npz, ClaimedSizesAllocateNothing) { EXPECT_EXIT(ParseLiesWithLittleMemory(), ::testing::ExitedWithCode(0), ""); }
#endif

}  // namespace
}  // namespace grbm
