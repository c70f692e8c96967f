// The safetensors format: eight bytes with the length of a JSON header, the header, the data.
// https://github.com/huggingface/safetensors#format
#pragma once

#include <string>

#include "grbm/core/tensor.h"

namespace grbm {

// Reads any valid file; the tensors come in the order of their data. Throws IoError where it cannot
// be read, DataError with the byte or the tensor where it is not valid. Memory is
// bounded by the file's own size (a small multiple of its header's), whatever sizes it claims.
TensorFile ReadTensors(const std::string& path);
// The same from memory; `source` stands for the path.
TensorFile ParseTensors(std::string contents, const std::string& source);

// Writes atomically. The same tensors and metadata give the same bytes. Wider elements come first,
// otherwise in the given order, so that every tensor is aligned to its elements.
void WriteTensors(const std::string& path, const TensorFile& file);

}  // namespace grbm
