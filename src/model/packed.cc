#include "model/packed.h"

#include <algorithm>

namespace grbm {

using kernels::ConstPanelView;
using kernels::PanelView;

namespace {

constexpr Index kLeastRows = 96;  // that are worth a range of their own

}  // namespace

void PackedWeights::Pack(const Model& model, ThreadPool& pool) {
  b_ = kernels::PanelRow(model.b(), kernels::kNever);
  mu_ = kernels::PanelRow(model.mu());
  inverse_variance_ = kernels::PanelRow(model.inverse_variance());
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

void ForTiles(Index cols, Index rows, ThreadPool& pool, const std::function<void(Index, kernels::Rows)>& body) {
  const Index tiles = kernels::GroupCount(cols);
  // All rows at once, for what is loaded or built for a tile serves them all; fewer where threads would be idle.
  const Index wanted = pool.threads() == 1 ? 1 : (2 * pool.threads() + tiles - 1) / tiles;
  const Index step = std::max(kLeastRows, (rows + wanted - 1) / wanted);
  const Index ranges = (rows + step - 1) / step;
  pool.ParallelFor(tiles * ranges, [&](Index k) {
    const Index first = k % ranges * step;
    body(k / ranges, {first, std::min(step, rows - first)});
  });
}

void UpdateHidden(const PackedWeights& weights, ConstPanelView v, kernels::Rows rows,
                  const kernels::HiddenResult& result, ThreadPool& pool) {
  ForTiles(weights.forward().cols(), rows.count, pool, [&](Index group, kernels::Rows part) {
    kernels::Hidden(v, weights.forward(), weights.b(), group, {rows.first + part.first, part.count}, result);
  });
}

void HiddenSums::Prepare(Index rows, Index hidden, kernels::HiddenResult& result) {
  rows_ = rows;
  groups_ = kernels::GroupCount(hidden);
  active_parts_.resize(ToSize(rows_ * groups_));
  softplus_parts_.resize(ToSize(rows_ * groups_));
  result.active = active_parts_.data();
  result.softplus = softplus_parts_.data();
  result.stride = rows_;
}

void HiddenSums::Finish() {
  const auto add = [&](std::span<const double> parts, std::vector<double>& sums) {
    sums.assign(ToSize(rows_), 0.0);
    for (Index g = 0; g < groups_; ++g) {
      for (Index r = 0; r < rows_; ++r) sums[ToSize(r)] += parts[ToSize(g * rows_ + r)];
    }
  };
  add(active_parts_, active);
  add(softplus_parts_, softplus);
}

}  // namespace grbm
