// The one pool of threads.
#pragma once

#include <functional>
#include <memory>

#include "grbm/core/matrix.h"

namespace grbm {

class ThreadPool {
 public:
  // threads ≥ 1, the caller's included; 0 means one per core, or as many as the system lets start. Throws ConfigError
  // where it does not start as many as were asked for. `before_body` is called before each body, on its thread: what it
  // throws takes the place of the body. It ends a computation whose results nobody wants any more, wherever that is.
  explicit ThreadPool(int threads = 0, std::function<void()> before_body = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(0) ... body(count - 1), each once, in any order and on any thread, and returns when all are done. An
  // exception of a body is rethrown here, the one of the lowest index where several threw. May be called by several
  // threads at once, and from a body: the pool works for one caller at a time, and the others do their work themselves.
  void ParallelFor(Index count, const std::function<void(Index)>& body);

  // Calls body(first, end) for ranges that together cover 0 ... count - 1, none shorter than `least` but the last one:
  // for work that is too short to be handed over index by index.
  void ParallelForRanges(Index count, Index least, const std::function<void(Index first, Index end)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grbm
