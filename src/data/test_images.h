// For tests: PNG images, made by libpng.
#pragma once

#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

inline std::vector<std::uint8_t> Ramp(Index size, int start = 0) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(start + static_cast<int>(i));
  return values;
}

// By libpng's own high-level writer. values: rows of packed elements of `depth` bits.
// alphas: of the two colours of a palette.
inline std::string MakePng(int width, int height, int color, const std::vector<std::uint8_t>& values, int depth = 8,
                           int interlace = PNG_INTERLACE_NONE, const png_byte* alphas = nullptr) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep bytes, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), depth, color, interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[] = {{1, 2, 3}, {4, 5, 6}};
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 2);
  if (alphas != nullptr) png_set_tRNS(png, info, alphas, 2, nullptr);
  const std::size_t stride = values.size() / static_cast<std::size_t>(height);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    rows.push_back(const_cast<png_bytep>(values.data() + y * stride));
  }
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

inline std::string MakeGreyPng(int width, int height, int start = 0) {
  return MakePng(width, height, PNG_COLOR_TYPE_GRAY, Ramp(Index{width} * height, start));
}

}  // namespace grbm
