// Arrays on their way in and out. In: a contiguous array of the right type is used where it lies, others are converted. Out:
// a result's memory becomes the array's own.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/data/dataset.h"
#include "grbm/data/image_shape.h"
#include "grbm/model/model.h"
#include "grbm/store/model_file.h"

namespace grbm::python {

namespace py = pybind11;

// Any object that can be an array, or offers its memory by DLPack. Throws DataError for others.
py::array ArrayOf(const py::object& object);

// Real numbers, or objects that may be some: no text, times or records, nor complex numbers, of which a part would be lost.
bool HoldsNumbers(const py::array& array);

// A contiguous array of numbers of one type, from whatever ArrayOf takes.
template <typename Number>
class ArrayFrom : public py::array_t<Number, py::array::c_style | py::array::forcecast> {
 public:
  using Base = py::array_t<Number, py::array::c_style | py::array::forcecast>;
  ArrayFrom() = default;
  explicit ArrayFrom(Base numbers) : Base(std::move(numbers)) {}
  explicit ArrayFrom(const py::object& given) : Base(ArrayOf(given)) {}
  // Without an array where the numbers cannot be converted.
  static ArrayFrom ensure(const py::handle& given) { return ArrayFrom(Base::ensure(given)); }
};
using FloatArray = ArrayFrom<float>;
using DoubleArray = ArrayFrom<double>;
using ByteArray = ArrayFrom<std::uint8_t>;
using ShapeTuple = std::optional<std::vector<Index>>;

// Rows of floats. Throws DataError, opened by `what`, unless there are two dimensions. The array must outlive the view.
ConstMatrix RowsOf(const FloatArray& array, const char* what);
std::vector<float> VectorOf(const FloatArray& array, const char* what);
// Whole numbers from 0 to `most`, of any type that holds them. Throws DataError, opened by `what`, for others.
ByteArray BytesOf(const py::object& object, int most, const char* what);
// Hidden states from rows of 0 and 1, of any type; and back.
BitMatrix BitsOf(const py::object& object, const char* what);
py::array_t<std::uint8_t> ToBytes(ConstBitView bits);

py::array_t<float> ToArray(Matrix matrix);
py::array_t<double> ToArray(const std::vector<double>& values);
// (W, b, mu, log_var), of conditions also A and B, of which the arrays are copies, and back. Throws DataError where their shapes do
// not fit W's.
py::tuple ParametersTuple(const Parameters& parameters);
Parameters ParametersFrom(const py::tuple& arrays);
// A read-only array that refers to memory of `owner`.
py::array_t<float> Borrow(std::span<const float> values, std::vector<Index> shape, const py::handle& owner);
// A property of a model: a vector of one of its standardisations, read-only.
inline auto VectorOf(Standardization ModelFile::*standardization, std::vector<float> Standardization::*member) {
  return [=](const py::object& self) {
    const std::vector<float>& values = self.cast<const ModelFile&>().*standardization.*member;
    return Borrow(values, {std::ssize(values)}, self);
  };
}

// (height, width, channels) or (height, width) of grey images; none: rows are not images.
ImageShape ShapeOf(const ShapeTuple& shape);
ShapeTuple ShapeTupleOf(const ImageShape& shape);

// Rows as a data set that refers to the array and keeps it alive: floats or unsigned bytes, contiguous, are not copied.
// Throws DataError for other dimensions, for numbers that are not finite, and for labels of another number than rows.
Dataset DatasetOf(const py::object& rows, const ImageShape& shape, const std::string& source, bool gaps = false,
                  std::vector<int> labels = {});

}  // namespace grbm::python

namespace pybind11::detail {

template <typename Number>
struct ArrayCaster {
  using Array = grbm::python::ArrayFrom<Number>;
  PYBIND11_TYPE_CASTER(Array, const_name("numpy.ndarray[") + npy_format_descriptor<Number>::name + const_name("]"));

  bool load(handle source, bool) {
    try {
      const auto given = grbm::python::ArrayOf(reinterpret_borrow<object>(source));
      if (!grbm::python::HoldsNumbers(given)) return false;
      value = Array::ensure(given);
    } catch (const error_already_set&) {
      return false;
    }
    return static_cast<bool>(value);
  }
  static handle cast(const handle& array, return_value_policy, handle) { return array.inc_ref(); }
};
template <>
struct type_caster<grbm::python::FloatArray> : ArrayCaster<float> {};
template <>
struct type_caster<grbm::python::DoubleArray> : ArrayCaster<double> {};

}  // namespace pybind11::detail
