#include "grbm/data/batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "grbm/core/error.h"
#include "grbm/core/random.h"
#include "grbm/data/permutation.h"

namespace grbm {

BatchStream::BatchStream(Index rows, Index batch, std::uint64_t seed, std::span<const double> weights)
    : rows_(static_cast<std::uint64_t>(rows)), batch_(static_cast<std::uint64_t>(batch)), seed_(seed) {
  if (rows < 1 || batch < 1) {
    throw DataError(fmt::format("batches: of {} rows from {}: at least one of each is needed", batch, rows));
  }
  if (std::ranges::adjacent_find(weights, std::not_equal_to<>()) == weights.end()) return;
  GRBM_CHECK(std::ssize(weights) == rows);
  ends_.resize(weights.size());
  std::partial_sum(weights.begin(), weights.end(), ends_.begin());
}

std::uint64_t BatchStream::Epoch(std::uint64_t batch) const {
  std::uint64_t place = 0;
  if (__builtin_mul_overflow(batch, batch_, &place)) {
    throw ConfigError(fmt::format("batches: number {}: there are no more than 2^64 rows", batch));
  }
  return place / rows_;
}

// The row at so many of the marks' distances on the line of weights.
Index BatchStream::RowAt(double marks) const {
  const double mark = marks / static_cast<double>(rows_) * ends_.back();
  // Rounding must not lead beyond the last row that has a weight.
  const auto last = std::ranges::lower_bound(ends_, ends_.back());
  return std::min(std::ranges::upper_bound(ends_, mark), last) - ends_.begin();
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
    const double start = ends_.empty() ? 0 : Stream(seed_, Purpose::kBatchWeights).UniformDouble(epoch, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = order(place + i);
      out[filled++] = ends_.empty() ? static_cast<Index>(at) : RowAt(static_cast<double>(at) + start);
    }
    ++epoch;
    place = 0;
  }
}

}  // namespace grbm
