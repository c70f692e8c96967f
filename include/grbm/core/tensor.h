// Named arrays as files hold them: any element type, as raw bytes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

struct Tensor {
  std::string name;
  std::string dtype;         // the words of safetensors: "F32", "U8", "BOOL" ...
  std::vector<Index> shape;  // empty: a single number
  std::string_view bytes;    // row-major, little-endian, maybe unaligned; not owned
};

struct TensorFile {
  std::string source;  // the file's name; opens messages
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
  // Owns what the tensors of a file that was read refer to.
  std::vector<std::shared_ptr<const std::string>> storage;
};

// Bits of one element: 32 for "F32"; 0 for an unknown dtype.
int DtypeBits(std::string_view dtype);
// Nothing where a dimension is negative or the number does not fit.
std::optional<Index> ElementCount(std::span<const Index> shape);
// Nothing also for an unknown dtype, or where the elements do not fill whole bytes.
std::optional<Index> ByteCount(std::string_view dtype, std::span<const Index> shape);
// "[2, 3]"; -1 as "any".
std::string ShapeText(std::span<const Index> shape);

// A tensor of floats that refers to `values`.
Tensor MakeTensor(std::string name, std::vector<Index> shape, std::span<const float> values);

// Null where there is none of that name.
const Tensor* FindTensor(const TensorFile& file, std::string_view name);
// Throws DataError that says what the file has instead, where the tensor is missing or has another
// shape; -1 stands for any size.
const Tensor& GetTensor(const TensorFile& file, std::string_view name, std::span<const Index> shape);
// Throws DataError unless the elements are floating-point numbers, for what has no meaning as integers.
void CheckFloating(const TensorFile& file, const Tensor& tensor);
// Its elements as floats, converted from any integer type, F64, F16 or BF16. `values` has as many
// elements as the tensor. Other types throw DataError.
void CopyFloats(const TensorFile& file, const Tensor& tensor, std::span<float> values);
std::vector<float> GetFloats(const TensorFile& file, std::string_view name, std::span<const Index> shape);

}  // namespace grbm
