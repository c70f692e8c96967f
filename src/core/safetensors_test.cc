#include "grbm/core/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "core/bytes.h"
#include "core/hostile_test.h"
#include "grbm/core/file.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string File(const std::string& header, const std::string& payload = "") {
  std::string contents;
  AppendNumber(contents, static_cast<std::uint64_t>(header.size()));
  return contents + header + payload;
}

TensorFile Parse(const std::string& contents) { return ParseTensors(contents, "t"); }

std::string Refusal(const std::string& header, const std::string& payload = "") {
  return DataMessage([&] { Parse(File(header, payload)); });
}

const std::string kHeader =
    R"({"__metadata__":{"key":"value","other":"Käse"},"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
    R"("n":{"data_offsets":[8,8],"shape":[0],"dtype":"I64"},"y":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}  )";
const std::string kPayload("\0\0\x80\x3f\0\0\0\xc0\x07", 9);  // 1.0f, -2.0f, 7

// A file in the folder for temporary ones, gone afterwards.
class Safetensors : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = (std::filesystem::temp_directory_path() /
                             ("grbm-safetensors-test-" + std::to_string(::getpid()) + ".safetensors"))
                                .string();
};

TEST_F(Safetensors, ReadsTensorsInTheOrderOfTheirData) {
  const TensorFile file = Parse(File(kHeader, kPayload));
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "x");
  EXPECT_THAT(file.tensors[0].shape, ElementsAre(1, 2));
  EXPECT_EQ(file.tensors[1].name, "n");
  EXPECT_EQ(file.tensors[1].bytes, "");
  EXPECT_EQ(file.tensors[2].dtype, "U8");
  EXPECT_EQ(file.tensors[2].bytes, "\x07");
  EXPECT_EQ(file.metadata.at("other"), "Käse");
  EXPECT_THAT(GetFloats(file, "x", std::array<Index, 2>{1, -1}), ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(GetFloats(file, "y", {}), ElementsAre(7.0f));
  EXPECT_TRUE(Parse(File("{}")).tensors.empty());
}

TEST_F(Safetensors, OutlivesTheFileItWasCopiedFrom) {
  TensorFile copy;
  {
    const TensorFile file = Parse(File(kHeader, kPayload));
    copy = file;
  }
  EXPECT_EQ(copy.tensors[0].bytes, kPayload.substr(0, 8));
}

TEST_F(Safetensors, WritingReadingAndWritingGivesTheSameBytes) {
  const TensorFile file = Parse(File(kHeader, kPayload));
  WriteTensors(path_, file);
  const std::string first = ReadFile(path_);
  const TensorFile read = ReadTensors(path_);
  WriteTensors(path_, read);
  EXPECT_EQ(ReadFile(path_), first);
  EXPECT_EQ(read.metadata, file.metadata);
  std::uint64_t header = 0;
  std::memcpy(&header, first.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  for (const Tensor& tensor : file.tensors) {
    const Tensor* other = FindTensor(read, tensor.name);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->bytes, tensor.bytes);
    EXPECT_EQ(other->shape, tensor.shape);
    EXPECT_EQ(other->dtype, tensor.dtype);
  }
}

TEST_F(Safetensors, TheDataBeginAtAMultipleOfEightBytes) {
  TensorFile file;
  for (std::size_t length = 0; length < 16; ++length) {
    file.metadata["a"] = std::string(length, 'x');
    WriteTensors(path_, file);
    EXPECT_EQ(std::filesystem::file_size(path_) % 8, 0u) << length;
  }
}

TEST_F(Safetensors, WritesWiderElementsFirst) {
  TensorFile file;
  file.tensors = {{"byte", "U8", {1}, "b"}, {"wide", "F64", {1}, "12345678"}};
  WriteTensors(path_, file);
  EXPECT_THAT(ReadFile(path_), EndsWith("12345678b"));
}

