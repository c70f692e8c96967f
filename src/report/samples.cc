#include "grbm/report/samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "grbm/core/error.h"

namespace grbm {

namespace {

bool IsImage(const ImageShape& shape) { return shape.known() && (shape.channels == 1 || shape.channels == 3); }

std::string PointsText(ConstMatrix rows) {
  std::string text;
  for (Index r = 0; r < rows.rows(); ++r) {
    const float x = rows.row(r)[0];
    const float y = rows.row(r)[1];
    if (std::isfinite(x) && std::isfinite(y)) text += fmt::format("{}[{:.4g},{:.4g}]", text.empty() ? "" : ",", x, y);
  }
  return "[" + text + "]";
}

}  // namespace

GridOptions ShownRange(const ModelFile& file, ConstMatrix rows) {
  GridOptions options;
  if (file.is_pixels()) {
    options.high = 255;
    return options;
  }
  float low = std::numeric_limits<float>::infinity();
  float high = -low;
  for (Index r = 0; r < rows.rows(); ++r) {
    for (const float x : rows.row(r)) {
      if (!std::isfinite(x)) continue;
      low = std::min(low, x);
      high = std::max(high, x);
    }
  }
  options.low = low <= high ? low : 0;
  options.high = low < high ? high : options.low + 1;
  return options;
}

bool HasPictures(const ModelFile& file) { return IsImage(file.image_shape) || file.model.gaussian_units() == 2; }

bool ShowsSamples(const ModelFile& file) { return HasPictures(file) && file.model.conditions() == 0; }

Picture DrawPicture(const ModelFile& file, ConstMatrix rows, const GridOptions* range) {
  GRBM_CHECK(HasPictures(file));
  if (!IsImage(file.image_shape)) return {".json", PointsText(rows)};
  GridOptions options = range != nullptr ? *range : ShownRange(file, rows);
  options.background = 128;
  return {".png", EncodePng(ImageGrid(rows, file.image_shape, options))};
}

}  // namespace grbm
