// Which rows each batch of training takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

// An endless stream of epochs, each a fresh random order of all rows, cut into full batches. Batch t holds the places
// t·batch ... t·batch + batch - 1 of the stream; place p is row order(p mod rows) of epoch p / rows. So each row is used
// equally often, a batch can span two epochs (or more, where it is larger than the data), and any batch can be had
// without those before it: a resumed run needs no state but its step.
//
// With weights an epoch has as many places, and its order is one of marks at equal distances on the line of all weights, the
// first at a random place before the second: so row i is used n wᵢ/Σw times, to within one, and as often in the mean.
// A row of weight 0 is never used. Weights that are all the same leave no trace.                          [math.md (67)]
class BatchStream {
 public:
  // rows ≥ 1, batch ≥ 1; weights: one per row, with a sum above 0, or none.
  BatchStream(Index rows, Index batch, std::uint64_t seed, std::span<const double> weights = {});

  Index rows() const { return static_cast<Index>(rows_); }
  Index batch() const { return static_cast<Index>(batch_); }
  // The epoch in which a batch begins.
  std::uint64_t Epoch(std::uint64_t batch) const;
  // out: batch() elements.
  void Rows(std::uint64_t batch, std::span<Index> out) const;

 private:
  Index RowAt(double marks) const;

  std::uint64_t rows_;
  std::uint64_t batch_;
  std::uint64_t seed_;
  std::vector<double> ends_;  // of the rows on the line of weights; none where all are the same
};

}  // namespace grbm
