#include "arrays.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "data/column_steps.h"
#include "gil.h"
#include "grbm/core/error.h"

namespace grbm::python {

namespace {

std::string DimensionsText(const py::array& array) {
  std::string text;
  for (py::ssize_t d = 0; d < array.ndim(); ++d) text += fmt::format("{}{}", d > 0 ? " × " : "", array.shape(d));
  return text.empty() ? "a single number" : text;
}

void CheckDimensions(const py::array& array, py::ssize_t wanted, const char* what) {
  if (array.ndim() == wanted) return;
  throw DataError(fmt::format("{}: Expected {}D array, got {}D array instead ({}): Reshape your data", what, wanted,
                              array.ndim(), DimensionsText(array)));
}

// An array that takes over `values`.
template <typename Container>
auto Own(Container values, std::vector<Index> shape) {
  using Value = std::remove_pointer_t<decltype(values.data())>;
  auto* owned = new Container(std::move(values));
  const py::capsule owner(owned, [](void* pointer) { delete static_cast<Container*>(pointer); });
  return py::array_t<Value>(std::move(shape), owned->data(), owner);
}

// What a data set keeps of Python: released with the GIL held, whatever thread lets go of it last. Without an interpreter
// there is nothing to release.
std::shared_ptr<const void> KeepAlive(const py::object& object) {
  return {object.ptr(), [kept = new py::object(object)](const void*) {
            if (Py_IsInitialized() == 0) return;
            const Gil gil;
            delete kept;
          }};
}

// Of numbers that tell more apart than floats do.
std::string LossWarning(const py::array& rows, const std::string& source) {
  const char kind = rows.dtype().kind();
  if ((kind != 'f' && kind != 'i' && kind != 'u') || rows.itemsize() < (kind == 'f' ? 8 : 4)) return {};
  ColumnSteps<double> steps(rows.shape(1));
  constexpr py::ssize_t kRowsAtOnce = 4096;
  for (py::ssize_t first = 0; first < rows.shape(0); first += kRowsAtOnce) {
    const auto block = DoubleArray::ensure(rows[py::slice(first, first + kRowsAtOnce, 1)]);
    if (!block) return {};
    const auto width = static_cast<std::size_t>(block.shape(1));
    for (py::ssize_t r = 0; r < block.shape(0); ++r) steps.Add(std::span(block.data(r, 0), width));
  }
  return steps.Warning(source);
}

}  // namespace

ConstMatrix RowsOf(const FloatArray& array, const char* what) {
  CheckDimensions(array, 2, what);
  return {array.data(), array.shape(0), array.shape(1), array.shape(1)};
}

std::vector<float> VectorOf(const FloatArray& array, const char* what) {
  CheckDimensions(array, 1, what);
  return {array.data(), array.data() + array.size()};
}

ByteArray BytesOf(const py::object& object, int most, const char* what) {
  const py::array array = ArrayOf(object);
  const auto refuse = [&] {
    throw DataError(fmt::format("{}: allowed are whole numbers from 0 to {} (or False and True)", what, most));
  };
  if (std::string_view("biuf").find(array.dtype().kind()) == std::string_view::npos) refuse();
  if (array.dtype().kind() != 'b') {
    const auto values = DoubleArray::ensure(array);
    const bool whole = values && std::all_of(values.data(), values.data() + values.size(),
                                             [&](double x) { return x >= 0 && x <= most && x == std::floor(x); });
    if (!whole) refuse();
  }
  return ByteArray::ensure(array);
}

BitMatrix BitsOf(const py::object& object, const char* what) {
  const ByteArray array = BytesOf(object, 1, what);
  CheckDimensions(array, 2, what);
  BitMatrix bits(array.shape(0), array.shape(1));
  for (Index r = 0; r < bits.rows(); ++r) {
    for (Index j = 0; j < bits.units(); ++j) bits.Set(r, j, *array.data(r, j) != 0);
  }
  return bits;
}

py::array_t<std::uint8_t> ToBytes(ConstBitView bits) {
  py::array_t<std::uint8_t> bytes({bits.rows(), bits.units()});
  auto out = bytes.mutable_unchecked<2>();
  for (Index r = 0; r < bits.rows(); ++r) {
    for (Index j = 0; j < bits.units(); ++j) out(r, j) = bits.Get(r, j) ? 1 : 0;
  }
  return bytes;
}

py::array_t<float> ToArray(Matrix matrix) {
  const std::vector<Index> shape = {matrix.rows(), matrix.cols()};
  return Own(std::move(matrix), shape);
}

py::array_t<double> ToArray(const std::vector<double>& values) { return Own(values, {std::ssize(values)}); }

py::tuple ParametersTuple(const Parameters& p) {
  py::list arrays;
  for (const auto& tensor : p.Tensors()) {
    if (!tensor.empty()) arrays.append(py::array_t<float>(tensor.shape(), tensor.data));
  }
  return py::tuple(arrays);
}

Parameters ParametersFrom(const py::tuple& arrays) {
  const auto weights = arrays[0].cast<FloatArray>();
  const ConstMatrix shape = RowsOf(weights, "W");
  Index conditions = 0;
  if (arrays.size() > 4) conditions = RowsOf(arrays[4].cast<FloatArray>(), "A").cols();
  Parameters p(shape.rows(), shape.cols(), conditions);
  const auto tensors = p.Tensors();
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const auto& to = tensors[k];
    if (to.empty()) continue;
    const auto array = arrays[k].cast<FloatArray>();
    CheckDimensions(array, to.is_vector ? 1 : 2, std::string(to.name).c_str());
    CheckRows(to.name, to.units, array.shape(0), to.rows);
    if (array.size() != std::ssize(to.values())) {
      throw DataError(fmt::format("{}: {} columns: expected are {}", to.name, array.shape(1), to.cols));
    }
    std::copy_n(array.data(), array.size(), to.data);
  }
  return p;
}

