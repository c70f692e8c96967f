#include "grbm/train/centring.h"

#include <algorithm>
#include <cmath>

#include "train/average.h"

namespace grbm {

namespace {

// A hundred updates or so are remembered.
constexpr double kShare = 0.01;

// o/σ²
std::vector<double> Scaled(std::span<const float> offsets, std::span<const float> log_var, double floor) {
  std::vector<double> scaled;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    scaled.push_back(double{offsets[i]} / std::max(floor, std::exp(double{log_var[i]})));
  }
  return scaled;
}

// Wᵀx, in an order that no number of threads changes.
std::vector<double> Down(ConstMatrix W, std::span<const double> x, ThreadPool& pool) {
  std::vector<double> sums(static_cast<std::size_t>(W.cols()));
  constexpr Index kLeastUnits = 64;
  pool.ParallelForRanges(W.cols(), kLeastUnits, [&](Index first, Index end) {
    for (Index i = 0; i < W.rows(); ++i) {
      const std::span<const float> row = W.row(i);
      for (auto j = static_cast<std::size_t>(first); j < static_cast<std::size_t>(end); ++j) {
        sums[j] += double{row[j]} * x[static_cast<std::size_t>(i)];
      }
    }
  });
  return sums;
}

double Dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += double{a[k]} * double{b[k]};
  return sum;
}

void ForVisible(const Model& model, ThreadPool& pool, const std::function<void(Index)>& body) {
  constexpr Index kLeastElements = 1 << 14;  // that are worth a thread
  pool.ParallelForRanges(model.visible(), kLeastElements / model.hidden(), [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) body(i);
  });
}

}  // namespace

void MoveOffsets(Offsets& offsets, const Offsets& batch, std::uint64_t updates) {
  if (updates == 0) {
    offsets = batch;
    return;
  }
  const double share = std::max(kShare, 1 / static_cast<double>(updates + 1));
  MoveTo(offsets.visible, batch.visible, share);
  MoveTo(offsets.hidden, batch.hidden, share);
}

void CentreGradient(const Model& model, const Offsets& offsets, Parameters& gradient, ThreadPool& pool) {
  const std::vector<double> scaled = Scaled(offsets.visible, model.log_var(), model.variance_floor());
  ForVisible(model, pool, [&](Index i) {
    const auto at = static_cast<std::size_t>(i);
    const std::span<float> row = gradient.W.row(i);
    if (i < model.gaussian_units()) {
      gradient.log_var[at] += static_cast<float>(scaled[at] * Dot(model.W().row(i), gradient.b));
    }
    const auto o = static_cast<float>(scaled[at]);
    const float g = gradient.mu[at];
    for (std::size_t j = 0; j < row.size(); ++j) row[j] -= g * offsets.hidden[j] + o * gradient.b[j];
  });
}

void UncentreStep(const Model& model, const Offsets& offsets, Parameters& next, ThreadPool& pool) {
  ForVisible(model, pool, [&](Index i) {
    next.mu[static_cast<std::size_t>(i)] +=
        static_cast<float>(Dot(model.W().row(i), offsets.hidden) - Dot(next.W.row(i), offsets.hidden));
  });
  const auto shift = [&](ConstMatrix W, std::span<const float> log_var) {
    return Down(W, Scaled(offsets.visible, log_var, model.variance_floor()), pool);
  };
  const std::vector<double> before = shift(model.W(), model.log_var());
  const std::vector<double> after = shift(next.W, next.log_var);
  for (std::size_t j = 0; j < next.b.size(); ++j) next.b[j] += static_cast<float>(before[j] - after[j]);
}

}  // namespace grbm
