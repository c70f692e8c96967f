// A model's weights as the kernels read them, and the products of whole batches on a pool.
#pragma once

#include <functional>

#include "grbm/core/parallel.h"
#include "grbm/model/model.h"
#include "kernels/kernels.h"

namespace grbm {

class PackedWeights {
 public:
  PackedWeights(Index visible, Index hidden) : forward_(visible, hidden), transposed_(hidden, visible) {}
  // From a model of that size.
  void Pack(const Model& model, ThreadPool& pool);

  kernels::ConstPanelView forward() const { return forward_; }        // W/σ²: visible × hidden
  kernels::ConstPanelView transposed() const { return transposed_; }  // Wᵀ: hidden × visible; 0 of condition units
  const kernels::PanelRow& b() const { return b_; }
  const kernels::PanelRow& mu() const { return mu_; }
  const kernels::PanelRow& inverse_variance() const { return inverse_variance_; }

 private:
  kernels::Panels forward_;
  kernels::Panels transposed_;
  kernels::PanelRow b_;
  kernels::PanelRow mu_;
  kernels::PanelRow inverse_variance_;
};

// Rows into panels and back.
void PackRows(ConstMatrix from, kernels::PanelView to, ThreadPool& pool);
void UnpackRows(kernels::ConstPanelView from, MutableMatrix to, ThreadPool& pool);

// Calls body(tile, rows) for every tile of 64 columns and ranges of rows that together cover all `rows`, on the pool.
void ForTiles(Index cols, Index rows, ThreadPool& pool, const std::function<void(Index, kernels::Rows)>& body);

// x = b + Wᵀ(v/σ²) of some rows, and what `result` wants of it.                                         [math.md (4)]
void UpdateHidden(const PackedWeights& weights, kernels::ConstPanelView v, kernels::Rows rows,
                  const kernels::HiddenResult& result, ThreadPool& pool);

// Σ h x (zero without bits) and Σ log(1 + exp x) of every row.
struct HiddenSums {
  std::vector<double> active;
  std::vector<double> softplus;

  // Lets `result` write what Finish then adds up.
  void Prepare(Index rows, Index hidden, kernels::HiddenResult& result);
  void Finish();

 private:
  Index rows_ = 0;
  Index groups_ = 0;
  std::vector<double> active_parts_;
  std::vector<double> softplus_parts_;
};

}  // namespace grbm
