#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peak.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace grbm::app::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent chains of multiply-adds, more than the units can hold at once. Returns the operations done.
double MultiplyAdds(std::int64_t rounds, float* sink) {
  const hn::ScalableTag<float> f;
  constexpr int kChains = 12;
  hn::Vec<decltype(f)> sums[kChains];
  for (int k = 0; k < kChains; ++k) sums[k] = hn::Set(f, sink[k]);
  const auto factor = hn::Set(f, sink[kChains]);
  const auto term = hn::Set(f, sink[kChains + 1]);
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (int k = 0; k < kChains; ++k) sums[k] = hn::MulAdd(sums[k], factor, term);
  }
  for (int k = 0; k < kChains; ++k) sink[k] = hn::GetLane(sums[k]);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(f)) * static_cast<double>(rounds);
}

}  // namespace grbm::app::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <blis.h>
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "peak.h"

namespace grbm::app {

HWY_EXPORT(MultiplyAdds);

namespace {

constexpr int kTrials = 7;

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Cycles per second: additions that each wait for the last one.
double ClockHz() {
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::uint64_t x = static_cast<std::uint64_t>(trial);
    constexpr std::int64_t kRounds = 5000000;
    const double start = Seconds();
    for (std::int64_t i = 0; i < kRounds; ++i) {
      for (int k = 0; k < 8; ++k) {
        x += 3;
        asm volatile("" : "+r"(x));  // one addition at a time
      }
    }
    best = std::max(best, 8.0 * kRounds / (Seconds() - start));
  }
  return best;
}

// The best rate, per second, at which all threads together do what `work` returns the amount of.
template <typename Work>
double BestRate(ThreadPool& pool, const Work& work) {
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    double done = 0;
    std::mutex mutex;
    const double start = Seconds();
    pool.ParallelFor(pool.threads(), [&](Index thread) {
      const double amount = work(thread);
      const std::lock_guard lock(mutex);
      done += amount;
    });
    best = std::max(best, done / (Seconds() - start));
  }
  return best;
}

}  // namespace

MachinePeak MeasurePeak(ThreadPool& pool) {
  MachinePeak peak;
  const double clock = ClockHz();
  const auto multiply_adds = [](Index) {
    float sink[14];
    std::fill_n(sink, 14, 0.5f);
    return HWY_DYNAMIC_DISPATCH(MultiplyAdds)(20000000, sink);
  };
  const double rate = BestRate(pool, multiply_adds);
  peak.clock_ghz = clock * 1e-9;
  peak.flops_per_cycle = rate / clock / pool.threads();
  peak.gflops = rate * 1e-9;
  return peak;
}

double MeasureSgemm(ThreadPool& pool) {
  struct Shape {
    int rows, inner, cols;
  };
  double best = 0;
  for (const Shape& s : {Shape{512, 784, 4096}, Shape{512, 4096, 784}, Shape{1024, 2048, 2048}}) {
    const auto size = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
    const AlignedVector<float> left(size(s.rows, s.inner), 0.5f);
    const AlignedVector<float> right(size(s.inner, s.cols), 0.25f);
    AlignedVector<float> out(size(s.rows, s.cols));
    const int threads = pool.threads();
    const double rate = BestRate(pool, [&](Index thread) {
      const int first = s.rows * static_cast<int>(thread) / threads;
      const int count = s.rows * static_cast<int>(thread + 1) / threads - first;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, s.cols, s.inner, 1.0f,
                  left.data() + size(first, s.inner), s.inner, right.data(), s.cols, 0.0f,
                  out.data() + size(first, s.cols), s.cols);
      return 2.0 * count * s.cols * s.inner;
    });
    best = std::max(best, rate);
  }
  return best * 1e-9;
}

std::string BlasName() { return std::string("BLIS ") + bli_info_get_version_str(); }

}  // namespace grbm::app
#endif
