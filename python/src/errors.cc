// The library's errors as exceptions: each is a grbm.Error, and what a Python programmer would expect of its kind.
#include <filesystem>

#include "bindings.h"
#include "grbm/core/error.h"
#include "grbm/train/run.h"

namespace grbm::python {

namespace {

PyObject* MakeException(py::module_& m, const char* name, const char* help, const py::tuple& bases) {
  PyObject* type = PyErr_NewExceptionWithDoc(("grbm." + std::string(name)).c_str(), help, bases.ptr(), nullptr);
  if (type == nullptr) throw py::error_already_set();
  m.add_object(name, py::reinterpret_steal<py::object>(type));
  return type;
}

// Kept for as long as the module is, which is for ever.
struct Exceptions {
  PyObject* error;
  PyObject* config;
  PyObject* data;
  PyObject* numeric;
  PyObject* io;
  PyObject* busy;
  PyObject* internal;
};
Exceptions exceptions;

}  // namespace

void RaiseDataError(const char* what) {
  PyErr_SetString(exceptions.data, what);
  throw py::error_already_set();
}

void BindErrors(py::module_& m) {
  const auto base = [](PyObject* type) { return py::reinterpret_borrow<py::object>(type); };
  exceptions.error =
      MakeException(m, "Error", "The base of what this package raises.", py::make_tuple(base(PyExc_Exception)));
  const auto make = [&](const char* name, const char* help, PyObject* second) {
    return MakeException(m, name, help, py::make_tuple(base(exceptions.error), base(second)));
  };
  exceptions.config = make("ConfigError", "A setting, or a combination of them, that cannot work.", PyExc_ValueError);
  exceptions.data =
      make("DataError", "Data that are not what they should be: shapes, types, corrupt files.", PyExc_ValueError);
  exceptions.numeric = make("NumericError", "A computation that left the finite numbers.", PyExc_ArithmeticError);
  exceptions.io = make("IoError", "A file that cannot be read or written.", PyExc_OSError);
  exceptions.busy = make("BusyError", "Another process is at work in the folder: later it may be free.", PyExc_OSError);
  exceptions.internal =
      make("InternalError", "A call that cannot be right, or a mistake in the library.", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const ConfigError& error) {
      PyErr_SetString(exceptions.config, error.what());
    } catch (const DataError& error) {
      PyErr_SetString(exceptions.data, error.what());
    } catch (const NumericError& error) {
      PyErr_SetString(exceptions.numeric, error.what());
    } catch (const IoError& error) {
      PyErr_SetString(exceptions.io, error.what());
    } catch (const BusyError& error) {
      PyErr_SetString(exceptions.busy, error.what());
    } catch (const Error& error) {
      PyErr_SetString(exceptions.internal, error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      PyErr_SetString(exceptions.io, error.what());
    }
  });
}

}  // namespace grbm::python