TEST_F(Safetensors, RefusesToWriteWhatItWouldNotRead) {
  const auto write = [&](Tensor tensor) {
    TensorFile file;
    file.tensors = {std::move(tensor), {"x", "U8", {1}, "b"}};
    return DataMessage([&] { WriteTensors(path_, file); });
  };
  EXPECT_THAT(write({"x", "U8", {1}, "b"}), HasSubstr("'x'"));
  EXPECT_THAT(write({"__metadata__", "U8", {1}, "b"}), HasSubstr("reserved"));
  EXPECT_THAT(write({"a", "F32", {1}, "b"}), HasSubstr("1 bytes do not fit shape [1] of 'F32'"));
  EXPECT_THAT(write({"a", "Q1", {1}, "b"}), HasSubstr("'Q1'"));
  EXPECT_THAT(write({"\xff", "U8", {1}, "b"}), HasSubstr("'\\xff' is not valid UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Safetensors, RefusesLengthsThatLie) {
  EXPECT_EQ(DataMessage([] { Parse("abc"); }),
            "t: byte 0: the length of the header needs 8 bytes and 3 are left: truncated?");
  std::string contents = File("{}");
  contents[1] = 1;
  EXPECT_EQ(DataMessage([&] { Parse(contents); }), "t: byte 8: the header needs 258 bytes and 2 are left: truncated?");
  contents[7] = '\x80';
  EXPECT_THAT(DataMessage([&] { Parse(contents); }), HasSubstr("allowed are 100000000"));
}

TEST_F(Safetensors, RefusesHeadersThatAreNotJsonOfTheFormat) {
  EXPECT_THAT(Refusal(""), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(Refusal("[]"), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(Refusal(" {}"), HasSubstr("does not begin with '{'"));
  EXPECT_EQ(Refusal("{\"a\" 1}"), "t: byte 13: the header is not valid JSON");
  EXPECT_THAT(Refusal("{} x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(Refusal(std::string("{}\0x", 4)), HasSubstr("byte 10: the header has a zero byte"));
  EXPECT_THAT(Refusal("{\"\xff\":{}}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(Refusal("{\"__metadata__\":{\"a\":1}}"), HasSubstr("__metadata__: 'a' is 1: expected is text"));
  EXPECT_THAT(Refusal("{\"__metadata__\":{\"a\":{}}}"), HasSubstr("expected is text"));
  EXPECT_THAT(Refusal("{\"__metadata__\":[]}"), HasSubstr("expected is an object"));
  EXPECT_THAT(Refusal("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}"), HasSubstr("'a' is there twice"));
  EXPECT_THAT(Refusal("{\"a\\nb\":1}"), HasSubstr("tensor 'a\\x0ab'"));
}

TEST_F(Safetensors, RefusesTensorsThatAreNotWholeOrTwice) {
  const auto refusal = [](const std::string& tensor) { return Refusal("{\"x\":" + tensor + "}", "1234"); };
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), "(nothing was thrown)");
  EXPECT_EQ(refusal(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})"), "t: tensor 'x': unknown dtype 'F33'");
  EXPECT_EQ(refusal(R"({"shape":[1],"data_offsets":[0,4]})"), "t: tensor 'x': dtype is missing");
  EXPECT_EQ(refusal(R"({"dtype":"F32","data_offsets":[0,4]})"), "t: tensor 'x': shape is missing");
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[1]})"), "t: tensor 'x': data_offsets is missing");
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"),
            "t: tensor 'x': 'shape' has -1: expected are whole numbers from 0 on");
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})"), HasSubstr("'1.0'"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})"),
              HasSubstr("too large"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4]})"),
              HasSubstr("whole numbers"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[4294967296,4294967297],"data_offsets":[0,4]})"),
              HasSubstr("do not fit shape"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,4]})"),
              HasSubstr("do not fit shape"));
  EXPECT_THAT(refusal(R"({"dtype":"F4","shape":[7],"data_offsets":[0,4]})"), HasSubstr("not a whole number of"));
  EXPECT_EQ(refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0,5]})"),
            "t: tensor 'x': data_offsets [0, 5] do not lie within the 4 bytes of data: truncated?");
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), HasSubstr("[4, 0]"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[4]})"), HasSubstr("expected are 2"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"),
              HasSubstr("do not fit shape [2] of F32, which is 8 bytes"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[[1]],"data_offsets":[0,4]})"), HasSubstr("a list"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]})"),
              HasSubstr("'shape' is there twice"));
  EXPECT_THAT(refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1})"), HasSubstr("unknown key 'more'"));
  EXPECT_THAT(refusal(R"({"dtype":null,"shape":[1],"data_offsets":[0,4]})"), HasSubstr("null"));
}

