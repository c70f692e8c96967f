#include "data/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
// clang-format off
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <jpeglib.h>
// clang-format on

#include <algorithm>

#include "core/hostile_test.h"
#include "data/test_images.h"

namespace grbm {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string MakeJpeg(int width, int height, int channels, std::uint8_t value, J_COLOR_SPACE space = JCS_UNKNOWN) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = space != JCS_UNKNOWN ? space : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_start_compress(&info, TRUE);
  std::vector<std::uint8_t> line(static_cast<std::size_t>(width * channels), value);
  JSAMPROW row = line.data();
  while (info.next_scanline < info.image_height) jpeg_write_scanlines(&info, &row, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::string out(reinterpret_cast<char*>(buffer), size);
  std::free(buffer);
  return out;
}

Image Decode(const std::string& bytes) {
  const DecodedImage decoded = DecodeImage(bytes, "a");
  EXPECT_FALSE(decoded.is_16bit());
  return To8Bit(decoded);
}

TEST(Png, ReadsEveryKindAsGreyOrColour) {
  const Image grey = Decode(MakeGreyPng(3, 2));
  EXPECT_EQ(grey.shape(), (ImageShape{2, 3, 1}));
  EXPECT_EQ(grey.pixels, Ramp(6));
  const Image colour = Decode(MakePng(2, 1, PNG_COLOR_TYPE_RGB, Ramp(6)));
  EXPECT_EQ(colour.shape(), (ImageShape{1, 2, 3}));
  EXPECT_EQ(colour.pixels, Ramp(6));
  EXPECT_THAT(Decode(MakePng(2, 1, PNG_COLOR_TYPE_PALETTE, {1, 0})).pixels, ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(Decode(MakePng(8, 1, PNG_COLOR_TYPE_GRAY, {0x81}, 1)).pixels, ElementsAre(255, 0, 0, 0, 0, 0, 0, 255));
  EXPECT_EQ(Decode(MakePng(9, 7, PNG_COLOR_TYPE_GRAY, Ramp(63), 8, PNG_INTERLACE_ADAM7)).pixels, Ramp(63));
}

// libpng would read it as black.
TEST(Png, APixelWithoutAColourIsDamage) {
  EXPECT_THAT(DataMessage([] {
                DecodeImage(MakePng(2, 2, PNG_COLOR_TYPE_PALETTE, {0, 1, 2, 0}), "a.png");
              }),
              "a.png: damaged PNG image: a pixel has colour 2 of a palette of 2");
  EXPECT_THAT(DataMessage([] { DecodeImage(MakePng(3, 1, PNG_COLOR_TYPE_PALETTE, {0b00011100}, 2), "a.png"); }),
              HasSubstr("a pixel has colour 3 of a palette of 2"));
}

TEST(Png, AnAlphaChannelIsLeftOutWhereItIsOpaqueAndRefusedElsewhere) {
  EXPECT_THAT(Decode(MakePng(2, 1, PNG_COLOR_TYPE_RGB_ALPHA, {0, 1, 2, 255, 4, 5, 6, 255})).pixels,
              ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_THAT(Decode(MakePng(2, 1, PNG_COLOR_TYPE_GRAY_ALPHA, {7, 255, 9, 255})).pixels, ElementsAre(7, 9));
  EXPECT_THAT(
      DataMessage([] {
        DecodeImage(MakePng(1, 2, PNG_COLOR_TYPE_GRAY_ALPHA, {7, 255, 9, 254}), "a.png");
      }),
      AllOf(StartsWith("a.png: the pixel at row 1, column 0 (counted from 0) is transparent"), HasSubstr("-flatten")));
  EXPECT_THAT(DataMessage([] {
                DecodeImage(MakePng(1, 1, PNG_COLOR_TYPE_RGB_ALPHA, {1, 2, 3, 0}), "a");
              }),
              HasSubstr("is transparent"));
  // The colour 4, 5, 6 of the palette: half transparent.
  const png_byte alphas[] = {255, 128};
  EXPECT_THAT(DataMessage([&] {
                DecodeImage(MakePng(2, 1, PNG_COLOR_TYPE_PALETTE, {0, 1}, 8, PNG_INTERLACE_NONE, alphas), "a");
              }),
              HasSubstr("row 0, column 1 (counted from 0) is transparent"));
  EXPECT_THAT(Decode(MakePng(2, 1, PNG_COLOR_TYPE_PALETTE, {0, 0}, 8, PNG_INTERLACE_NONE, alphas)).pixels,
              ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(Png, SixteenBitsAreKeptOnTheScaleOfEight) {
  // Every value of 8 bits, written as 16: the same number. The least step of 16 bits is 1/257.
  std::vector<std::uint8_t> words;
  for (int v = 0; v < 256; ++v) words.insert(words.end(), {static_cast<std::uint8_t>(v), static_cast<std::uint8_t>(v)});
  const DecodedImage same = DecodeImage(MakePng(16, 16, PNG_COLOR_TYPE_GRAY, words, 16), "a");
  ASSERT_TRUE(same.is_16bit());
  EXPECT_EQ(same.shape, (ImageShape{16, 16, 1}));
  const auto& values = std::get<1>(same.values);
  for (std::size_t v = 0; v < 256; ++v) EXPECT_EQ(values[v], static_cast<float>(v));
  EXPECT_EQ(To8Bit(same).pixels, Ramp(256));
  const DecodedImage fine = DecodeImage(MakePng(2, 1, PNG_COLOR_TYPE_GRAY, {0x80, 0x80, 0x80, 0x81}, 16), "a");
  EXPECT_THAT(std::get<1>(fine.values), ElementsAre(128, FloatEq(32897.0f / 257)));
  // Colour, with an opaque alpha channel.
  const DecodedImage colour =
      DecodeImage(MakePng(1, 1, PNG_COLOR_TYPE_RGB_ALPHA, {0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff}, 16), "a");
  EXPECT_THAT(std::get<1>(colour.values), ElementsAre(0, FloatEq(1.0f / 257), 255));
  EXPECT_THAT(DataMessage([] {
                DecodeImage(MakePng(1, 1, PNG_COLOR_TYPE_GRAY_ALPHA, {1, 1, 0xff, 0xfe}, 16), "a");
              }),
              HasSubstr("is transparent"));
}

TEST(Png, SurvivesDamage) {
  // Bits of the compressed data are protected by checksums; a damaged chunk after the pixels may be ignored.
  ExpectSurvivesDamage([](const std::string& contents) { DecodeImage(contents, "a"); }, MakeGreyPng(5, 4));
  EXPECT_THAT(DataMessage([] { DecodeImage(MakeGreyPng(5, 4).substr(0, 50), "a.png"); }),
              HasSubstr("a.png: byte 41: damaged PNG image: truncated"));
}

TEST(Jpeg, ReadsGreyAndColour) {
  const Image grey = Decode(MakeJpeg(5, 3, 1, 128));
  EXPECT_EQ(grey.shape(), (ImageShape{3, 5, 1}));
  EXPECT_THAT(grey.pixels, Each(128));
  const Image colour = Decode(MakeJpeg(5, 3, 3, 128));
  EXPECT_EQ(colour.shape(), (ImageShape{3, 5, 3}));
  EXPECT_THAT(colour.pixels, Each(128));
  EXPECT_THAT(DataMessage([] { DecodeImage(MakeJpeg(5, 3, 4, 128, JCS_CMYK), "a.jpg"); }),
              HasSubstr("a.jpg: a JPEG image of 4 components: allowed are 1 (grey) and 3 (colour)"));
}

TEST(Jpeg, SurvivesDamage) {
  const std::string valid = MakeJpeg(20, 20, 3, 77);
  for (std::size_t i = 0; i < valid.size(); ++i) {
    EXPECT_THROW(DecodeImage(valid.substr(0, i), "a"), DataError) << "cut at byte " << i;
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = valid;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      ExpectReadOrRefused([](const std::string& contents) { DecodeImage(contents, "a"); }, damaged,
                          "byte " + std::to_string(i));
    }
  }
  EXPECT_THAT(DataMessage([&] { DecodeImage(valid.substr(0, valid.size() - 10), "a.jpg"); }),
              HasSubstr("a.jpg: damaged JPEG image: "));
}

TEST(DecodeImage, RefusesWhatIsNoImageAndWhatIsTooLarge) {
  EXPECT_EQ(DataMessage([] { DecodeImage("GIF89a...", "a.png"); }),
            "a.png: byte 0: 'GIF89a..': neither a PNG nor a JPEG image: remove the file or convert it");
  EXPECT_THAT(DataMessage([] { DecodeImage("", "a.png"); }), HasSubstr("neither a PNG nor a JPEG"));
  // A header of 100000 × 100000 pixels with a right checksum, and nothing behind it.
  const auto claim = [](const std::string& size) {
    std::string png = MakeGreyPng(5, 4);
    png.replace(16, 8, size + size);
    const auto crc = static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(png.data() + 12), 17));
    for (std::size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(crc >> (24 - 8 * i) & 0xff);
    return DataMessage([&] { DecodeImage(png, "a.png"); });
  };
  EXPECT_EQ(claim({0, 1, '\x86', '\xa0'}),
            "a.png: an image of 100000 × 100000 pixels: allowed are 1 to 67108864 pixels in all");
  // Deflate cannot make 8000 × 8000 pixels of so few bytes: no memory is spent on them.
  EXPECT_THAT(claim({0, 0, '\x1f', '\x40'}), HasSubstr("bytes cannot hold 8000 × 8000 pixels: truncated?"));
}

std::vector<std::uint8_t> Transform(const std::vector<std::uint8_t>& values, ImageShape shape, Index crop,
                                    Index resize) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(TransformedShape(shape, crop, resize, "a").size()));
  TransformImage(values.data(), shape, crop, resize, out.data());
  return out;
}

TEST(TransformImage, CropsTheCentre) {
  EXPECT_THAT(Transform(Ramp(15), {3, 5, 1}, 1, 0), ElementsAre(7));
  EXPECT_THAT(Transform(Ramp(15), {3, 5, 1}, 3, 0), ElementsAre(1, 2, 3, 6, 7, 8, 11, 12, 13));
  EXPECT_THAT(Transform(Ramp(16), {4, 4, 1}, 1, 0), ElementsAre(5));  // the right and bottom lose one more
  EXPECT_THAT(Transform(Ramp(27), {3, 3, 3}, 1, 0), ElementsAre(12, 13, 14));
  EXPECT_EQ(Transform(Ramp(15), {3, 5, 1}, 0, 0), Ramp(15));
}

TEST(TransformImage, ResizesWithoutGammaByATriangleAsWideAsTheReduction) {
  EXPECT_EQ(Transform(Ramp(16), {4, 4, 1}, 0, 4), Ramp(16));
  // Halving one dimension weighs the pixels 1 3 3 1 (of 8), those beyond the edge repeated: an independent sum.
  const std::vector<std::uint8_t> image = {0, 200, 40, 80, 10, 90, 250, 30, 0, 0, 100, 60, 255, 5, 120, 8};
  const auto at = [&](int y, int x) {
    return static_cast<double>(image[static_cast<std::size_t>(std::clamp(y, 0, 3) * 4 + std::clamp(x, 0, 3))]);
  };
  const double weights[] = {1. / 8, 3. / 8, 3. / 8, 1. / 8};
  const std::vector<std::uint8_t> half = Transform(image, {4, 4, 1}, 0, 2);
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 2; ++x) {
      double sum = 0;
      for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < 4; ++i) sum += weights[j] * weights[i] * at(2 * y - 1 + j, 2 * x - 1 + i);
      }
      EXPECT_NEAR(half[static_cast<std::size_t>(2 * y + x)], sum, 0.51);
    }
  }
}

TEST(TransformImage, ChannelsDoNotMix) {
  std::vector<std::uint8_t> image;
  for (int i = 0; i < 64; ++i) image.insert(image.end(), {10, 100, 200});
  const std::vector<std::uint8_t> small = Transform(image, {8, 8, 3}, 6, 4);
  for (std::size_t i = 0; i < small.size(); i += 3) {
    EXPECT_THAT(std::vector(small.begin() + static_cast<Index>(i), small.begin() + static_cast<Index>(i) + 3),
                ElementsAre(10, 100, 200));
  }
}

TEST(TransformImage, RefusesWhatDoesNotFit) {
  EXPECT_EQ(DataMessage([] {
              TransformedShape({3, 5, 1}, 4, 0, "a.png");
            }),
            "a.png: crop = 4: the image has 5 × 3 pixels: allowed is at most the smaller side");
  EXPECT_EQ(DataMessage([] {
              TransformedShape({3, 5, 1}, 0, 2, "a.png");
            }),
            "a.png: resize = 2: the image has 5 × 3 pixels: expected is a square: crop it first");
}

}  // namespace
}  // namespace grbm
