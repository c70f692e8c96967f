// The parts of the module, one per subject, and what they share.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "grbm/core/error.h"
#include "grbm/core/options.h"
#include "grbm/store/model_file.h"

namespace grbm::python {

namespace py = pybind11;

void BindErrors(py::module_& m);
// Raises grbm.DataError; with the GIL.
[[noreturn]] void RaiseDataError(const char* what);
void BindConfig(py::module_& m);
void BindData(py::module_& m);
// The class first, so that the signatures of others can name it.
py::class_<ModelFile, std::shared_ptr<ModelFile>> BindModel(py::module_& m);
// Classes and conditions, and what a model is given them.
void BindGiven(py::class_<ModelFile, std::shared_ptr<ModelFile>>& model);
void BindSampler(py::class_<ModelFile, std::shared_ptr<ModelFile>>& model);
void BindTrain(py::module_& m);
void BindEvaluate(py::module_& m);

// Settings from a dictionary and back, by their names; unknown ones throw ConfigError.
void SetFields(std::span<const Field> fields, const py::dict& values, const std::string& where);
py::dict FieldValues(std::span<const Field> fields);
void SetField(const Field& field, const py::handle& value, const std::string& where);
py::object FieldValue(const Field& field);

// A reader of a pickle's state: what cannot be read throws DataError, opened by `what`.
template <typename Read>
auto FromPickle(const char* what, const Read& read) {
  return [what, read](const py::tuple& state) {
    const auto damaged = [&] { return DataError(std::string(what) + ": a damaged pickle, or one of another version"); };
    try {
      return read(state);
    } catch (const py::cast_error&) {
      throw damaged();
    } catch (const py::error_already_set&) {
      throw damaged();
    }
  };
}

// `file` with settings of the sampler other than its own. Throws ConfigError where they are wrong or make more units diverge
// than its own do.
ModelFile WithSampler(const ModelFile& file, const py::dict& settings);
// The file as a command that draws from it would have it.
ModelFile Prepared(const ModelFile& file, std::optional<std::int64_t> steps);

// Throw ConfigError for what is not computed with such a model as a whole, and say what is.
void RequireNoLabels(const ModelFile& file);
void RequireNoConditions(const ModelFile& file);
// Conditions in their own units, one row for each of `rows`, in those of the model: rows × conditions. Of models without them there
// must be none.
Matrix ConditionsOf(const ModelFile& file, const py::object& given, Index rows);

}  // namespace grbm::python
