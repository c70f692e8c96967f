#include "data/npy_rows.h"

#include "core/npy.h"
#include "data/idx.h"
#include "grbm/core/error.h"
#include "grbm/core/tensor.h"

namespace grbm {

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
  return {std::move(values), shape, path};
}

}  // namespace grbm
