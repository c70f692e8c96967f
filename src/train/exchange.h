// The gradient from pieces that several ranks hold: one exchange of sums, one of what is made of them.
#pragma once

#include <span>
#include <vector>

#include "grbm/core/ranks.h"
#include "model/state_sums.h"
#include "train/batch_split.h"

namespace grbm {

// Factors of the gradient, see GradientOfSums.
struct GradientScale {
  double counted = 1;
  double factor = 1;
};

struct Exchanged {
  std::vector<double> data;  // the vector of the data's sums, of all pieces
  // What each rank said beside its sums, in the order of ranks.
  std::vector<std::vector<double>> reports;
};

// Writes the gradient of all pieces, of which `own` are this rank's, to every rank. Sums are added in the order of the
// pieces, whoever holds them, each panel of visible units by the rank whose it is. `report_sizes`: of the reports of all
// ranks; `report`: this rank's; `kind`: of all sums.
Exchanged ExchangeGradient(Ranks& ranks, const BatchSplit& split, const Model& model, std::span<const PieceSums> own,
                           const GradientScale& scale, std::span<const std::size_t> report_sizes,
                           std::span<const double> report, StateSums::Visible kind, Parameters& gradient,
                           ThreadPool& pool);

// Rows of the whole batch, of which each rank has its own; on every rank.
Matrix GatherBatch(Ranks& ranks, const BatchSplit& split, Matrix own);
BitMatrix GatherBatch(Ranks& ranks, const BatchSplit& split, BitMatrix own);

}  // namespace grbm
