// The random words behind all draws, with nothing made of them.
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "philox_bench.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <numeric>

#include "kernels/random-inl.h"
#include "philox_bench.h"

HWY_BEFORE_NAMESPACE();
namespace grbm::kernels::HWY_NAMESPACE {

std::uint32_t PhiloxWordSum(const DrawPlace& draw, Index chains, Index tiles) {
  const VectorStream stream(draw.stream, draw.step);
  VU sum = hn::Zero(U32());
  for (Index chain = 0; chain < chains; ++chain) {
    for (Index tile = 0; tile < tiles; ++tile) {
      VU words[kVectors][4];
      stream.Words<kVectors>(U32(), static_cast<std::uint32_t>(chain), static_cast<std::uint32_t>(tile) * 16, words);
      for (const auto& part : words) {
        for (const VU& word : part) sum = hn::Add(sum, word);
      }
    }
  }
  // Not SumOfLanes: that of AVX-512 adds signed numbers, and may overflow.
  alignas(64) std::uint32_t lanes[hn::MaxLanes(U32())];
  hn::Store(sum, U32(), lanes);
  return std::accumulate(std::begin(lanes), std::end(lanes), std::uint32_t{0});
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grbm::kernels {
HWY_EXPORT(PhiloxWordSum);
}

namespace grbm::bench {
std::uint32_t PhiloxWordSum(const DrawPlace& draw, Index chains, Index tiles) {
  using namespace kernels;  // NOLINT(google-build-using-namespace): where the dispatch table is
  return HWY_DYNAMIC_DISPATCH(PhiloxWordSum)(draw, chains, tiles);
}
}  // namespace grbm::bench
#endif
