#include "data/image.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "core/bytes.h"
#include "grbm/core/error.h"

#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image_resize.h>

namespace grbm {

bool IsPng(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }
bool IsJpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

namespace {

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 14;  // so that a header's claim costs a fuzzer no time
#else
constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 26;
#endif

int ResizeWith(const std::uint8_t* in, int width, int height, int stride, std::uint8_t* out, int side, int channels) {
  return ::stbir_resize_uint8_generic(in, width, height, stride, out, side, side, side * channels, channels,
                                      STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
                                      STBIR_COLORSPACE_LINEAR, nullptr);
}

int ResizeWith(const float* in, int width, int height, int stride, float* out, int side, int channels) {
  constexpr int kBytes = sizeof(float);
  return ::stbir_resize_float_generic(in, width, height, stride * kBytes, out, side, side, side * channels * kBytes,
                                      channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
                                      STBIR_COLORSPACE_LINEAR, nullptr);
}

template <typename Value>
void Transform(const Value* values, const ImageShape& shape, Index crop, Index resize, Value* out) {
  const Index height = crop > 0 ? crop : shape.height;
  const Index width = crop > 0 ? crop : shape.width;
  const Index stride = shape.width * shape.channels;
  const Value* first = values + (shape.height - height) / 2 * stride + (shape.width - width) / 2 * shape.channels;
  if (resize == 0 || (resize == height && resize == width)) {
    const Index line = width * shape.channels;
    for (Index y = 0; y < height; ++y) std::copy_n(first + y * stride, line, out + y * line);
    return;
  }
  const int done = ResizeWith(first, static_cast<int>(width), static_cast<int>(height), static_cast<int>(stride), out,
                              static_cast<int>(resize), static_cast<int>(shape.channels));
  if (done == 0) throw std::bad_alloc();
}

}  // namespace

void CheckImageSize(std::uint64_t width, std::uint64_t height, const std::string& path) {
  if (width == 0 || height == 0 || width > kMaxPixels || height > kMaxPixels || width * height > kMaxPixels) {
    throw DataError(fmt::format("{}: an image of {} × {} pixels: allowed are 1 to {} pixels in all", path, width,
                                height, kMaxPixels));
  }
}

DecodedImage DecodeImage(std::string_view bytes, const std::string& path) {
  if (IsPng(bytes)) return DecodePng(bytes, path);
  if (IsJpeg(bytes)) return DecodeJpeg(bytes, path);
  throw DataError(fmt::format("{}: byte 0: {}: neither a PNG nor a JPEG image: remove the file or convert it", path,
                              Quoted(bytes.substr(0, 8))));
}

ImageShape PeekSize(std::string_view bytes) {
  const auto big_endian = [&](std::size_t at, std::size_t count) {
    Index number = 0;
    for (std::size_t i = 0; i < count; ++i) number = number * 256 + static_cast<unsigned char>(bytes[at + i]);
    return number;
  };
  if (IsPng(bytes)) return bytes.size() < 24 ? ImageShape{} : ImageShape{big_endian(20, 4), big_endian(16, 4), 1};
  if (!IsJpeg(bytes)) return {};
  // Segments, each with its length, up to one that starts a frame.
  for (std::size_t at = 2; at + 9 <= bytes.size() && bytes[at] == '\xff';) {
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) return {big_endian(at + 5, 2), big_endian(at + 7, 2), 1};
    at += 2 + static_cast<std::size_t>(big_endian(at + 2, 2));
  }
  return {};
}

ImageShape TransformedShape(const ImageShape& shape, Index crop, Index resize, const std::string& where) {
  ImageShape result = shape;
  if (crop > 0) {
    if (crop > shape.height || crop > shape.width) {
      throw DataError(fmt::format("{}: crop = {}: the image has {} × {} pixels: allowed is at most the smaller side",
                                  where, crop, shape.width, shape.height));
    }
    result.height = result.width = crop;
  }
  if (resize > 0) {
    if (result.height != result.width) {
      throw DataError(fmt::format("{}: resize = {}: the image has {} × {} pixels: expected is a square: crop it first",
                                  where, resize, result.width, result.height));
    }
    result.height = result.width = resize;
  }
  return result;
}

Image To8Bit(const DecodedImage& decoded) {
  Image image{decoded.shape.height, decoded.shape.width, decoded.shape.channels, {}};
  if (!decoded.is_16bit()) {
    image.pixels = std::get<0>(decoded.values);
    return image;
  }
  for (const float value : std::get<1>(decoded.values)) {
    image.pixels.push_back(static_cast<std::uint8_t>(std::nearbyint(value)));
  }
  return image;
}

void TransformImage(const std::uint8_t* values, const ImageShape& shape, Index crop, Index resize, std::uint8_t* out) {
  Transform(values, shape, crop, resize, out);
}

void TransformImage(const float* values, const ImageShape& shape, Index crop, Index resize, float* out) {
  Transform(values, shape, crop, resize, out);
}

}  // namespace grbm
