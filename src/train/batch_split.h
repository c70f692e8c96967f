// How a batch is split: into pieces, whose sums are made on their own and added in order, and these among ranks. The pieces
// depend on the model and the batch alone, so that neither threads nor ranks leave a trace.
#pragma once

#include "grbm/core/matrix.h"
#include "kernels/kernels.h"

namespace grbm {

class BatchSplit {
 public:
  BatchSplit(Index visible, Index hidden, Index rows, int ranks);

  // Whether a step of the model is too short to be shared by threads: then a thread runs a piece's chains on its own.
  bool small() const { return small_; }
  Index rows() const { return rows_; }
  Index pieces() const { return pieces_; }
  // Rows of the batch.
  kernels::Rows RowsOfPiece(Index piece) const { return Between(piece, 1, pieces_, rows_); }
  kernels::Rows RowsOfRank(int rank) const;
  kernels::Rows PiecesOfRank(int rank) const { return Between(rank, 1, ranks_, pieces_); }
  // Panels of visible units, of which a rank makes the gradient.
  kernels::Rows PanelsOfRank(int rank) const { return Between(rank, 1, ranks_, panels_); }
  // How many states of a piece are kept before their product is added: see StateSums.
  Index Room(Index piece, bool probabilities, std::int64_t steps) const;

  bool operator==(const BatchSplit&) const = default;

 private:
  // Parts part ... part + count - 1 of `parts` that `all` are divided into.
  static kernels::Rows Between(Index part, Index count, Index parts, Index all) {
    const Index first = part * all / parts;
    return {first, (part + count) * all / parts - first};
  }

  Index visible_;
  Index hidden_;
  Index rows_;
  Index ranks_;
  Index panels_;
  bool small_;
  Index pieces_;
};

}  // namespace grbm
