#include "grbm/core/parallel.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

namespace grbm {

namespace {
// A step of a small model takes microseconds, so a worker looks for work this many times before it sleeps.
constexpr int kSpins = 4000;
constexpr int kMaxThreads = 4096;
}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  // One round per ParallelFor; a worker that sees a new number joins in.
  std::atomic<std::uint32_t> round{0};
  std::atomic<bool> stop{false};
  std::atomic<Index> next{0};
  std::atomic<int> busy{0};
  std::atomic<bool> running{false};
  Index count = 0;
  const std::function<void(Index)>* body = nullptr;
  std::mutex error_mutex;
  std::exception_ptr error;
  Index error_index = std::numeric_limits<Index>::max();

  void Work() {
    for (Index i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        (*body)(i);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (i < error_index) {
          error_index = i;
          error = std::current_exception();
        }
      }
    }
  }

  void Loop() {
    std::uint32_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && round.load() == seen; ++spin) std::this_thread::yield();
      round.wait(seen);
      seen = round.load();
      if (stop.load()) return;
      Work();
      if (busy.fetch_sub(1) == 1) busy.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  if (threads < 0 || threads > kMaxThreads) {
    throw ConfigError(fmt::format("threads = {}: allowed are 1 to {}, or 0 for one per core", threads, kMaxThreads));
  }
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < threads; ++i) state_->workers.emplace_back([this] { state_->Loop(); });
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true);
  state_->round.fetch_add(1);
  state_->round.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::ParallelFor(Index count, const std::function<void(Index)>& body) {
  State& s = *state_;
  GRBM_CHECK(!s.running.exchange(true));
  s.count = count;
  s.body = &body;
  s.next.store(0);
  const bool alone = count <= 1 || s.workers.empty();
  if (!alone) {
    s.busy.store(static_cast<int>(s.workers.size()));
    s.round.fetch_add(1);
    s.round.notify_all();
  }
  s.Work();
  if (!alone) {
    for (int spin = 0; spin < kSpins && s.busy.load() != 0; ++spin) std::this_thread::yield();
    for (int left = s.busy.load(); left != 0; left = s.busy.load()) s.busy.wait(left);
  }
  s.running.store(false);
  s.error_index = std::numeric_limits<Index>::max();
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

}  // namespace grbm
