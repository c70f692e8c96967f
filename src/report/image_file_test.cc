// PNG and GIF: what is written is decoded again, damage is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/hostile_test.h"
#include "data/image.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/report/image.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Every pixel differs from its neighbours; not symmetric in any direction.
Image Pattern(Index height, Index width, Index channels, int seed = 0) {
  Image image = {height, width, channels, {}};
  for (Index y = 0; y < height; ++y) {
    for (Index x = 0; x < width; ++x) {
      for (Index c = 0; c < channels; ++c) {
        image.pixels.push_back(static_cast<std::uint8_t>(seed + 7 * y + 31 * x + 101 * c));
      }
    }
  }
  return image;
}

// A smooth picture of far more than 256 colours.
Image Smooth(Index height, Index width, double phase) {
  Image image = {height, width, 3, {}};
  for (Index y = 0; y < height; ++y) {
    for (Index x = 0; x < width; ++x) {
      const double u = static_cast<double>(x) / static_cast<double>(width);
      const double v = static_cast<double>(y) / static_cast<double>(height);
      for (const double t : {u, v, 0.5 + 0.5 * std::sin(6 * (u + v) + phase)}) {
        image.pixels.push_back(static_cast<std::uint8_t>(std::lround(255 * t)));
      }
    }
  }
  return image;
}

// What an animation's bytes say, by a second reading of the format.
struct GifFacts {
  std::vector<int> delays;
  bool loops = false;
};

GifFacts Facts(const std::string& gif) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(gif.at(i)); };
  const auto table = [&](std::size_t flags) {
    return (byte(flags) & 0x80) != 0 ? std::size_t{3} << ((byte(flags) & 7) + 1) : 0;
  };
  GifFacts facts;
  std::size_t at = 13 + table(10);
  while (byte(at) != 0x3b) {
    if (byte(at) == 0x21) {
      if (byte(at + 1) == 0xf9) facts.delays.push_back(byte(at + 4) | byte(at + 5) << 8);
      if (byte(at + 1) == 0xff && gif.compare(at + 3, 11, "NETSCAPE2.0") == 0) {
        facts.loops = byte(at + 15) == 1 && byte(at + 16) == 0 && byte(at + 17) == 0;
      }
      at += 2;
    } else {
      EXPECT_EQ(byte(at), 0x2c);
      at += 11 + table(at + 9);
    }
    while (byte(at) != 0) at += byte(at) + std::size_t{1};
    ++at;
  }
  EXPECT_EQ(at + 1, gif.size());
  return facts;
}

class ImageFile : public testing::TemporaryFolder {};

TEST_F(ImageFile, PngKeepsEveryPixel) {
  for (const Index channels : {1, 3}) {
    for (const auto& [height, width] : std::vector<std::pair<Index, Index>>{{1, 1}, {3, 5}, {50, 17}, {1, 300}}) {
      const Image image = Pattern(height, width, channels);
      WritePng(Path("a.png"), image);
      EXPECT_THAT(ReadFile(Path("a.png")), StartsWith("\x89PNG\r\n"));
      EXPECT_EQ(ReadPng(Path("a.png")), image);
      EXPECT_EQ(EncodePng(image), ReadFile(Path("a.png")));
    }
  }
}

TEST_F(ImageFile, GreyGifKeepsEveryPixelAndItsTiming) {
  const std::vector<Image> frames = {Pattern(9, 40, 1), Pattern(9, 40, 1, 1), Pattern(9, 40, 1, 200)};
  WriteGif(Path("a.gif"), frames, {.delay = 7, .pause = 90});
  EXPECT_EQ(ReadGif(Path("a.gif")), frames);
  const GifFacts facts = Facts(ReadFile(Path("a.gif")));
  EXPECT_THAT(facts.delays, ElementsAre(7, 7, 90));
  EXPECT_TRUE(facts.loops);

  const GifFacts once = Facts(EncodeGif(frames, {.delay = 65535, .pause = 65535, .loop = false}));
  EXPECT_THAT(once.delays, ElementsAre(65535, 65535, 65535));
  EXPECT_FALSE(once.loops);
}

TEST_F(ImageFile, GifKeepsFewColours) {
  const std::vector<Image> frames = {Pattern(4, 8, 3), Pattern(4, 8, 3, 50)};
  EXPECT_EQ(DecodeGif(EncodeGif(frames), "a"), frames);
  const std::vector<Image> one = {{1, 1, 3, {1, 2, 3}}};
  EXPECT_EQ(DecodeGif(EncodeGif(one), "a"), one);
}

