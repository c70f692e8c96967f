#include "grbm/core/parallel.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace grbm {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxThreads = 4096;

// A step of a small model takes microseconds, so whoever waits looks again and again for a while before it sleeps: for
// no longer than kPatience, and only as long as nobody else wants the processor. Where a look took kTaken, somebody did.
constexpr auto kPatience = std::chrono::milliseconds(2);
constexpr auto kTaken = std::chrono::microseconds(50);

// Looks until `ready()`, or for as long as that is worth it.
template <typename Ready>
void Look(const Ready& ready) {
  const auto start = Clock::now();
  for (auto last = start; !ready();) {
    std::this_thread::yield();
    const auto now = Clock::now();
    if (now - last > kTaken || now - start > kPatience) return;
    last = now;
  }
}

// The bodies of one ParallelFor, taken one by one by all threads that work on it.
class Job {
 public:
  Job(Index count, const std::function<void(Index)>& body, const std::function<void()>& before_body)
      : count_(count), body_(body), before_body_(before_body) {}

  void Work() {
    for (Index i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) {
      try {
        if (before_body_) before_body_();
        body_(i);
      } catch (...) {
        const std::lock_guard lock(error_mutex_);
        if (i < error_index_) {
          error_index_ = i;
          error_ = std::current_exception();
        }
      }
    }
  }

  // The exception of the lowest index, where there was one.
  void Rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const Index count_;
  const std::function<void(Index)>& body_;
  const std::function<void()>& before_body_;
  std::atomic<Index> next_{0};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  Index error_index_ = std::numeric_limits<Index>::max();
};

}  // namespace

struct ThreadPool::State {
  // `turn` holds three things, so that they change together: in its lowest bits how many workers are at the job, then
  // whether others may still join them, then a count of the jobs, by which a worker knows one that it has seen. (The
  // count comes round: a worker that slept through all of it may miss a job, which the others then do.)
  static constexpr std::uint32_t kWorkers = 0x1fff;
  static constexpr std::uint32_t kOpen = 0x2000;
  static constexpr std::uint32_t kNextJob = 0x4000;
  static_assert(kMaxThreads <= kWorkers);

  std::vector<std::thread> workers;
  std::function<void()> before_body;
  std::atomic<bool> taken{false};  // by the caller whose job it is
  std::atomic<std::uint32_t> turn{0};
  std::atomic<std::uint32_t> left{0};  // how often the last worker has left a closed job
  std::atomic<bool> stop{false};
  Job* job = nullptr;

  // Makes the job known, and wakes as many sleepers as have something to do.
  void Open(Job& next, Index count) {
    job = &next;
    turn.store(((turn.load() & ~(kOpen | kWorkers)) + kNextJob) | kOpen);
    if (count > static_cast<Index>(workers.size())) {
      turn.notify_all();
    } else {
      for (Index k = 1; k < count; ++k) turn.notify_one();
    }
  }

  // Nobody joins any more; waits for those who did. A worker that has not woken yet is not waited for.
  void Close() {
    turn.fetch_and(~kOpen);
    const auto done = [&] { return (turn.load() & kWorkers) == 0; };
    Look(done);
    for (std::uint32_t before = left.load(); !done(); before = left.load()) left.wait(before);
  }

  // True where the worker is one of the job's now: it must leave.
  bool Join() {
    std::uint32_t now = turn.load();
    while ((now & kOpen) != 0) {
      if (turn.compare_exchange_weak(now, now + 1)) return true;
    }
    return false;
  }
  void Leave() {
    if ((turn.fetch_sub(1) & (kOpen | kWorkers)) != 1) return;
    left.fetch_add(1);
    left.notify_one();
  }

  void Loop() {
    std::uint32_t seen = 0;
    const auto job_number = [&] { return turn.load() / kNextJob; };
    while (!stop.load()) {
      Look([&] { return job_number() != seen; });
      for (std::uint32_t now = turn.load(); now / kNextJob == seen; now = turn.load()) turn.wait(now);
      seen = job_number();
      if (!Join()) continue;
      job->Work();
      Leave();
    }
  }

  ~State() {
    stop.store(true);
    turn.fetch_add(kNextJob);
    turn.notify_all();
    for (std::thread& worker : workers) worker.join();
  }
};

ThreadPool::ThreadPool(int threads, std::function<void()> before_body) : state_(std::make_unique<State>()) {
  state_->before_body = std::move(before_body);
  if (threads < 0 || threads > kMaxThreads) {
    throw ConfigError(fmt::format("threads = {}: allowed are 1 to {}, or 0 for one per core", threads, kMaxThreads));
  }
  const int wanted = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  try {
    for (int i = 1; i < wanted; ++i) state_->workers.emplace_back([this] { state_->Loop(); });
  } catch (const std::system_error& error) {
    if (threads == 0) return;  // as many as there are
    throw ConfigError(
        fmt::format("threads = {}: the system starts no more than {}: {}; ask for fewer, or for 0: as many "
                    "as there are cores and the system allows",
                    threads, this->threads(), error.code().message()));
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::ParallelFor(Index count, const std::function<void(Index)>& body) {
  State& s = *state_;
  Job job(count, body, s.before_body);
  if (count <= 1 || s.workers.empty() || s.taken.exchange(true)) {
    job.Work();
  } else {
    s.Open(job, count);
    job.Work();
    s.Close();
    s.taken.store(false);
  }
  job.Rethrow();
}

void ThreadPool::ParallelForRanges(Index count, Index least, const std::function<void(Index, Index)>& body) {
  constexpr Index kRangesPerThread = 4;  // so that a thread that is held up leaves its share to the others
  const Index wanted = kRangesPerThread * threads();
  const Index size = std::max({least, (count + wanted - 1) / wanted, Index{1}});
  ParallelFor((count + size - 1) / size, [&](Index k) { body(k * size, std::min(count, (k + 1) * size)); });
}

}  // namespace grbm
