#include "grbm/model/gradient.h"

#include <algorithm>
#include <cmath>

#include "grbm/model/energy.h"
#include "kernels/kernels.h"

namespace grbm {

namespace {

// Visible units are shared out in tiles of this many, so that each sum has one owner and one order.
constexpr Index kTile = 208;

std::size_t Size(Index value) { return static_cast<std::size_t>(value); }

void ForTiles(Index units, ThreadPool& pool, const std::function<void(Index, Index)>& body) {
  pool.ParallelFor((units + kTile - 1) / kTile,
                   [&](Index tile) { body(tile * kTile, std::min(units, (tile + 1) * kTile)); });
}

ConstMatrix Columns(ConstMatrix m, Index first, Index last) {
  return {m.data() + first, m.rows(), last - first, m.stride()};
}

}  // namespace

EnergyStatistics::EnergyStatistics(const Model& model)
    : model_(&model),
      outer_(model.visible(), model.hidden()),
      hidden_(Size(model.hidden())),
      offset_(Size(model.visible())),
      square_(Size(model.visible())) {}

void EnergyStatistics::Reset(const Model& model) {
  GRBM_CHECK(model.visible() == outer_.rows() && model.hidden() == outer_.cols());
  model_ = &model;
  count_ = 0;
  std::ranges::fill(outer_.values(), 0.0f);
  std::ranges::fill(hidden_, 0.0);
  std::ranges::fill(offset_, 0.0);
  std::ranges::fill(square_, 0.0);
}

void EnergyStatistics::AddVisible(ConstMatrix v, ThreadPool& pool) {
  count_ += static_cast<double>(v.rows());
  ForTiles(v.cols(), pool, [&](Index first, Index last) {
    for (Index r = 0; r < v.rows(); ++r) {
      for (Index i = first; i < last; ++i) {
        const double d = double{v(r, i)} - double{model_->mu()[Size(i)]};
        offset_[Size(i)] += d;
        square_[Size(i)] += d * d;
      }
    }
  });
}

void EnergyStatistics::Add(ConstMatrix v, ConstBitView h, ThreadPool& pool) {
  CheckVisible(*model_, v, "visible states");
  CheckHidden(*model_, h, v.rows(), "hidden states");
  AddVisible(v, pool);
  ForTiles(v.cols(), pool, [&](Index first, Index last) {
    kernels::AccumulateOuter(Columns(v, first, last), h, outer_.view().Rows(first, last - first));
  });
  ForTiles(h.units(), pool, [&](Index first, Index last) {
    for (Index j = first; j < last; ++j) {
      for (Index r = 0; r < h.rows(); ++r) hidden_[Size(j)] += h.Get(r, j) ? 1 : 0;
    }
  });
}

void EnergyStatistics::AddMarginal(ConstMatrix v, ConstMatrix logits, ThreadPool& pool) {
  CheckVisible(*model_, v, "visible states");
  GRBM_CHECK(logits.rows() == v.rows() && logits.cols() == model_->hidden());
  AddVisible(v, pool);
  ForTiles(v.cols(), pool, [&](Index first, Index last) {
    kernels::AccumulateProbabilityOuter(Columns(v, first, last), logits, outer_.view().Rows(first, last - first));
  });
  ForTiles(logits.cols(), pool, [&](Index first, Index last) {
    std::vector<float> p(Size(last - first));
    for (Index r = 0; r < logits.rows(); ++r) {
      kernels::Sigmoid(Columns(logits, first, last).row(r), p);
      for (Index j = first; j < last; ++j) hidden_[Size(j)] += double{p[Size(j - first)]};
    }
  });
}

Parameters EnergyStatistics::MeanGradient() const {
  GRBM_CHECK(count_ > 0);
  Parameters gradient(outer_.rows(), outer_.cols());
  for (Index i = 0; i < outer_.rows(); ++i) {
    const std::size_t at = Size(i);
    const double scale = 1 / (count_ * std::exp(double{model_->log_var()[at]}));
    double interaction = 0;  // Σ v_i Σ_j W_ij h_j
    for (Index j = 0; j < outer_.cols(); ++j) {
      const double vh = outer_(i, j);
      gradient.W(i, j) = static_cast<float>(-vh * scale);
      interaction += double{model_->W()(i, j)} * vh;
    }
    gradient.mu[at] = static_cast<float>(-offset_[at] * scale);
    gradient.log_var[at] = static_cast<float>((interaction - 0.5 * square_[at]) * scale);
  }
  for (std::size_t j = 0; j < hidden_.size(); ++j) {
    gradient.b[j] = static_cast<float>(-hidden_[j] / count_);
  }
  return gradient;
}

}  // namespace grbm
