#include "grbm/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr double kAdamEpsilon = 1e-8;

// The rows of W, then b, μ and log σ²: each a row of its own, for a thread to work on.
Index RowCount(const Parameters& p) { return p.W.rows() + 3; }

// Calls body(row) for all of them.
void ForRows(const Parameters& p, ThreadPool& pool, const std::function<void(Index)>& body) {
  constexpr Index kLeastElements = 1 << 14;  // that are worth a thread
  pool.ParallelForRanges(RowCount(p), kLeastElements / std::max<Index>(1, p.W.cols()), [&](Index first, Index end) {
    for (Index row = first; row < end; ++row) body(row);
  });
}

template <typename P>
auto Row(P& p, Index k) -> std::span<std::remove_reference_t<decltype(p.b[0])>> {
  if (k < p.W.rows()) return p.W.row(k);
  return k == p.W.rows() ? p.b : k == p.W.rows() + 1 ? p.mu : p.log_var;
}

}  // namespace

double Norm(const Parameters& gradient, ThreadPool& pool) {
  std::vector<double> squares(static_cast<std::size_t>(RowCount(gradient)));
  ForRows(gradient, pool,
          [&](Index k) { squares[static_cast<std::size_t>(k)] = kernels::SumOfSquares(Row(gradient, k)); });
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

Optimizer::Optimizer(const TrainOptions& options, Index visible, Index hidden, std::vector<float> unit_scale)
    : options_(options), unit_scale_(std::move(unit_scale)) {
  const int count = options.optimizer == OptimizerKind::kAdam ? 2 : options.momentum > 0 ? 1 : 0;
  for (int i = 0; i < count; ++i) moments_.emplace_back(visible, hidden);
}

double Optimizer::Step(const Parameters& parameters, double learning_rate, Parameters& gradient, ThreadPool& pool) {
  const double norm = Norm(gradient, pool);
  if (!std::isfinite(norm)) return norm;
  const double scale = options_.clip_norm > 0 && norm > options_.clip_norm ? options_.clip_norm / norm : 1.0;
  ++steps_;
  const double decay = learning_rate * options_.weight_decay;
  const double beta1 = options_.momentum;
  const double beta2 = options_.adam_beta2;
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(steps_));

  ForRows(parameters, pool, [&](Index row) {
    const std::span<const float> theta = Row(parameters, row);
    const std::span<float> g = Row(gradient, row);
    const bool scaled = row < parameters.W.rows() && !unit_scale_.empty();
    const double rate = scaled ? learning_rate * double{unit_scale_[static_cast<std::size_t>(row)]} : learning_rate;
    const double row_decay = row < parameters.W.rows() ? decay : 0;
    if (options_.optimizer == OptimizerKind::kAdam) {
      kernels::StepAdam({scale, beta1, beta2, correction1, correction2, rate, row_decay, kAdamEpsilon}, theta,
                        Row(moments_[0], row), Row(moments_[1], row), g);
    } else {
      const std::span<float> moment = moments_.empty() ? std::span<float>() : Row(moments_[0], row);
      kernels::StepSgd({scale, beta1, rate, row_decay}, theta, moment, g);
    }
  });
  return norm;
}

}  // namespace grbm
