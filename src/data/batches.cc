#include "grbm/data/batches.h"

#include <algorithm>

#include "grbm/core/error.h"
#include "grbm/core/random.h"
#include "grbm/data/permutation.h"

namespace grbm {

BatchStream::BatchStream(Index rows, Index batch, std::uint64_t seed)
    : rows_(static_cast<std::uint64_t>(rows)), batch_(static_cast<std::uint64_t>(batch)), seed_(seed) {
  GRBM_CHECK(rows >= 1 && batch >= 1);
}

std::uint64_t BatchStream::Epoch(std::uint64_t batch) const {
  std::uint64_t place = 0;
  GRBM_CHECK(!__builtin_mul_overflow(batch, batch_, &place));
  return place / rows_;
}

void BatchStream::Rows(std::uint64_t batch, std::span<Index> out) const {
  GRBM_CHECK(out.size() == batch_);
  std::uint64_t epoch = Epoch(batch);
  std::uint64_t place = batch * batch_ - epoch * rows_;  // within the epoch
  std::size_t filled = 0;
  while (filled < out.size()) {
    const Permutation order(Stream(seed_, Purpose::kBatches), epoch, rows_);
    const std::uint64_t count = std::min<std::uint64_t>(rows_ - place, out.size() - filled);
    for (std::uint64_t i = 0; i < count; ++i) out[filled++] = static_cast<Index>(order(place + i));
    ++epoch;
    place = 0;
  }
}

}  // namespace grbm
