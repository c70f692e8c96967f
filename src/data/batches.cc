#include "grbm/data/batches.h"

#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/error.h"
#include "grbm/core/random.h"
#include "grbm/data/permutation.h"

namespace grbm {

BatchStream::BatchStream(Index rows, Index batch, std::uint64_t seed)
    : rows_(static_cast<std::uint64_t>(rows)), batch_(static_cast<std::uint64_t>(batch)), seed_(seed) {
  if (rows < 1 || batch < 1) {
    throw DataError(fmt::format("batches: of {} rows from {}: at least one of each is needed", batch, rows));
  }
}

std::uint64_t BatchStream::Epoch(std::uint64_t batch) const {
  std::uint64_t place = 0;
  if (__builtin_mul_overflow(batch, batch_, &place)) {
    throw ConfigError(fmt::format("batches: number {}: there are no more than 2^64 rows", batch));
  }
  return place / rows_;
}

void BatchStream::Rows(std::uint64_t batch, std::span<Index> out) const {
  if (out.size() != batch_) {
    throw DataError(fmt::format("batches: room for {} rows was given: a batch has {}", out.size(), batch_));
  }
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
