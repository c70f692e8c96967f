// The IDX format of MNIST: big-endian arrays behind a header of their dimensions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/mapped_file.h"
#include "grbm/data/dataset.h"

namespace grbm {

// Whether the bytes open an IDX file: two zeros, a known element type, one dimension or more.
bool IsIdx(std::string_view bytes);

// Rows from an IDX or gzipped IDX file, of rank 2 (rows × visible), 3 (rows × height × width) or 4 (rows × height ×
// width × channels). Unsigned bytes stay as they are and in `file`; other types become floats. Throws DataError.
Dataset ReadIdx(const FileBytes& file, const std::string& path, std::vector<int> labels);

// The same from the file `path`, with the labels of the file beside it, "train-labels-idx1-ubyte" for
// "train-images-idx3-ubyte", where there is one.
Dataset ReadIdxWithLabels(const std::string& path);

// A list of labels: IDX or gzipped IDX of rank 1, whole numbers.
std::vector<int> ReadIdxLabels(const FileBytes& file, const std::string& path);

// The shape of images in an array of rows × ... : of rank 2 none, of rank 3 grey, of rank 4 as the last dimension says
// (1, 3 or 4 channels). Throws DataError for other ranks; `where` opens the message.
ImageShape ShapeOfRows(const std::vector<Index>& dimensions, const std::string& where);

}  // namespace grbm
