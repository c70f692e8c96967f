#include "grbm/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>

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

TEST(ThreadPool, RefusesNonsense) {
  EXPECT_THROW(ThreadPool(-1), ConfigError);
  EXPECT_THROW(ThreadPool(1 << 20), ConfigError);
  EXPECT_GE(ThreadPool(0).threads(), 1);
}

}  // namespace
}  // namespace grbm
