#include <fmt/core.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "core/bytes.h"
#include "data/image.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

// What libpng's callbacks see. They leave by longjmp, so the functions that call setjmp hold nothing that has a
// destructor.
struct Source {
  std::string_view bytes;
  std::size_t position = 0;
  char message[200] = "";
};

void Fail(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof(source->message) - 1);
  std::longjmp(png_jmpbuf(png), 1);
}

void Ignore(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep out, std::size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->bytes.size() - source->position) png_error(png, "truncated");
  std::memcpy(out, source->bytes.data() + source->position, count);
  source->position += count;
}

class Reader {
 public:
  explicit Reader(Source& source) : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, Fail, Ignore)) {
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, &source, ReadBytes);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

 private:
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

// Both return false after an error, which then is in the source's message.
bool ReadHeader(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  png_set_expand(png);    // palettes to colours, fewer bits to 8
  png_set_scale_16(png);  // 16 bits to 8
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool ReadPixels(png_structp png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

}  // namespace

Image DecodePng(std::string_view bytes, const std::string& path) {
  Source source;
  source.bytes = bytes;
  const auto refuse = [&] {
    throw DataError(fmt::format("{}: byte {}: damaged PNG image: {}", path, source.position, source.message));
  };
  const Reader reader(source);
  if (!ReadHeader(reader.png(), reader.info())) refuse();
  const png_uint_32 width = png_get_image_width(reader.png(), reader.info());
  const png_uint_32 height = png_get_image_height(reader.png(), reader.info());
  const int channels = png_get_channels(reader.png(), reader.info());
  CheckImageSize(width, height, path);
  const std::size_t row_size = png_get_rowbytes(reader.png(), reader.info());
  GRBM_CHECK((channels == 1 || channels == 3) && row_size == std::size_t{width} * static_cast<std::size_t>(channels));

  Image image{Index{height}, Index{width}, Index{channels}, {}};
  image.pixels.resize(static_cast<std::size_t>(image.shape().size()));
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * row_size;
  if (!ReadPixels(reader.png(), rows.data())) refuse();
  return image;
}

}  // namespace grbm
