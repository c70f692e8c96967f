#include "compute.h"

namespace grbm::python {

namespace {

// So often a computation looks: not felt by a hand on the keyboard, nor by a computation that takes microseconds per step.
constexpr auto kEvery = std::chrono::milliseconds(20);

}  // namespace

Signals::Signals() : looked_(std::chrono::steady_clock::now()) {
  const py::module_ threading = py::module_::import("threading");
  if (threading.attr("current_thread")().is(threading.attr("main_thread")())) thread_ = std::this_thread::get_id();
}

void Signals::Check() {
  if (stopped_.load(std::memory_order_relaxed)) throw Stopped();
  if (std::this_thread::get_id() != thread_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kEvery) return;
  looked_ = now;
  const Gil gil;
  if (PyErr_CheckSignals() == 0) return;
  raised_ = std::make_exception_ptr(py::error_already_set());
  stopped_ = true;
  throw Stopped();
}

EvaluationProgress Progress(Signals& signals, const ProgressCallback& callback) {
  return [&signals, &callback](std::string_view part, Index done, Index total) {
    signals.Check();
    if (!callback) return;
    const Gil gil;
    (*callback)(std::string(part), done, total);
  };
}

}  // namespace grbm::python
