// Rows from NumPy's arrays.
#pragma once

#include <string>
#include <string_view>

#include "data/array_options.h"
#include "data/mapped_file.h"
#include "grbm/data/dataset.h"

namespace grbm {

bool IsNpy(std::string_view bytes);

// Rows of an array of rank 2, 3 or 4 (see ShapeOfRows). Unsigned bytes and 32-bit floats in C's order stay where they
// are, in `file`; other types become floats. Throws DataError.
Dataset ReadNpyRows(const FileBytes& file, const std::string& path, bool gaps = false);

// True for a ZIP archive, as .npz files are.
bool IsZip(std::string_view bytes);

// The same of the array `key` of an archive; without one, of the only array of rank 2 to 4. `label` names an array of whole
// numbers or of text, one per row. Throws ConfigError for arrays that there are not.
Dataset ReadNpzRows(const std::string& path, const ArrayOptions& options);

}  // namespace grbm