py::array_t<float> Borrow(std::span<const float> values, std::vector<Index> shape, const py::handle& owner) {
  py::array_t<float> array(std::move(shape), values.data(), owner);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

ImageShape ShapeOf(const ShapeTuple& shape) {
  if (!shape) return {};
  const std::vector<Index>& s = *shape;
  constexpr Index kLargest = 1 << 20;  // of a side: their product is then a number
  if ((s.size() != 2 && s.size() != 3) ||
      std::ranges::any_of(s, [](Index side) { return side < 1 || side > kLargest; })) {
    throw ConfigError(
        "image_shape: allowed are (height, width), (height, width, channels) and None, with sides from 1 to 2^20");
  }
  return {s[0], s[1], s.size() == 3 ? s[2] : 1};
}

ShapeTuple ShapeTupleOf(const ImageShape& shape) {
  if (!shape.known()) return std::nullopt;
  return std::vector<Index>{shape.height, shape.width, shape.channels};
}

py::array ArrayOf(const py::object& object) {
  py::object given = object;
  if (py::hasattr(given, "detach")) given = given.attr("detach")();  // PyTorch's, which take part in a gradient
  if (py::hasattr(given, "__dlpack__") && !py::hasattr(given, "__array__")) {
    given = py::module_::import("numpy").attr("from_dlpack")(given);
  }
  auto array = py::array::ensure(given);
  if (!array) throw DataError("could not convert the given object to an array");
  return array;
}

bool HoldsNumbers(const py::array& array) {
  return std::string_view("biufO").find(array.dtype().kind()) != std::string_view::npos;
}

Dataset DatasetOf(const py::object& given, const ImageShape& shape, const std::string& source, bool gaps,
                  std::vector<int> labels) {
  const py::array rows = ArrayOf(given);
  CheckDimensions(rows, 2, source.c_str());
  if (!HoldsNumbers(rows)) throw DataError(source + ": expected is an array of real numbers");
  const bool is_8bit = py::isinstance<py::array_t<std::uint8_t>>(rows);
  const py::array kept = is_8bit ? py::array(ByteArray::ensure(rows)) : py::array(FloatArray::ensure(rows));
  if (!kept) throw DataError(source + ": could not convert it to an array of numbers");
  Dataset::Storage storage{KeepAlive(kept), kept.data(), is_8bit, kept.shape(0), kept.shape(1), shape, source};
  storage.warning = LossWarning(rows, source);
  storage.gaps = gaps;
  const GilReleased released;
  return Dataset(std::move(storage), std::move(labels));
}

}  // namespace grbm::python
