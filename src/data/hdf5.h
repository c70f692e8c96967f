// Rows from HDF5 files, AnnData's .h5ad among them.
#pragma once

#include <string>
#include <string_view>

#include "data/array_options.h"
#include "grbm/data/dataset.h"

namespace grbm {

bool IsHdf5(std::string_view bytes);

// Rows of the array `key`, of rank 2 to 4 (see ShapeOfRows), or of the sparse matrix that a group of this name holds as
// AnnData writes it: data, indices and indptr, by rows (CSR) or columns (CSC). Without a key, of X in an .h5ad file, and
// of the only array of such a rank, in whatever group, elsewhere. `label` names an array of one label per row, or, in an .h5ad
// file, a column of obs: whole numbers, text or categories, of which numbers that are not whole are names. Columns have
// the names that var gives them. Unsigned bytes stay so; all else becomes floats.
//
// Throws DataError for files that are not valid, or where HDF5 was left out when the library was built; ConfigError for
// arrays that there are not.
Dataset ReadHdf5Rows(const std::string& path, const ArrayOptions& options);

}  // namespace grbm
