#include "grbm/evaluate/neighbors.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr Index kReferencesAtOnce = 1024;
constexpr Index kQueriesAtOnce = 48;

double SquaredGap(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
  return sum;
}

// Squared distances, ‖a‖² + ‖b‖² - 2 a·b, of a block of queries to all references, some at a time: calls
// use(query, first reference, distances) on any thread, all calls of one query in order. Rows are moved so that the
// references have mean 0, which keeps the differences from cancelling.
template <typename Use>
void ForDistances(ConstMatrix queries, ConstMatrix references, ThreadPool& pool, const Use& use) {
  std::vector<double> mean(ToSize(references.cols()));
  for (Index r = 0; r < references.rows(); ++r) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += double{references.row(r)[i]} / double(references.rows());
  }
  const auto centred = [&](ConstMatrix rows) {
    Matrix out(rows.rows(), rows.cols());
    for (Index r = 0; r < rows.rows(); ++r) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        out.row(r)[i] = static_cast<float>(double{rows.row(r)[i]} - mean[i]);
      }
    }
    return out;
  };
  const Matrix moved = centred(queries);
  const std::vector<float> scale(mean.size(), -2.0f);
  for (Index first = 0; first < references.rows(); first += kReferencesAtOnce) {
    const Index count = std::min(kReferencesAtOnce, references.rows() - first);
    const Matrix block = centred(references.Rows(first, count));
    Matrix columns(references.cols(), count);
    std::vector<float> norms;
    for (Index r = 0; r < count; ++r) {
      for (Index i = 0; i < references.cols(); ++i) columns(i, r) = block(r, i);
      norms.push_back(static_cast<float>(kernels::SumOfSquares(block.row(r))));
    }
    const kernels::RightFactor factor(columns, norms, scale);
    pool.ParallelFor((queries.rows() + kQueriesAtOnce - 1) / kQueriesAtOnce, [&](Index b) {
      const Index begin = b * kQueriesAtOnce;
      const Index rows = std::min(kQueriesAtOnce, queries.rows() - begin);
      Matrix distances(rows, count);
      factor.Multiply(moved.view().Rows(begin, rows), distances);
      for (Index r = 0; r < rows; ++r) {
        const auto norm = static_cast<float>(kernels::SumOfSquares(moved.row(begin + r)));
        for (float& d : distances.row(r)) d = std::max(0.0f, d + norm);
        use(begin + r, first, std::span<const float>(distances.row(r)));
      }
    });
  }
}

Estimate Share(const std::vector<std::uint8_t>& flags) { return Mean(std::vector<double>(flags.begin(), flags.end())); }

// Radii of balls around each row; a hair wider, so that rounding leaves no copy outside.
std::vector<double> Radii(ConstMatrix rows, Index k, ThreadPool& pool) {
  std::vector<double> radii = NeighborDistances(rows, rows, k, true, pool);
  for (double& r : radii) r *= 1 + 1e-5;
  return radii;
}

// By query: whether it lies within a ball of the references.
std::vector<std::uint8_t> WithinBalls(ConstMatrix queries, ConstMatrix references, const std::vector<double>& radii,
                                      ThreadPool& pool) {
  std::vector<std::uint8_t> within(ToSize(queries.rows()));
  ForDistances(queries, references, pool, [&](Index q, Index first, std::span<const float> distances) {
    for (std::size_t r = 0; r < distances.size(); ++r) {
      const double radius = radii[ToSize(first) + r];
      if (double{distances[r]} <= radius * radius) within[ToSize(q)] = 1;
    }
  });
  return within;
}

// Of distances to the nearest training row and to the nearest held-out row.
Memorisation Compare(std::vector<double> near, std::vector<double> far, Index cols) {
  std::vector<double> nearer;
  const double scale = 1 / std::sqrt(static_cast<double>(cols));
  for (std::size_t s = 0; s < near.size(); ++s) {
    near[s] *= scale;
    far[s] *= scale;
    nearer.push_back(near[s] < far[s] ? 1 : near[s] > far[s] ? 0 : 0.5);
  }
  return {Mean(near), Mean(far), Mean(nearer)};
}

}  // namespace

std::vector<double> NeighborDistances(ConstMatrix queries, ConstMatrix references, Index k, bool skip_same_row,
                                      ThreadPool& pool) {
  if (k < 1 || references.rows() < k + (skip_same_row ? 1 : 0) || queries.cols() != references.cols()) {
    throw DataError(
        fmt::format("neighbours: {} × {} rows among {} × {}: at least {} rows of the same length are needed",
                    queries.rows(), queries.cols(), references.rows(), references.cols(), k + (skip_same_row ? 1 : 0)));
  }
  // By query, the k nearest so far, nearest first.
  struct Candidate {
    float distance;
    Index row;
  };
  std::vector<std::vector<Candidate>> nearest(ToSize(queries.rows()));
  ForDistances(queries, references, pool, [&](Index q, Index first, std::span<const float> distances) {
    std::vector<Candidate>& list = nearest[ToSize(q)];
    for (std::size_t r = 0; r < distances.size(); ++r) {
      const Index row = first + static_cast<Index>(r);
      if (skip_same_row && row == q) continue;
      if (static_cast<Index>(list.size()) == k && distances[r] >= list.back().distance) continue;
      const auto place = std::ranges::upper_bound(list, distances[r], {}, &Candidate::distance);
      list.insert(place, {distances[r], row});
      if (static_cast<Index>(list.size()) > k) list.pop_back();
    }
  });
  std::vector<double> result(ToSize(queries.rows()));
  pool.ParallelFor(queries.rows(), [&](Index q) {
    const Index row = nearest[ToSize(q)].back().row;
    result[ToSize(q)] = std::sqrt(SquaredGap(queries.row(q), references.row(row)));
  });
  return result;
}

Memorisation MeasureMemorisation(ConstMatrix samples, ConstMatrix training, ConstMatrix held_out, ThreadPool& pool) {
  const Index rows = std::min(training.rows(), held_out.rows());
  return Compare(NeighborDistances(samples, training.Rows(0, rows), 1, false, pool),
                 NeighborDistances(samples, held_out.Rows(0, rows), 1, false, pool), samples.cols());
}

Memorisation MemorisationOfTraining(ConstMatrix training, ConstMatrix held_out, Index count, ThreadPool& pool) {
  const Index rows = std::min(training.rows(), held_out.rows());
  const ConstMatrix queries = training.Rows(0, std::min(count, rows));
  // A row that skips itself has one fewer to be near to.
  return Compare(NeighborDistances(queries, training.Rows(0, rows), 1, true, pool),
                 NeighborDistances(queries, held_out.Rows(0, rows - 1), 1, false, pool), training.cols());
}

Coverage MeasureCoverage(ConstMatrix data, ConstMatrix samples, Index k, ThreadPool& pool) {
  const std::vector<double> data_radii = Radii(data, k, pool);
  const std::vector<double> sample_radii = Radii(samples, k, pool);
  std::vector<double> holds = NeighborDistances(data, samples, 1, false, pool);
  for (std::size_t r = 0; r < holds.size(); ++r) holds[r] = holds[r] <= data_radii[r] ? 1 : 0;
  return {Share(WithinBalls(samples, data, data_radii, pool)), Share(WithinBalls(data, samples, sample_radii, pool)),
          Mean(holds)};
}

}  // namespace grbm
