// The GIL, taken and given back on threads that may outlive the interpreter: daemon threads that compute at its end.
//
// Python ends a thread that asks for the GIL then by unwinding its stack: destructors would run without the GIL, and
// whatever catches all exceptions, as pools of threads do, would end the process. So such a thread sleeps instead until the
// process is gone; nobody waits for it.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>

#include <utility>

namespace grbm::python {

namespace py = pybind11;

[[noreturn]] void SleepForEver();
bool InterpreterEnds();

// The result of f, in which Python may ask for the GIL.
template <typename Function>
auto Survive(const Function& f) {
#ifdef __GLIBCXX__
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    SleepForEver();
  }
#else
  return f();
#endif
}

class Gil {
 public:
  Gil()
      : state_(Survive([] { return InterpreterEnds() ? (SleepForEver(), PyGILState_LOCKED) : PyGILState_Ensure(); })) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    if (InterpreterEnds()) SleepForEver();
    Survive([&] { PyEval_RestoreThread(state_); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// function(*arguments); with the GIL.
py::object CallPython(const py::object& function, const py::tuple& arguments);

// A function of Python's that takes these.
template <typename... Arguments>
class Callback {
 public:
  Callback() = default;
  explicit Callback(py::object function) : function_(std::move(function)) {}

  // With the GIL.
  py::object operator()(const Arguments&... arguments) const {
    return CallPython(function_, py::make_tuple(arguments...));
  }

 private:
  py::object function_;
};

}  // namespace grbm::python

namespace pybind11::detail {

template <typename... Arguments>
struct type_caster<grbm::python::Callback<Arguments...>> {
  PYBIND11_TYPE_CASTER(grbm::python::Callback<Arguments...>,
                       const_name("Callable[[") + concat(make_caster<Arguments>::name...) + const_name("], Any]"));

  bool load(handle source, bool) {
    if (PyCallable_Check(source.ptr()) == 0) return false;
    value = grbm::python::Callback<Arguments...>(reinterpret_borrow<object>(source));
    return true;
  }
};

}  // namespace pybind11::detail
