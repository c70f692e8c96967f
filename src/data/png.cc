#include <fmt/core.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <limits>
#include <utility>

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
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);  // or a fuzzer would see little of what is behind
#endif
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

// All return false after an error, which then is in the source's message.
bool ReadHeader(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  return true;
}

// Pixels of palettes stay indices: libpng would take those without a colour for black.
bool Expand(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE) {
    png_set_packing(png);  // fewer bits to 8
  } else {
    png_set_expand(png);  // fewer bits to 8, transparent colours to an alpha channel
    png_set_swap(png);    // 16 bits in this machine's order
  }
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

// Deflate makes at most 1032 bytes of one: a header that claims more pixels than that is refused before they get memory.
constexpr std::uint64_t kMaxRatio = 1032;

// The opaque values of rows of `channels` elements, without the alpha channel where there is one.
template <typename Element, typename Value>
std::vector<Value> TakeValues(const std::vector<png_byte>& bytes, const ImageShape& shape, std::size_t channels,
                              Value (*convert)(Element), const std::string& path) {
  const auto kept = static_cast<std::size_t>(shape.channels);
  const auto pixels = static_cast<std::size_t>(shape.height * shape.width);
  std::vector<Value> values(pixels * kept);
  const auto element = [&](std::size_t index) {
    Element value;
    std::memcpy(&value, bytes.data() + index * sizeof(Element), sizeof(Element));
    return value;
  };
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < kept; ++c) values[p * kept + c] = convert(element(p * channels + c));
    if (kept != channels && element(p * channels + kept) != std::numeric_limits<Element>::max()) {
      const auto width = static_cast<std::size_t>(shape.width);
      throw DataError(
          fmt::format("{}: the pixel at row {}, column {} (counted from 0) is transparent: allowed are opaque images: "
                      "put it on a background first, for instance by 'convert {} -background black -flatten out.png'",
                      path, p / width, p % width, path));
    }
  }
  return values;
}

// The colours of indices into the image's palette: three channels, and where colours are transparent a fourth.
std::vector<png_byte> Colours(const std::vector<png_byte>& indices, const Reader& reader, const std::string& path) {
  png_colorp palette = nullptr;
  int colours = 0;
  png_get_PLTE(reader.png(), reader.info(), &palette, &colours);
  if (const int largest = std::ranges::max(indices); largest >= colours) {
    throw DataError(
        fmt::format("{}: damaged PNG image: a pixel has colour {} of a palette of {}", path, largest, colours));
  }
  png_bytep alphas = nullptr;
  int alpha_count = 0;
  png_get_tRNS(reader.png(), reader.info(), &alphas, &alpha_count, nullptr);
  std::vector<png_byte> values;
  values.reserve(indices.size() * (alpha_count > 0 ? 4 : 3));
  for (const png_byte index : indices) {
    const png_color& colour = palette[index];
    values.insert(values.end(), {colour.red, colour.green, colour.blue});
    if (alpha_count > 0) values.push_back(index < alpha_count ? alphas[index] : 255);
  }
  return values;
}

}  // namespace

DecodedImage DecodePng(std::string_view bytes, const std::string& path) {
  Source source;
  source.bytes = bytes;
  const auto refuse = [&] {
    throw DataError(fmt::format("{}: byte {}: damaged PNG image: {}", path, source.position, source.message));
  };
  const Reader reader(source);
  if (!ReadHeader(reader.png(), reader.info())) refuse();
  const std::uint64_t width = png_get_image_width(reader.png(), reader.info());
  const std::uint64_t height = png_get_image_height(reader.png(), reader.info());
  CheckImageSize(width, height, path);
  const std::uint64_t stored = png_get_rowbytes(reader.png(), reader.info());
  if (stored * height > kMaxRatio * bytes.size()) {
    throw DataError(fmt::format("{}: damaged PNG image: {} bytes cannot hold {} × {} pixels: truncated?", path,
                                bytes.size(), width, height));
  }
  if (!Expand(reader.png(), reader.info())) refuse();
  auto channels = std::size_t{png_get_channels(reader.png(), reader.info())};
  const bool is_16bit = png_get_bit_depth(reader.png(), reader.info()) == 16;
  const std::size_t row_size = png_get_rowbytes(reader.png(), reader.info());
  GRBM_CHECK(channels >= 1 && channels <= 4 && row_size == width * channels * (is_16bit ? 2 : 1));

  std::vector<png_byte> pixels(row_size * height);
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = pixels.data() + y * row_size;
  if (!ReadPixels(reader.png(), rows.data())) refuse();
  if (png_get_color_type(reader.png(), reader.info()) == PNG_COLOR_TYPE_PALETTE) {
    pixels = Colours(pixels, reader, path);
    channels = pixels.size() / (width * height);
  }

  DecodedImage image;
  image.shape = {static_cast<Index>(height), static_cast<Index>(width), channels <= 2 ? 1 : 3};
  if (is_16bit) {
    image.values = TakeValues<std::uint16_t, float>(
        pixels, image.shape, channels, [](std::uint16_t x) { return static_cast<float>(x) / 257.0f; }, path);
  } else if (channels == 1 || channels == 3) {
    image.values = std::move(pixels);
  } else {
    image.values = TakeValues<std::uint8_t, std::uint8_t>(
        pixels, image.shape, channels, [](std::uint8_t x) { return x; }, path);
  }
  return image;
}

}  // namespace grbm
