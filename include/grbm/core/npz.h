// NumPy's files: one array (.npy) and archives of several (.npz).
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "grbm/core/tensor.h"

namespace grbm {

// One tensor with an empty name. Little-endian numbers and booleans; an array in Fortran's order is
// brought into C's. Throws IoError where the file cannot be read, DataError where it is not valid.
TensorFile ReadNpy(const std::string& path);
// A tensor for each member, stored or deflated, in the archive's order and without ".npy" in its
// name. Inflates to no more than 4 GiB in all.
TensorFile ReadNpz(const std::string& path);
// The same from memory; `source` stands for the path.
TensorFile ParseNpy(std::string contents, const std::string& source);
TensorFile ParseNpz(std::string contents, const std::string& source);
// The same of an archive that is elsewhere, such as a mapped file, and must outlive the result: tensors that are stored
// refer to it. What is deflated is handed over to `inflated` piece by piece, from a size of `large` bytes on, and looked at
// where that then says it is. Arrays of text are taken, too; their dtype is NumPy's.
struct InflatedBytes {
  std::function<void(std::string_view piece)> take;
  std::function<std::string_view()> finish;
};
TensorFile ParseNpzAt(std::string_view archive, const std::string& source, std::uint64_t large,
                      const std::function<InflatedBytes()>& inflated);

// Written atomically, uncompressed, without dates: the same arrays give the same bytes. Throws
// DataError for element types that NumPy lacks and archives of 4 GiB and more.
void WriteNpy(const std::string& path, const Tensor& tensor);
void WriteNpz(const std::string& path, std::span<const Tensor> tensors);

}  // namespace grbm
