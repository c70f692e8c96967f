#include "grbm/report/image.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "grbm/core/error.h"
#include "report/image_check.h"

namespace grbm {

namespace {

constexpr std::uint8_t kMidGrey = 128;

void CheckOptions(const GridOptions& options) {
  static constexpr Index kMax = 1 << 16;
  const auto check = [](const char* name, Index value, Index low) {
    if (value < low || value > kMax) {
      throw ConfigError(fmt::format("image grid: {} = {}: allowed is {} to {}", name, value, low, kMax));
    }
  };
  check("columns", options.columns, 0);
  check("gap", options.gap, 0);
  check("scale", options.scale, 1);
  if (!std::isfinite(options.low) || !std::isfinite(options.high) || !(options.low < options.high)) {
    throw ConfigError(fmt::format("image grid: low = {}, high = {}: allowed are finite numbers, low below high",
                                  options.low, options.high));
  }
}

void CheckShape(ConstMatrix rows, const ImageShape& shape) {
  if ((shape.channels != 1 && shape.channels != 3) || ImageValues(shape.height, shape.width, shape.channels) < 0) {
    throw DataError(fmt::format(
        "image grid: images of {}×{}×{}: allowed are a height and a width of 1 or more, and 1 or 3 channels",
        shape.height, shape.width, shape.channels));
  }
  if (rows.rows() < 1) throw DataError("image grid: no rows: at least one image is needed");
  if (rows.cols() != shape.size()) {
    throw DataError(fmt::format("image grid: rows of {} values do not make images of {}×{}×{} = {} values", rows.cols(),
                                shape.height, shape.width, shape.channels, shape.size()));
  }
}

// Clamped before it becomes an integer: infinities and NaN have no integer.
std::uint8_t ToByte(float value, const GridOptions& options) {
  if (std::isnan(value)) return kMidGrey;
  const double low = options.low;
  const double position = (static_cast<double>(value) - low) / (static_cast<double>(options.high) - low);
  return static_cast<std::uint8_t>(std::lround(std::clamp(position, 0.0, 1.0) * 255));
}

}  // namespace

void CheckImage(const Image& image, const std::string& where) {
  if (image.channels != 1 && image.channels != 3) {
    throw DataError(fmt::format("{}: {} channels: allowed are 1 (grey) and 3 (colour)", where, image.channels));
  }
  const Index values = ImageValues(image.height, image.width, image.channels);
  if (values < 0 || static_cast<std::size_t>(values) != image.pixels.size()) {
    throw DataError(
        fmt::format("{}: {}×{} pixels of {} channels with {} values: expected are height × width × channels", where,
                    image.height, image.width, image.channels, image.pixels.size()));
  }
}

Image ImageGrid(ConstMatrix rows, const ImageShape& shape, const GridOptions& options) {
  CheckOptions(options);
  CheckShape(rows, shape);
  const Index tiles = rows.rows();
  const Index columns =
      std::min(tiles, options.columns > 0 ? options.columns
                                          : static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(tiles)))));
  const Index lines = (tiles + columns - 1) / columns;
  const Index tile_height = shape.height * options.scale;
  const Index tile_width = shape.width * options.scale;

  Image grid;
  grid.channels = shape.channels;
  grid.height = lines * (tile_height + options.gap) - options.gap;
  grid.width = columns * (tile_width + options.gap) - options.gap;
  const Index values = ImageValues(grid.height, grid.width, grid.channels);
  if (values < 0) {
    throw ConfigError(
        fmt::format("image grid: {}×{} pixels: allowed are {} values; show fewer images or lower scale = {}",
                    grid.height, grid.width, kMaxImageValues, options.scale));
  }
  grid.pixels.assign(static_cast<std::size_t>(values), options.background);

  for (Index tile = 0; tile < tiles; ++tile) {
    const Index top = tile / columns * (tile_height + options.gap);
    const Index left = tile % columns * (tile_width + options.gap);
    for (Index y = 0; y < tile_height; ++y) {
      std::uint8_t* out = grid.pixels.data() + ((top + y) * grid.width + left) * grid.channels;
      const float* in = &rows(tile, y / options.scale * shape.width * shape.channels);
      for (Index x = 0; x < tile_width; ++x) {
        for (Index c = 0; c < shape.channels; ++c) *out++ = ToByte(in[x / options.scale * shape.channels + c], options);
      }
    }
  }
  return grid;
}

Matrix NormalizeFilters(ConstMatrix weights, Index count) {
  if (weights.empty()) {
    throw DataError(fmt::format("filters: weights are {}×{}: nothing to show", weights.rows(), weights.cols()));
  }
  if (count < 1 || count > weights.cols()) {
    throw ConfigError(
        fmt::format("filters: count = {}: allowed is 1 to {}, the number of hidden units", count, weights.cols()));
  }
  Matrix filters(count, weights.rows());
  for (Index j = 0; j < count; ++j) {
    float largest = 0;
    for (Index i = 0; i < weights.rows(); ++i) {
      if (std::isfinite(weights(i, j))) largest = std::max(largest, std::abs(weights(i, j)));
    }
    for (Index i = 0; i < weights.rows(); ++i) filters(j, i) = largest > 0 ? weights(i, j) / largest : weights(i, j);
  }
  return filters;
}

}  // namespace grbm
