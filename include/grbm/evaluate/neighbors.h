// What nearest neighbours tell about samples: whether they are copies, and how much of the data they cover.
#pragma once

#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/evaluate/estimate.h"

namespace grbm {

// Euclidean distance from each row of `queries` to its k-th nearest row of `references`, k ≥ 1. With `skip_same_row`,
// row r of both is the same thing and does not count. Candidates come from products in float; the distance of the one
// chosen is computed anew, in double. Memory: one block of distances per thread.
std::vector<double> NeighborDistances(ConstMatrix queries, ConstMatrix references, Index k, bool skip_same_row,
                                      ThreadPool& pool);

// Distances from samples to the nearest training row and to the nearest of as many held-out rows: a model that copies is
// nearer to its training rows. Distances are root mean squares over the values of a row.
struct Memorisation {
  Estimate to_training;
  Estimate to_held_out;
  Estimate nearer_to_training;  // share of the samples; 1/2 where nothing is copied and both sets are of one law
};
// Takes as many rows of the larger set, from the first on, as the smaller one has. All have two rows at least.
Memorisation MeasureMemorisation(ConstMatrix samples, ConstMatrix training, ConstMatrix held_out, ThreadPool& pool);
// The same of the first `count` training rows, or as many as there are, each against all others: what rows score that are
// of the training rows' law and no copies.
Memorisation MemorisationOfTraining(ConstMatrix training, ConstMatrix held_out, Index count, ThreadPool& pool);

// Manifolds of balls that reach from each row to its k-th nearest of the same set (Kynkäänniemi et al. 2019; coverage:
// Naeem et al. 2020).                                                                                  [math.md (44)]
struct Coverage {
  Estimate precision;  // share of samples within a ball of the data
  Estimate recall;     // share of data within a ball of the samples
  Estimate coverage;   // share of the balls of the data that hold a sample
};
// data, samples: features, more than k rows each.
Coverage MeasureCoverage(ConstMatrix data, ConstMatrix samples, Index k, ThreadPool& pool);

}  // namespace grbm
