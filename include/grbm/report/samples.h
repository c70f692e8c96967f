// Samples of a model as pictures, by what its rows are.
#pragma once

#include <string>

#include "grbm/core/matrix.h"
#include "grbm/report/image.h"
#include "grbm/store/model_file.h"

namespace grbm {

// How rows in the data's own units are shown as images: from 0 to 255 where the data were pixels, otherwise by the range of
// the rows.
GridOptions ShownRange(const ModelFile& file, ConstMatrix rows);

// Whether rows of this model can be seen: images, or points of the plane.
bool HasPictures(const ModelFile& file);
// And whether its samples are drawn from noise alone: without conditions.
bool ShowsSamples(const ModelFile& file);

// Rows in the data's own units: a PNG file of images, nearly square, or the points as JSON, [[x, y], ...]. Points that are
// not finite are left out.
struct Picture {
  std::string ending;  // ".png" or ".json"
  std::string contents;
};
// `range`, where given, is that of several pictures that are to be compared.
Picture DrawPicture(const ModelFile& file, ConstMatrix rows, const GridOptions* range = nullptr);

}  // namespace grbm
