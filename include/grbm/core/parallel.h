// The one pool of threads.
#pragma once

#include <functional>
#include <memory>

#include "grbm/core/matrix.h"

namespace grbm {

class ThreadPool {
 public:
  // threads ≥ 1, the caller's included; 0 means one per core.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(0) ... body(count - 1), each once, in any order and on any thread, and returns when all are done. An
  // exception of a body is rethrown here, the one of the lowest index where several threw. Not to be called from a
  // body.
  void ParallelFor(Index count, const std::function<void(Index)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grbm
