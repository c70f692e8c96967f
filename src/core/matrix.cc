#include "grbm/core/matrix.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <numeric>

namespace grbm {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::size_t kLargeBlock = 4 * kLargePage;

std::align_val_t Alignment(std::size_t bytes) { return std::align_val_t(bytes >= kLargeBlock ? kLargePage : kLine); }

// Σ term(i) for i below `size`: eight sums side by side, for each addition waits for the one before.
template <typename Term>
double Sum(std::size_t size, const Term& term) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += term(i + k);
  }
  for (; i < size; ++i) sums[0] += term(i);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

}  // namespace

void* AllocateAligned(std::size_t bytes) {
  void* const pointer = ::operator new(bytes, Alignment(bytes));
#ifdef __linux__
  // Advice: where it is not taken, the memory is as good, only slower to walk through.
  if (bytes >= kLargeBlock) madvise(pointer, bytes, MADV_HUGEPAGE);
#endif
  return pointer;
}

void FreeAligned(void* pointer, std::size_t bytes) { ::operator delete(pointer, Alignment(bytes)); }

void CopyRows(ConstMatrix src, MutableMatrix dst) {
  GRBM_CHECK(src.rows() == dst.rows() && src.cols() == dst.cols());
  for (Index r = 0; r < src.rows(); ++r) std::ranges::copy(src.row(r), dst.row(r).begin());
}

void CopyRows(ConstBitView src, BitView dst) {
  GRBM_CHECK(src.rows() == dst.rows() && src.units() == dst.units());
  for (Index g = 0; g < src.groups(); ++g) {
    for (Index r = 0; r < src.rows(); ++r) dst.word(r, g) = src.word(r, g);
  }
}

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  GRBM_CHECK(a.size() == b.size());
  return Sum(a.size(), [&](std::size_t i) {
    const double d = double{a[i]} - double{b[i]};
    return d * d;
  });
}

bool AllFinite(std::span<const float> values) {
  // x - x is 0, or NaN where x is not finite: sixteen sums side by side.
  constexpr std::size_t kSums = 16;
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= values.size(); i += kSums) {
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += values[i + k] - values[i + k];
  }
  for (; i < values.size(); ++i) sums[0] += values[i] - values[i];
  return std::ranges::all_of(sums, [](float sum) { return sum == 0; });
}

}  // namespace grbm
