#include "model/state_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace grbm {

using kernels::ConstPanelView;
using kernels::kPanel;

namespace {

// Hidden units per product: as many as share one table, and as leave their sums in the cache.
constexpr Index kOuterUnits = 4096;

std::size_t Size(Index value) { return static_cast<std::size_t>(value); }
std::vector<double> Zeros(Index units) { return std::vector<double>(Size(kernels::PanelCount(units) * kPanel)); }

// Calls body(panel of visible units, hidden units) until all pairs are covered.
void ForOuter(Index visible, Index hidden, ThreadPool& pool, const std::function<void(Index, kernels::Rows)>& body) {
  const Index panels = kernels::PanelCount(visible);
  const Index ranges = (hidden + kOuterUnits - 1) / kOuterUnits;
  pool.ParallelFor(panels * ranges, [&](Index k) {
    const Index first = k / panels * kOuterUnits;
    body(k % panels, {first, std::min(kOuterUnits, hidden - first)});
  });
}

// Calls body(first, size) for parts of `size` values that are long enough for a thread.
void ForParts(std::size_t size, ThreadPool& pool, const std::function<void(std::size_t, std::size_t)>& body) {
  constexpr Index kLeast = 1 << 15;
  pool.ParallelForRanges(static_cast<Index>(size), kLeast,
                         [&](Index first, Index end) { body(Size(first), Size(end - first)); });
}

}  // namespace

StateSums::StateSums(const Model& model)
    : model_(&model),
      outer_(model.hidden(), model.visible()),
      hidden_(Zeros(model.hidden())),
      offset_(Zeros(model.visible())),
      square_(Zeros(model.visible())) {}

void StateSums::Reset(const Model& model) {
  GRBM_CHECK(model.hidden() == outer_.rows() && model.visible() == outer_.cols());
  model_ = &model;
  count_ = 0;
  scale_ = 1;
  reset_ = true;
  std::ranges::fill(hidden_, 0.0);
  std::ranges::fill(offset_, 0.0);
  std::ranges::fill(square_, 0.0);
  std::ranges::fill(relative_slope_, 0.0);
  std::ranges::fill(absolute_slope_, 0.0);
}

void StateSums::Settle(ThreadPool& pool) {
  if (!reset_ && scale_ == 1) return;
  ForParts(outer_.values().size(), pool, [&](std::size_t first, std::size_t size) {
    for (float& x : outer_.values().subspan(first, size)) x = (reset_ ? 0 : x) * scale_;
  });
  reset_ = false;
  scale_ = 1;
}

kernels::Sums StateSums::Next(ThreadPool& pool) {
  if (scale_ != 1) Settle(pool);
  return std::exchange(reset_, false) ? kernels::Sums::kReplace : kernels::Sums::kAdd;
}

void StateSums::AddVisible(ConstPanelView v, ThreadPool& pool) {
  count_ += static_cast<double>(v.rows());
  const kernels::PanelRow& mu = model_->packed(pool).mu();
  pool.ParallelFor(v.panels(), [&](Index panel) {
    kernels::AddMoments(v, mu, panel, offset_.data() + panel * kPanel, square_.data() + panel * kPanel);
  });
}

void StateSums::Add(ConstPanelView v, ConstBitView h, ThreadPool& pool) {
  if (v.rows() == 0) return;
  AddVisible(v, pool);
  if (transposed_.rows() != h.units() || transposed_.units() != h.rows()) transposed_ = BitMatrix(h.units(), h.rows());
  const BitView transposed = transposed_;
  pool.ParallelFor(h.groups(), [&](Index group) {
    kernels::TransposeBits(h, group, transposed);
    for (Index j = group * kernels::kGroup; j < std::min(h.units(), (group + 1) * kernels::kGroup); ++j) {
      Index on = 0;
      for (Index block = 0; block < transposed.groups(); ++block) on += std::popcount(transposed.word(j, block));
      hidden_[Size(j)] += static_cast<double>(on);
    }
  });
  const kernels::Sums sums = Next(pool);
  ForOuter(v.cols(), h.units(), pool, [&](Index panel, kernels::Rows units) {
    kernels::AccumulateOuter(transposed, v, panel, units, outer_, sums);
  });
}

void StateSums::Add(ConstPanelView v, ConstPanelView p, ThreadPool& pool) {
  if (v.rows() == 0) return;
  AddVisible(v, pool);
  pool.ParallelFor(p.panels(), [&](Index panel) { kernels::AddColumns(p, panel, hidden_.data() + panel * kPanel); });
  const kernels::Sums sums = Next(pool);
  ForOuter(v.cols(), p.cols(), pool, [&](Index panel, kernels::Rows units) {
    kernels::AccumulateProbabilityOuter(p, v, panel, units, outer_, sums);
  });
}

