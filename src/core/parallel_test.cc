#include "grbm/core/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/hostile_test.h"

namespace grbm {
namespace {

TEST(ThreadPool, CallsEachIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const Index count : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      for (int round = 0; round < 200; ++round) {
        pool.ParallelFor(count, [&](Index i) { ++calls[static_cast<std::size_t>(i)]; });
      }
      for (const auto& c : calls) ASSERT_EQ(c.load(), 200);
    }
  }
}

TEST(ThreadPool, RangesCoverEachIndexOnce) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const Index count : {0, 1, 7, 100}) {
      for (const Index least : {0, 1, 8, 1000}) {
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
        pool.ParallelForRanges(count, least, [&](Index first, Index end) {
          EXPECT_TRUE(end - first >= least || end == count);
          for (Index i = first; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
        });
        for (const auto& c : calls) ASSERT_EQ(c.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, RethrowsTheLowestIndexAndWorksOn) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    try {
      pool.ParallelFor(50, [](Index i) {
        if (i % 10 == 7) throw DataError(std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "7");
    }
    std::atomic<int> calls = 0;
    pool.ParallelFor(50, [&](Index) { ++calls; });
    EXPECT_EQ(calls.load(), 50);
  }
}

TEST(ThreadPool, ServesSeveralThreadsAtOnce) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  std::vector<std::thread> callers;
  for (int k = 0; k < 4; ++k) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) pool.ParallelFor(10, [&](Index) { ++calls; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls.load(), 4 * 500 * 10);
}

TEST(ThreadPool, MayBeCalledFromABody) {
  ThreadPool pool(3);
  std::atomic<int> calls = 0;
  pool.ParallelFor(10, [&](Index) { pool.ParallelFor(10, [&](Index) { ++calls; }); });
  EXPECT_EQ(calls.load(), 100);
}

// On one processor, with a worker that gets next to none of it because another thread is busy: who calls must not wait
// for a worker that took nothing.
TEST(ThreadPool, DoesNotWaitForWorkersThatTookNothing) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // of this thread, and of those that it starts
  std::atomic<bool> stop = false;
  {
    ThreadPool pool(2);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> idle = false;
    while (!idle.load()) {
      pool.ParallelFor(2, [&](Index) {
        if (std::this_thread::get_id() != caller) {
          const sched_param lowest = {};
          idle = pthread_setschedparam(pthread_self(), SCHED_IDLE, &lowest) == 0;
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      });
    }
    std::thread busy([&] {
      while (!stop.load()) {
      }
    });
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < 1000; ++round) pool.ParallelFor(2, [](Index) {});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    stop = true;
    busy.join();
    EXPECT_LT(taken.count(), 5.0);
  }
  sched_setaffinity(0, sizeof before, &before);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// With little memory there is no room for the stacks of many threads.
[[noreturn]] void StartThreadsWithLittleMemory() {
  LimitMemory(64);
  int refused = 0;
  try {
    ThreadPool pool(64);
  } catch (const ConfigError&) {
    refused = 1;
  }
  ::_exit(refused == 1 ? 0 : 1);
}

TEST(ThreadPool, SaysWhenThreadsCannotBeStarted) {
  EXPECT_EXIT(StartThreadsWithLittleMemory(), ::testing::ExitedWithCode(0), "");
}
#endif

// Whoever wants no more of a computation ends it between two bodies, those of loops within loops among them.
TEST(ThreadPool, IsInterruptedBeforeABody) {
  for (const int threads : {1, 2, 5}) {
    std::atomic<int> left = 1000;
    std::atomic<int> made = 0;
    ThreadPool pool(threads, [&] {
      if (--left < 0) throw NumericError("enough");
    });
    EXPECT_THROW(pool.ParallelFor(100, [&](Index) { pool.ParallelFor(100, [&](Index) { ++made; }); }), NumericError);
    EXPECT_LE(made, 1000);
    left = 2;
    pool.ParallelFor(2, [](Index) {});
  }
}

TEST(ThreadPool, RefusesNonsense) {
  EXPECT_THROW(ThreadPool(-1), ConfigError);
  EXPECT_THROW(ThreadPool(1 << 20), ConfigError);
  EXPECT_GE(ThreadPool(0).threads(), 1);
}

}  // namespace
}  // namespace grbm
