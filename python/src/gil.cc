#include "gil.h"

#include <chrono>
#include <thread>

namespace grbm::python {

void SleepForEver() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

bool InterpreterEnds() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

py::object CallPython(const py::object& function, const py::tuple& arguments) {
  PyObject* const result = Survive([&] { return PyObject_Call(function.ptr(), arguments.ptr(), nullptr); });
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

}  // namespace grbm::python
