#include "train/batch_split.h"

#include <algorithm>

namespace grbm {

namespace {

// Of models with fewer weights, a thread runs pieces of at most kSmallPiece chains.
constexpr Index kSmallModel = 1 << 15;
constexpr Index kSmallPiece = 50;
// Of others, pieces are of kPiece chains, but four at least, unless that leaves less than kLeastPiece for each.
constexpr Index kPiece = 128;
constexpr Index kFewPieces = 4;
constexpr Index kLeastPiece = 16;
// Numbers in the sums of all pieces, beyond which there are no more than a few.
constexpr Index kMostSums = Index{1} << 28;
// Bytes of states that are kept.
constexpr Index kKept = Index{1} << 25;

Index CountPieces(Index weights, Index rows) {
  if (weights < kSmallModel) return (rows + kSmallPiece - 1) / kSmallPiece;
  const Index wanted = std::min(std::max(kFewPieces, rows / kPiece), std::max(kFewPieces, kMostSums / weights));
  return std::clamp<Index>(rows / kLeastPiece, 1, wanted);
}

}  // namespace

BatchSplit::BatchSplit(Index visible, Index hidden, Index rows, int ranks)
    : visible_(visible),
      hidden_(hidden),
      rows_(rows),
      ranks_(ranks),
      panels_(kernels::PanelCount(visible)),
      small_(visible * hidden < kSmallModel),
      pieces_(CountPieces(visible * hidden, rows)) {}

kernels::Rows BatchSplit::RowsOfRank(int rank) const {
  const kernels::Rows pieces = PiecesOfRank(rank);
  return Between(pieces.first, pieces.count, pieces_, rows_);
}

Index BatchSplit::Room(Index piece, bool probabilities, std::int64_t steps) const {
  const Index state = 4 * visible_ + (probabilities ? 4 * hidden_ : hidden_ / 8);
  const Index at_once = std::clamp<Index>(kKept / (state * rows_), 1, steps);
  // One step at a time is added from where it is; but the only one waits for the gradient where that adds it up.
  const bool waits = steps == 1 && !probabilities && !small_;
  return at_once == 1 && !waits ? 0 : at_once * RowsOfPiece(piece).count;
}

}  // namespace grbm