TEST_F(Safetensors, RefusesOverlapsHolesAndTrailingBytes) {
  const auto refusal = [](const std::string& first, const std::string& second) {
    return Refusal(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
                       R"(},"y":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}",
                   "12345");
  };
  EXPECT_EQ(refusal("[0,2]", "[1,3]"), "t: tensor 'y': its data begin at 1, those before it end at 2: an overlap");
  EXPECT_THAT(refusal("[0,2]", "[3,5]"), HasSubstr("a hole"));
  EXPECT_EQ(refusal("[2,4]", "[0,2]"), "t: 1 bytes after the last tensor's data belong to no tensor");
  EXPECT_THAT(Refusal("{}", "1"), HasSubstr("belong to no tensor"));
  EXPECT_THAT(Refusal(R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                      R"("x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("tensor 'x': the name is there twice"));
}

TEST_F(Safetensors, DepthDoesNotExhaustTheStack) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(Refusal("{\"x\":" + deep), HasSubstr("expected is an object"));
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(Refusal(objects), HasSubstr("tensor 'a'"));
  EXPECT_THAT(Refusal(R"({"x":{"dtype":"U8","shape":)" + deep), HasSubstr("a list"));
}

TEST_F(Safetensors, SurvivesDamage) {
  const auto read = [](const std::string& contents) {
    const TensorFile file = Parse(contents);
    for (const Tensor& tensor : file.tensors) GetFloats(file, tensor.name, tensor.shape);
  };
  ExpectSurvivesDamage(read, File(kHeader, kPayload));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Claims of sizes that the file does not have allocate nothing.
void ParseLiesWithLittleMemory() {
  std::string contents = File(kHeader, kPayload);
  const std::uint64_t claim = 99'999'999;
  std::memcpy(contents.data(), &claim, sizeof(claim));
  LimitMemory(16);
  bool refused = true;
  try {
    Parse(contents);
    refused = false;
  } catch (const DataError&) {
  }
  try {
    Parse(File(R"({"x":{"dtype":"F32","shape":[250000000],"data_offsets":[0,1000000000]}})", "1234"));
    refused = false;
  } catch (const DataError&) {
  }
  ::_exit(refused ? 0 : 1);
}

TEST_F(Safetensors, ClaimedSizesAllocateNothing) {
  EXPECT_EXIT(ParseLiesWithLittleMemory(), ::testing::ExitedWithCode(0), "");
}
#endif

TEST_F(Safetensors, LookupsSayWhatIsThereInstead) {
  const TensorFile file = Parse(File(kHeader, kPayload));
  EXPECT_EQ(DataMessage([&] { GetFloats(file, "W", {}); }), "t: tensor 'W' is missing: the file has 'x', 'n', 'y'");
  EXPECT_EQ(DataMessage([&] {
              GetFloats(file, "x", std::array<Index, 2>{-1, 3});
            }),
            "t: tensor 'x' has shape [1, 2]: expected is [any, 3]");
  EXPECT_EQ(DataMessage([&] { GetFloats(file, "x", std::array<Index, 1>{2}); }),
            "t: tensor 'x' has shape [1, 2]: expected is [2]");
}

TEST_F(Safetensors, OtherElementTypesBecomeFloats) {
  const auto convert = [](const std::string& dtype, const auto& elements) {
    TensorFile file;
    const std::string bytes(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(elements[0]));
    const auto count = static_cast<Index>(elements.size());
    file.tensors = {{"x", dtype, {count}, bytes}};
    return GetFloats(file, "x", std::array<Index, 1>{count});
  };
  EXPECT_THAT(convert("F64", std::array{0.5, -3.0}), ElementsAre(0.5f, -3.0f));
  EXPECT_THAT(convert("I64", std::array<std::int64_t, 1>{-5}), ElementsAre(-5.0f));
  EXPECT_THAT(convert("U32", std::array<std::uint32_t, 1>{4294967295u}), ElementsAre(4294967296.0f));
  EXPECT_THAT(convert("I8", std::array<std::int8_t, 1>{-1}), ElementsAre(-1.0f));
  EXPECT_THAT(convert("BOOL", std::array<std::uint8_t, 2>{0, 2}), ElementsAre(0.0f, 1.0f));
  // 1, -2, the largest, the smallest normal and subnormal, minus infinity.
  EXPECT_THAT(convert("F16", std::array<std::uint16_t, 6>{0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0xfc00}),
              ElementsAre(1.0f, -2.0f, 65504.0f, 0x1p-14f, 0x1p-24f, -HUGE_VALF));
  EXPECT_TRUE(std::isnan(convert("F16", std::array<std::uint16_t, 1>{0x7e00})[0]));
  EXPECT_THAT(convert("BF16", std::array<std::uint16_t, 2>{0x3f80, 0xc040}), ElementsAre(1.0f, -3.0f));
  EXPECT_THAT(DataMessage([&] { convert("F8_E4M3", std::array<std::uint8_t, 1>{1}); }),
              HasSubstr("has dtype F8_E4M3: allowed are"));
}

}  // namespace
}  // namespace grbm
