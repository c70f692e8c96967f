// Images of 8 bits per value: grids of rows, PNG and GIF files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/data/image.h"

namespace grbm {

struct GridOptions {
  Index columns = 0;              // tiles per row; 0: as near to a square of tiles as can be
  Index gap = 1;                  // pixels between tiles, not magnified; none at the border
  Index scale = 1;                // each value becomes scale × scale pixels
  float low = 0;                  // shown as 0
  float high = 1;                 // shown as 255
  std::uint8_t background = 255;  // of gaps and of missing tiles
};

// Row r of `rows`, of shape.size() values, becomes tile r: tiles fill the grid row by row. Values between low and high
// map to 0 ... 255, rounded; those outside are clamped; NaN is mid grey (128). Throws DataError where the shape does not
// fit, ConfigError for options that cannot work.
Image ImageGrid(ConstMatrix rows, const ImageShape& shape, const GridOptions& options = {});

// The first `count` columns of weights (visible × hidden), one filter per row: count × visible. Each filter is divided
// by its largest finite |w|; a filter of zeros stays so. Shown with low = -1 and high = 1, zero is mid grey and the
// largest weight black or white.
Matrix NormalizeFilters(ConstMatrix weights, Index count);

// A file's bytes. Throws DataError unless the image is of 1 or 3 channels and has the pixels that it says.
std::string EncodePng(const Image& image);
void WritePng(const std::string& path, const Image& image);

// Any opaque PNG, in 8 bits: grey or colour.
Image ReadPng(const std::string& path);

// How long frames are shown, in hundredths of a second, each 1 to 65535; viewers slow down what is below 2.
struct GifTiming {
  int delay = 8;
  int pause = 150;   // of the last frame, which is what came of the others
  bool loop = true;  // for ever, otherwise once
};

// An animation: all frames of one size and kind. Grey frames keep their values. Colours are kept if there are at most
// 256 of them in all frames together, otherwise they are reduced to that many and dithered.
std::string EncodeGif(std::span<const Image> frames, const GifTiming& timing = {});
void WriteGif(const std::string& path, std::span<const Image> frames, const GifTiming& timing = {});

// The frames as shown, each of the screen's size: grey if no pixel of any frame has a colour.
std::vector<Image> DecodeGif(std::string_view contents, const std::string& where);
std::vector<Image> ReadGif(const std::string& path);

}  // namespace grbm
