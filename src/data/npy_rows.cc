#include "data/npy_rows.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "core/npy.h"
#include "data/column_steps.h"
#include "data/columns.h"
#include "data/idx.h"
#include "data/mapped_file.h"
#include "data/row_store.h"
#include "grbm/core/error.h"
#include "grbm/core/npz.h"
#include "grbm/core/tensor.h"

namespace grbm {

namespace {

template <typename Number>
std::string LossWarningOf(std::string_view bytes, Index rows, Index visible, const std::string& path) {
  ColumnSteps<Number> steps(visible);
  std::vector<Number> row(ToSize(visible));
  for (Index r = 0; r < rows; ++r) {
    std::memcpy(row.data(), bytes.data() + ToSize(r) * row.size() * sizeof(Number), row.size() * sizeof(Number));
    steps.Add(row);
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

Dataset Rows(const TensorFile& file, const Tensor& tensor, std::shared_ptr<const void> owner, const std::string& path,
             std::vector<int> labels, bool gaps) {
  const ImageShape shape = ShapeOfRows(tensor.shape, path);
  const Index rows = tensor.shape[0];
  const Index visible = shape.known() ? shape.size() : tensor.shape[1];
  const bool is_8bit = tensor.dtype == "U8";
  if (is_8bit || tensor.dtype == "F32") {
    Dataset::Storage storage{std::move(owner), tensor.bytes.data(), is_8bit, rows, visible, shape, path};
    storage.gaps = gaps;
    return Dataset(std::move(storage), std::move(labels));
  }
  RowStore store(visible);
  store.Expect(rows);
  const std::size_t row_bytes = tensor.bytes.size() / ToSize(rows);
  std::vector<float> values;
  ForRowBlocks(rows, visible, [&](Index first, Index count) {
    values.resize(ToSize(count * visible));
    const std::string_view bytes = tensor.bytes.substr(ToSize(first) * row_bytes, ToSize(count) * row_bytes);
    CopyFloats(file, {tensor.name, tensor.dtype, {count, visible}, bytes}, values);
    store.Append(values);
  });
  Dataset::Storage storage = store.Finish(shape, path);
  storage.warning = LossWarning(tensor, rows, visible, path);
  storage.gaps = gaps;
  return Dataset(std::move(storage), std::move(labels));
}

void CheckList(const Tensor& tensor, const std::string& path, const char* what) {
  if (tensor.shape.size() == 1) return;
  throw DataError(
      fmt::format("{}: {}: an array of rank {}: {} are of rank 1", path, tensor.name, tensor.shape.size(), what));
}

// The elements of an array of rank 1: `what` they are.
std::vector<float> List(const TensorFile& file, const Tensor& tensor, const std::string& path, const char* what) {
  CheckList(tensor, path, what);
  if (IsNpyText(tensor)) throw DataError(fmt::format("{}: {}: text: {} are numbers", path, tensor.name, what));
  std::vector<float> values(ToSize(tensor.shape[0]));
  CopyFloats(file, tensor, values);
  return values;
}

// One per row; what they may be is checked where they are taken.
std::vector<double> Weights(const TensorFile& file, const Tensor& tensor, const std::string& path) {
  const std::vector<float> values = List(file, tensor, path, "weights");
  if (values.empty())
    throw DataError(fmt::format("{}: {}: no weights: expected is one for each row", path, tensor.name));
  return {values.begin(), values.end()};
}

std::vector<int> Labels(const TensorFile& file, const Tensor& tensor, const std::string& path,
                        std::vector<std::string>& names) {
  if (IsNpyText(tensor)) {
    CheckList(tensor, path, "labels");
    return NumberLabels(NpyTexts(tensor, path + ": " + tensor.name), names);
  }
  const std::vector<float> values = List(file, tensor, path, "labels");
  std::vector<int> labels;
  for (const float value : values) {
    if (!(std::abs(value) < 0x1p24f) || value != std::floor(value)) {
      throw DataError(
          fmt::format("{}: {}: {} is no label: allowed are whole numbers below 2^24", path, tensor.name, value));
    }
    labels.push_back(static_cast<int>(value));
  }
  return labels;
}

}  // namespace

bool IsZip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06"); }

bool IsNpy(std::string_view bytes) { return bytes.starts_with("\x93NUMPY"); }

Dataset ReadNpyRows(const FileBytes& file, const std::string& path, bool gaps) {
  TensorFile array;
  array.source = path;
  AppendNpy(array, "", file.bytes, path);
  // An array in Fortran's order was copied into the other; otherwise the elements are those of the file.
  std::shared_ptr<const void> owner = file.owner;
  if (!array.storage.empty()) owner = array.storage.front();
  return Rows(array, array.tensors.front(), std::move(owner), path, {}, gaps);
}

namespace {

// An archive's arrays, where they lie: in the file, which is mapped, in memory or, inflated and large, in files of no name.
struct Archive {
  FileBytes file;
  std::vector<Dataset::Storage> inflated;
  TensorFile arrays;
};

std::shared_ptr<const Archive> OpenArchive(const std::string& path) {
  const auto archive = std::make_shared<Archive>();
  archive->file = MapFile(path);
  const auto elsewhere = [&]() -> InflatedBytes {
    const auto store = std::make_shared<RowStore>(1, true);  // bytes
    const auto take = [store](std::string_view piece) {
      store->Append(std::span(reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()));
    };
    const auto finish = [store, &archive, path] {
      archive->inflated.push_back(store->Finish({}, path));
      const Dataset::Storage& bytes = archive->inflated.back();
      return std::string_view(static_cast<const char*>(bytes.values), ToSize(bytes.rows));
    };
    return {take, finish};
  };
  archive->arrays = ParseNpzAt(archive->file.bytes, path, RowsInMemory(), elsewhere);
  return archive;
}

}  // namespace

Dataset ReadNpzRows(const std::string& path, const ArrayOptions& options) {
  const std::string& key = options.key;
  const auto opened = OpenArchive(path);
  const auto* const archive = &opened->arrays;
  std::vector<std::string> arrays;
  std::vector<std::string> of_rows;
  for (const Tensor& tensor : archive->tensors) {
    arrays.push_back(tensor.name);
    if (tensor.shape.size() >= 2 && tensor.shape.size() <= 4 && !IsNpyText(tensor)) of_rows.push_back(tensor.name);
  }
  const auto find = [&](const std::string& name, const char* option) -> const Tensor& {
    const auto found = std::ranges::find(archive->tensors, name, &Tensor::name);
    if (found != archive->tensors.end()) return *found;
    throw ConfigError(
        fmt::format("{}: data.{} = {}: no such array: there are {}", path, option, name, fmt::join(arrays, ", ")));
  };
  if (key.empty() && of_rows.size() != 1) {
    throw ConfigError(fmt::format("{}: {} arrays of rows and values: say which by data.key: there are {}", path,
                                  of_rows.size(), fmt::join(arrays, ", ")));
  }
  const Tensor& tensor = find(key.empty() ? of_rows[0] : key, "key");
  if (IsNpyText(tensor)) throw DataError(fmt::format("{}: {}: text: rows are of numbers", path, tensor.name));
  Dataset::Names names;
  std::vector<int> labels;
  if (!options.label.empty()) labels = Labels(*archive, find(options.label, "label"), path, names.labels);
  std::vector<double> weights;
  if (!options.weight.empty()) weights = Weights(*archive, find(options.weight, "weight"), path);
  return Rows(*archive, tensor, opened, path, std::move(labels), options.gaps)
      .WithNames(std::move(names))
      .WithWeights(std::move(weights));
}

}  // namespace grbm
