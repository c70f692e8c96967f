// PNG by libpng's simplified interface, which keeps libpng's long jumps to itself: no destructor of ours is skipped.
#include <fmt/core.h>
#include <png.h>

#include <string>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/report/image.h"
#include "report/image_check.h"

namespace grbm {

namespace {

// Frees what libpng holds, also when an exception passes.
class PngImage {
 public:
  PngImage() { image_.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image_); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;

  png_image* get() { return &image_; }
  png_image* operator->() { return &image_; }

 private:
  png_image image_ = {};
};

}  // namespace

std::string EncodePng(const Image& image) {
  CheckImage(image, "PNG image");
  PngImage png;
  png->width = static_cast<png_uint_32>(image.width);
  png->height = static_cast<png_uint_32>(image.height);
  png->format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(*png.get());
  std::string contents(size, '\0');
  if (png_image_write_to_memory(png.get(), contents.data(), &size, 0, image.pixels.data(), 0, nullptr) == 0) {
    throw DataError(
        fmt::format("PNG image of {}×{} pixels cannot be encoded: {}", image.height, image.width, png->message));
  }
  contents.resize(size);
  return contents;
}

void WritePng(const std::string& path, const Image& image) { WriteFileAtomically(path, EncodePng(image)); }

Image DecodePng(std::string_view contents, const std::string& where) {
  PngImage png;
  if (png_image_begin_read_from_memory(png.get(), contents.data(), contents.size()) == 0) {
    throw DataError(fmt::format("{}: not a PNG image: {}", where, png->message));
  }
  Image image;
  image.height = static_cast<Index>(png->height);
  image.width = static_cast<Index>(png->width);
  image.channels = (png->format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1;
  const Index values = ImageValues(image.height, image.width, image.channels);
  if (values < 0) {
    throw DataError(
        fmt::format("{}: {}×{} pixels: allowed are {} values", where, image.height, image.width, kMaxImageValues));
  }
  image.pixels.resize(static_cast<std::size_t>(values));
  png->format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const png_color white = {255, 255, 255};
  if (png_image_finish_read(png.get(), &white, image.pixels.data(), 0, nullptr) == 0) {
    throw DataError(fmt::format("{}: damaged PNG image: {}", where, png->message));
  }
  // libpng stops at the last pixel; a file that was cut after it is damaged all the same.
  if (contents.find("IEND\xae\x42\x60\x82") == std::string_view::npos) {
    throw DataError(fmt::format("{}: damaged PNG image: {} bytes without an end: truncated?", where, contents.size()));
  }
  return image;
}

Image ReadPng(const std::string& path) { return DecodePng(ReadFile(path), path); }

}  // namespace grbm
