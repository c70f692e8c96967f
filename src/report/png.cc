// PNG by libpng's simplified interface, which keeps libpng's long jumps to itself: no destructor of ours is skipped.
#include <fmt/core.h>
#include <png.h>

#include <string>

#include "data/image.h"
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

Image ReadPng(const std::string& path) { return To8Bit(DecodePng(ReadFile(path), path)); }

}  // namespace grbm
