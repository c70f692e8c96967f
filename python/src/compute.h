// Computations without the GIL that Ctrl-C can end.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "gil.h"
#include "grbm/core/parallel.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/sampler/sampler.h"

namespace grbm::python {

namespace py = pybind11;

// Looks for signals, on the thread that made it if that is Python's main thread: no other hears of them. Check() may be
// called by any thread, with or without the GIL; after a signal whose handler raised, it throws on all of them.
class Signals {
 public:
  Signals();  // with the GIL

  void Check();
  // Throws what the handler raised. For whoever catches a Stopped.
  [[noreturn]] void Rethrow() const { std::rethrow_exception(raised_); }

  struct Stopped {};

 private:
  std::thread::id thread_;  // that looks; none where it is not the main thread
  std::chrono::steady_clock::time_point looked_;
  std::atomic<bool> stopped_ = false;
  std::exception_ptr raised_;
};

// The result of compute(signals), made without the GIL.
template <typename Compute>
auto WithoutGil(const Compute& compute) {
  Signals signals;
  const GilReleased released;
  try {
    return compute(signals);
  } catch (const Signals::Stopped&) {
    signals.Rethrow();
  }
}

// The result of compute(pool, signals), made without the GIL on so many threads. A signal ends it before the next body that
// the pool is given: for computations that leave nothing behind.
template <typename Compute>
auto OnPool(int threads, const Compute& compute) {
  return WithoutGil([&](Signals& signals) {
    ThreadPool pool(threads, [&signals] { signals.Check(); });
    return compute(pool, signals);
  });
}

inline SamplerHooks Hooks(Signals& signals) {
  return {.before_step = [&signals] { signals.Check(); }};
}

// Tells `callback(part, done, total)`, where there is one, and looks for signals.
using ProgressCallback = std::optional<Callback<std::string, Index, Index>>;
EvaluationProgress Progress(Signals& signals, const ProgressCallback& callback);

}  // namespace grbm::python
