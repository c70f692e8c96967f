#include "model/state_sums.h"

#include <algorithm>
#include <cmath>

namespace grbm {

using kernels::ConstPanelView;
using kernels::kPanel;
using kernels::PanelView;
using kernels::Rows;

namespace {

// Hidden units per product: as many as share one table, and as leave their sums in the cache.
constexpr Index kOuterUnits = 4096;

std::size_t Padded(Index units) { return ToSize(kernels::PanelCount(units) * kPanel); }

// Calls body(range) for ranges of hidden units that together are all.
template <typename Body>
void ForUnits(Index hidden, const Body& body) {
  for (Index first = 0; first < hidden; first += kOuterUnits) body(Rows{first, std::min(kOuterUnits, hidden - first)});
}

// Calls body(panel) for all panels of x, where it is long enough on several threads.
template <typename Body>
void ForPanels(ConstPanelView x, ThreadPool& pool, const Body& body) {
  constexpr Index kLeastLines = 1 << 11;  // that are worth a thread
  pool.ParallelForRanges(x.panels(), kLeastLines / std::max<Index>(1, x.rows()), [&](Index first, Index end) {
    for (Index panel = first; panel < end; ++panel) body(panel);
  });
}

void CopyPanels(ConstPanelView from, PanelView to, Index first, ThreadPool& pool) {
  ForPanels(from, pool, [&](Index p) { std::copy_n(from.line(p, 0), from.rows() * kPanel, to.line(p, first)); });
}

}  // namespace

StateSums::StateSums(const Model& model, Hidden hidden, Visible visible, Index room)
    : model_(&model),
      hidden_kind_(hidden),
      visible_kind_(visible),
      padded_hidden_(Padded(model.hidden())),
      padded_visible_(Padded(model.visible())),
      vector_(VectorSize(model, visible)),
      room_(room) {
  if (room <= 0) return;
  visible_ = kernels::Panels(room, model.visible());
  if (hidden == Hidden::kProbability) {
    probabilities_ = kernels::Panels(room, model.hidden());
  } else {
    hidden_ = BitMatrix(room, model.hidden());
  }
}

std::size_t StateSums::VectorSize(const Model& model, Visible visible) {
  return (visible == Visible::kMean ? 3 : 1) * Padded(model.hidden()) + 2 * Padded(model.visible());
}

void StateSums::Reset(const Model& model) {
  GRBM_CHECK(Padded(model.hidden()) == padded_hidden_ && Padded(model.visible()) == padded_visible_);
  model_ = &model;
  count_ = 0;
  kept_ = 0;
  has_sum_ = false;
  std::ranges::fill(vector_, 0.0);
}

void StateSums::AddVisible(ConstPanelView v, ThreadPool& pool) {
  count_ += static_cast<double>(v.rows());
  const kernels::PanelRow& mu = model_->packed(pool).mu();
  double* const offsets = offset().data();
  double* const squares = square().data();
  ForPanels(v, pool, [&](Index panel) {
    kernels::AddMoments(v, mu, panel, offsets + panel * kPanel, squares + panel * kPanel);
  });
}

// Whether so many states can be kept, now that others may have been settled.
bool StateSums::MakeRoom(Index rows, ThreadPool& pool) {
  if (in_place()) {
    GRBM_CHECK(kept_ == 0);
    return true;
  }
  if (kept_ + rows > room_) Settle(pool);
  return rows <= room_;
}

void StateSums::Add(ConstPanelView v, ConstBitView h, ThreadPool& pool) {
  if (v.rows() == 0) return;
  AddVisible(v, pool);
  if (MakeRoom(v.rows(), pool)) {
    if (in_place()) {
      visible_there_ = v;
      hidden_there_ = h;
    } else {
      CopyPanels(v, visible_, kept_, pool);
      CopyRows(h, hidden_.view().Rows(kept_, v.rows()));
    }
    kept_ += v.rows();
    return;
  }
  Transpose(h, pool);
  AddToSum([&](Index panel, Rows units,
               kernels::Sums how) { kernels::AccumulateOuter(transposed_, v, panel, units, sum_, how); },
           pool);
}

void StateSums::Add(ConstPanelView v, ConstPanelView p, ThreadPool& pool) {
  if (v.rows() == 0) return;
  AddVisible(v, pool);
  double* const sums = hidden_sum().data();
  ForPanels(p, pool, [&](Index panel) { kernels::AddColumns(p, panel, sums + panel * kPanel); });
  if (MakeRoom(v.rows(), pool)) {
    if (in_place()) {
      visible_there_ = v;
      probabilities_there_ = p;
    } else {
      CopyPanels(v, visible_, kept_, pool);
      CopyPanels(p, probabilities_, kept_, pool);
    }
    kept_ += v.rows();
    return;
  }
  AddToSum([&](Index panel, Rows units,
               kernels::Sums how) { kernels::AccumulateProbabilityOuter(p, v, panel, units, sum_, how); },
           pool);
}

void StateSums::AddMeans(ConstPanelView mean, Noise noise, ConstPanelView p, double inverse_temperature,
                         ThreadPool& pool) {
  Add(mean, p, pool);
  const auto rows = static_cast<double>(mean.rows());
  for (std::size_t i = 0; i < model_->variance().size(); ++i) {
    square()[i] += rows * (noise.relative * double{model_->variance()[i]} + noise.absolute);
  }
  const auto add = [&](double variance, std::span<double> slopes) {
    if (variance == 0) return;
    ForPanels(p, pool, [&](Index panel) {
      float sum[kPanel];
      kernels::SumSlopes(p, panel, sum);
      for (Index k = 0; k < kPanel; ++k)
        slopes[ToSize(panel * kPanel + k)] += variance * inverse_temperature * double{sum[k]};
    });
  };
  add(noise.relative, slope(0));
  add(noise.absolute, slope(1));
}

// Rows and units of h exchanged, and its sums.
void StateSums::Transpose(ConstBitView h, ThreadPool& pool) {
  if (transposed_.rows() != h.units() || transposed_.units() != h.rows()) transposed_ = BitMatrix(h.units(), h.rows());
  const BitView transposed = transposed_;
  const std::span<double> sums = hidden_sum();
  pool.ParallelFor(h.groups(), [&](Index group) { kernels::TransposeBits(h, group, transposed, sums); });
}

// Calls outer(panel, hidden units, how), which adds to sum_ or writes what is there first, until all pairs are covered.
template <typename Outer>
void StateSums::AddToSum(const Outer& outer, ThreadPool& pool) {
  if (sum_.rows() == 0) sum_ = kernels::Panels(model_->hidden(), model_->visible());
  const PanelView sum = sum_;
  const Index ranges = (model_->hidden() + kOuterUnits - 1) / kOuterUnits;
  pool.ParallelFor(sum.panels() * ranges, [&](Index k) {
    const Index panel = k % sum.panels();
    const Index first = k / sum.panels() * kOuterUnits;
    const Rows units{first, std::min(kOuterUnits, model_->hidden() - first)};
    outer(panel, units, has_sum_ ? kernels::Sums::kAdd : kernels::Sums::kReplace);
  });
  has_sum_ = true;
}

void StateSums::Settle(ThreadPool& pool) {
  if (kept_ == 0) return;
  if (hidden_kind_ == Hidden::kState) Transpose(kept_hidden(), pool);
  AddToSum(
      [&](Index panel, Rows units, kernels::Sums how) {
        if (hidden_kind_ == Hidden::kState) {
          kernels::AccumulateOuter(transposed_, kept_visible(), panel, units, sum_, how);
        } else {
          kernels::AccumulateProbabilityOuter(kept_probabilities(), kept_visible(), panel, units, sum_, how);
        }
      },
      pool);
  kept_ = 0;
}

void StateSums::Close(bool all, ThreadPool& pool) {
  if (all) return Settle(pool);
  if (kept_ > 0 && hidden_kind_ == Hidden::kState) Transpose(kept_hidden(), pool);
}

void StateSums::AddOuter(Index panel, PanelView out, kernels::Sums sums) const {
  if (has_sum_ || kept_ == 0) {
    if (sums == kernels::Sums::kReplace) std::fill_n(out.line(panel, 0), out.rows() * kPanel, 0.0f);
    if (has_sum_) AddPanel(sum_, panel, out);
    sums = kernels::Sums::kAdd;
  }
  if (kept_ == 0) return;
  ForUnits(out.rows(), [&](Rows units) {
    if (hidden_kind_ == Hidden::kState) {
      kernels::AccumulateOuter(transposed_, kept_visible(), panel, units, out, sums);
    } else {
      kernels::AccumulateProbabilityOuter(kept_probabilities(), kept_visible(), panel, units, out, sums);
    }
  });
}

ConstPanelView StateSums::OuterPanel(Index panel, PanelView memory) const {
  if (has_sum_ && kept_ == 0) return sum_;
  AddOuter(panel, memory, kernels::Sums::kReplace);
  return memory;
}

}  // namespace grbm
