#include "model/packed.h"

#include <algorithm>

namespace grbm {

using kernels::ConstPanelView;
using kernels::PanelView;

namespace {

std::size_t Size(Index value) { return static_cast<std::size_t>(value); }

// Rows of v that stay in the second-level cache while the weights pass by; a multiple of every tile's rows.
constexpr Index kHiddenRows = 96;

}  // namespace

PackedWeights::PackedWeights(const Model& model, ThreadPool& pool)
    : forward_(model.visible(), model.hidden()),
      transposed_(model.hidden(), model.visible()),
      b_(model.b(), kernels::kNever),
      mu_(model.mu()),
      inverse_variance_(model.inverse_variance()) {
  const Index forward_panels = forward_.view().panels();
  pool.ParallelFor(forward_panels + transposed_.view().panels(), [&](Index k) {
    if (k < forward_panels) {
      kernels::Pack(model.W(), k, forward_, model.inverse_variance());
    } else {
      kernels::PackTransposed(model.W(), k - forward_panels, transposed_);
    }
  });
}

void PackRows(ConstMatrix from, PanelView to, ThreadPool& pool) {
  pool.ParallelFor(to.panels(), [&](Index panel) { kernels::Pack(from, panel, to); });
}

void UnpackRows(ConstPanelView from, MutableMatrix to, ThreadPool& pool) {
  pool.ParallelFor(from.panels(), [&](Index panel) { kernels::Unpack(from, panel, to); });
}

void ForTiles(Index cols, Index rows, Index step, ThreadPool& pool,
              const std::function<void(Index, kernels::Rows)>& body) {
  const Index tiles = kernels::GroupCount(cols);
  const Index ranges = (rows + step - 1) / step;
  // Range by range, so that the rows at hand stay in the cache.
  pool.ParallelFor(tiles * ranges, [&](Index k) {
    const Index first = k / tiles * step;
    body(k % tiles, {first, std::min(step, rows - first)});
  });
}

void UpdateHidden(const PackedWeights& weights, ConstPanelView v, const kernels::HiddenResult& result,
                  ThreadPool& pool) {
  ForTiles(weights.forward().cols(), v.rows(), kHiddenRows, pool, [&](Index group, kernels::Rows rows) {
    kernels::Hidden(v, weights.forward(), weights.b(), group, rows, result);
  });
}

void HiddenSums::Prepare(Index rows, Index hidden, kernels::HiddenResult& result) {
  rows_ = rows;
  groups_ = kernels::GroupCount(hidden);
  active_parts_.resize(Size(rows_ * groups_));
  softplus_parts_.resize(Size(rows_ * groups_));
  result.active = active_parts_.data();
  result.softplus = softplus_parts_.data();
  result.stride = rows_;
}

void HiddenSums::Finish() {
  const auto add = [&](std::span<const double> parts, std::vector<double>& sums) {
    sums.assign(Size(rows_), 0.0);
    for (Index g = 0; g < groups_; ++g) {
      for (Index r = 0; r < rows_; ++r) sums[Size(r)] += parts[Size(g * rows_ + r)];
    }
  };
  add(active_parts_, active);
  add(softplus_parts_, softplus);
}

}  // namespace grbm
