#include "data/npy_rows.h"

#include <cstring>
#include <vector>

#include "core/npy.h"
#include "data/column_steps.h"
#include "data/idx.h"
#include "grbm/core/error.h"
#include "grbm/core/tensor.h"

namespace grbm {

namespace {

template <typename Number>
std::string LossWarningOf(std::string_view bytes, Index rows, Index visible, const std::string& path) {
  ColumnSteps steps(visible);
  std::vector<Number> row(static_cast<std::size_t>(visible));
  for (Index r = 0; r < rows; ++r) {
    std::memcpy(row.data(), bytes.data() + static_cast<std::size_t>(r) * row.size() * sizeof(Number),
                row.size() * sizeof(Number));
    steps.Add(std::span<const Number>(row));
  }
  return steps.Warning(path);
}

// Of the types that tell more apart than floats do.
std::string LossWarning(const Tensor& tensor, Index rows, Index visible, const std::string& path) {
  if (tensor.dtype == "F64") return LossWarningOf<double>(tensor.bytes, rows, visible, path);
  if (tensor.dtype == "I64") return LossWarningOf<std::int64_t>(tensor.bytes, rows, visible, path);
  if (tensor.dtype == "U64") return LossWarningOf<std::uint64_t>(tensor.bytes, rows, visible, path);
  if (tensor.dtype == "I32") return LossWarningOf<std::int32_t>(tensor.bytes, rows, visible, path);
  if (tensor.dtype == "U32") return LossWarningOf<std::uint32_t>(tensor.bytes, rows, visible, path);
  return {};
}

}  // namespace

bool IsNpy(std::string_view bytes) { return bytes.starts_with("\x93NUMPY"); }

Dataset ReadNpyRows(const FileBytes& file, const std::string& path) {
  TensorFile array;
  array.source = path;
  AppendNpy(array, "", file.bytes, path);
  const Tensor& tensor = array.tensors.front();
  const ImageShape shape = ShapeOfRows(tensor.shape, path);
  const Index rows = tensor.shape[0];
  const Index visible = shape.known() ? shape.size() : tensor.shape[1];
  const bool is_8bit = tensor.dtype == "U8";
  if (is_8bit || tensor.dtype == "F32") {
    // An array in Fortran's order was copied into the other; otherwise the elements are those of the file.
    std::shared_ptr<const void> owner = file.owner;
    if (!array.storage.empty()) owner = array.storage.front();
    return Dataset({std::move(owner), tensor.bytes.data(), is_8bit, rows, visible, shape, path});
  }
  Matrix values(rows, visible);
  CopyFloats(array, tensor, values.values());
  return {std::move(values), shape, path, {}, false, LossWarning(tensor, rows, visible, path)};
}

}  // namespace grbm