void StateSums::AddMeans(ConstPanelView mean, Noise noise, ConstPanelView p, double inverse_temperature,
                         ThreadPool& pool) {
  Add(mean, p, pool);
  const auto rows = static_cast<double>(mean.rows());
  for (std::size_t i = 0; i < model_->variance().size(); ++i) {
    square_[i] += rows * (noise.relative * double{model_->variance()[i]} + noise.absolute);
  }
  const auto add = [&](double variance, std::vector<double>& slopes) {
    if (variance == 0) return;
    slopes.resize(hidden_.size());
    pool.ParallelFor(p.panels(), [&](Index panel) {
      float sum[kPanel] = {};
      for (Index r = 0; r < p.rows(); ++r) {
        const float* const line = p.line(panel, r);
        for (Index k = 0; k < kPanel; ++k) sum[k] += line[k] * (1 - line[k]);
      }
      for (Index k = 0; k < kPanel; ++k)
        slopes[Size(panel * kPanel + k)] += variance * inverse_temperature * double{sum[k]};
    });
  };
  add(noise.relative, relative_slope_);
  add(noise.absolute, absolute_slope_);
}

void StateSums::Add(StateSums& other, ThreadPool& pool) {
  const auto add = [](auto&& to, const auto& from) {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus());
  };
  count_ += other.count_;
  if (reset_) Settle(pool);
  other.Settle(pool);
  ForParts(outer_.values().size(), pool, [&](std::size_t first, std::size_t size) {
    kernels::ScaleAndAdd(scale_, other.outer_.values().subspan(first, size), outer_.values().subspan(first, size));
  });
  scale_ = 1;
  add(hidden_, other.hidden_);
  add(offset_, other.offset_);
  add(square_, other.square_);
  const auto add_slopes = [&](std::vector<double>& to, const std::vector<double>& from) {
    if (from.empty()) return;
    to.resize(from.size());
    add(to, from);
  };
  add_slopes(relative_slope_, other.relative_slope_);
  add_slopes(absolute_slope_, other.absolute_slope_);
}

void StateSums::Scale(double factor, ThreadPool& pool) {
  const auto scale = [](auto&& values, auto by) {
    for (auto& x : values) x *= by;
  };
  count_ *= factor;
  Settle(pool);
  scale_ = static_cast<float>(factor);
  scale(hidden_, factor);
  scale(offset_, factor);
  scale(square_, factor);
  scale(relative_slope_, factor);
  scale(absolute_slope_, factor);
}

std::vector<float> StateSums::MeanVisible() const {
  std::vector<float> mean(model_->mu().begin(), model_->mu().end());
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<float>(offset_[i] / count_);
  return mean;
}

std::vector<float> StateSums::MeanHidden() const {
  std::vector<float> mean(Size(model_->hidden()));
  for (std::size_t j = 0; j < mean.size(); ++j) mean[j] = static_cast<float>(hidden_[j] / count_);
  return mean;
}

void StateSums::SettleSlopes(ThreadPool& pool) {
  Settle(pool);
  if (relative_slope_.empty() && absolute_slope_.empty()) return;
  relative_slope_.resize(hidden_.size());
  absolute_slope_.resize(hidden_.size());
  const ConstPanelView weights = model_->packed(pool).transposed();
  const kernels::PanelRow inverse_variance(model_->inverse_variance());
  const kernels::PanelView outer = outer_;
  pool.ParallelFor(outer.panels(), [&](Index panel) {
    for (Index j = 0; j < outer.rows(); ++j) {
      const auto relative = static_cast<float>(relative_slope_[Size(j)]);
      const auto absolute = static_cast<float>(absolute_slope_[Size(j)]);
      for (Index k = 0; k < kPanel; ++k) {
        outer.line(panel, j)[k] += weights.line(panel, j)[k] * (relative + absolute * inverse_variance.panel(panel)[k]);
      }
    }
  });
  std::ranges::fill(relative_slope_, 0.0);
  std::ranges::fill(absolute_slope_, 0.0);
}

void StateSums::Gradient(double factor, Parameters& gradient, ThreadPool& pool) {
  SettleSlopes(pool);
  const ConstPanelView outer = outer_;
  const ConstPanelView weights = model_->packed(pool).transposed();
  pool.ParallelFor(outer.panels(), [&](Index panel) {
    double interaction[kPanel] = {};  // Σ v_i Σ_j W_ij h_j
    kernels::AddProducts(weights, outer, panel, interaction);
    float weights_scale[kPanel] = {};
    for (Index i = panel * kPanel; i < std::min(outer.cols(), (panel + 1) * kPanel); ++i) {
      const std::size_t at = Size(i);
      const double scale = factor / std::exp(double{model_->log_var()[at]});
      weights_scale[i % kPanel] = -static_cast<float>(scale);
      gradient.mu[at] = static_cast<float>(-offset_[at] * scale);
      gradient.log_var[at] = static_cast<float>((interaction[i % kPanel] - 0.5 * square_[at]) * scale);
    }
    kernels::UnpackTransposed(outer, panel, weights_scale, gradient.W);
  });
  for (std::size_t j = 0; j < gradient.b.size(); ++j) {
    gradient.b[j] = static_cast<float>(-factor * hidden_[j]);
  }
}

}  // namespace grbm
