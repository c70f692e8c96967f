// One array in NumPy's format, in memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/tensor.h"

namespace grbm {

// What stands before the data: magic, version 1.0, and a description padded to 64 bytes.
std::string NpyHeader(const Tensor& tensor, const std::string& where);

// Appends the array to file.tensors. It refers to `contents`, which `file` keeps in its storage
// already, or to a copy in C's order that is added to it. `where` opens messages. With `text` arrays of text are taken, too:
// their dtype is NumPy's, "<U5" or "|S5".
void AppendNpy(TensorFile& file, std::string name, std::string_view contents, const std::string& where,
               bool text = false);

// Whether the elements are text.
bool IsNpyText(const Tensor& tensor);
// The elements of such an array, in UTF-8 where they are characters. Throws DataError, opened by `where`, for what is none.
std::vector<std::string> NpyTexts(const Tensor& tensor, const std::string& where);

}  // namespace grbm