TEST_F(ImageFile, GifOfManyColoursIsNearOnAverageAndInEachPlace) {
  const std::vector<Image> frames = {Smooth(64, 96, 0), Smooth(64, 96, 2)};
  const std::vector<Image> read = DecodeGif(EncodeGif(frames), "a");
  ASSERT_EQ(read.size(), 2u);
  for (std::size_t f = 0; f < 2; ++f) {
    ASSERT_EQ(read[f].pixels.size(), frames[f].pixels.size());
    // Error diffusion keeps the means of blocks of 8×8 pixels, but for the extreme colours, which no palette of means
    // reaches; single pixels are near their own colour.
    double blocks = 0, squares = 0;
    for (Index y = 0; y < 64; y += 8) {
      for (Index x = 0; x < 96; x += 8) {
        for (Index c = 0; c < 3; ++c) {
          double difference = 0;
          for (Index i = 0; i < 64; ++i) {
            const double d = read[f].at(y + i / 8, x + i % 8, c) - frames[f].at(y + i / 8, x + i % 8, c);
            difference += d / 64;
            squares += d * d / static_cast<double>(frames[f].pixels.size());
          }
          blocks += std::abs(difference) / (64 * 96 / 64 * 3);
        }
      }
    }
    EXPECT_LT(blocks, 1.6);
    EXPECT_LT(std::sqrt(squares), 16);
  }
}

TEST_F(ImageFile, DamagedFilesAreRefusedOrRead) {
  ExpectSurvivesDamage([](const std::string& bytes) { DecodePng(bytes, "a.png"); }, EncodePng(Pattern(3, 4, 3)));
  const std::vector<Image> frames = {Pattern(3, 4, 1), Pattern(3, 4, 1, 9)};
  std::string gif = EncodeGif(std::vector<Image>{{2, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2}}});
  ExpectSurvivesDamage([](const std::string& bytes) { DecodeGif(bytes, "a.gif"); }, gif);
  EXPECT_THAT(DataMessage([] { DecodePng("", "a.png"); }), HasSubstr("damaged PNG image"));
  EXPECT_THAT(DataMessage([] { DecodeGif("GIF", "a.gif"); }), StartsWith("a.gif: not a GIF image: "));
  EXPECT_THAT(DataMessage([] { DecodeGif(EncodePng(Pattern(3, 4, 1)), "a.gif"); }), StartsWith("a.gif: not a GIF"));
}

TEST_F(ImageFile, PathsThatCannotBeWritten) {
  const std::vector<Image> frames = {Pattern(3, 4, 1)};
  EXPECT_THROW(WritePng(Path("none/a.png"), frames[0]), IoError);
  EXPECT_THROW(WriteGif(Path("none/a.gif"), frames), IoError);
  EXPECT_THROW(WritePng("/dev/full", frames[0]), IoError);
  EXPECT_THROW(ReadPng(Path("none.png")), IoError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(ImageFile, ImagesThatAreNot) {
  Image image = Pattern(3, 4, 1);
  image.pixels.pop_back();
  EXPECT_EQ(DataMessage([&] { EncodePng(image); }),
            "PNG image: 3×4 pixels of 1 channels with 11 values: expected are height × width × channels");
  EXPECT_THAT(DataMessage([&] { EncodePng(Pattern(3, 4, 2)); }), HasSubstr("2 channels: allowed are 1"));
  EXPECT_THROW(EncodePng({}), DataError);
  EXPECT_THROW(EncodePng({-1, -1, 1, {0}}), DataError);
  EXPECT_THROW(EncodePng({Index{1} << 62, 4, 1, {}}), DataError);

  EXPECT_THAT(DataMessage([] { EncodeGif({}); }), HasSubstr("no frames"));
  const std::vector<Image> mixed = {Pattern(3, 4, 1), Pattern(4, 3, 1)};
  EXPECT_EQ(DataMessage([&] { EncodeGif(mixed); }),
            "GIF animation: frame 1 is 4×3×1: all must be like the first, 3×4×1");
  const std::vector<Image> one = {Pattern(3, 4, 1)};
  EXPECT_THROW(EncodeGif(one, {.delay = 0}), ConfigError);
  EXPECT_THROW(EncodeGif(one, {.pause = 65536}), ConfigError);
  const std::vector<Image> wide = {Pattern(1, 65536, 1)};
  EXPECT_THROW(EncodeGif(wide), DataError);
}

}  // namespace
}  // namespace grbm
