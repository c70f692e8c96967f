// Chains in the engine: where their states come from, and where they go.
#include "sampler/engine.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "sampler/table.h"

namespace grbm {

using kernels::Panels;
using kernels::Rows;

namespace {

void FitPanels(Panels& panels, Index rows, Index cols) {
  if (panels.rows() != rows || panels.cols() != cols) panels = Panels(rows, cols);
}

}  // namespace

Engine::Engine(ThreadPool& pool) : pool_(pool) {}
Engine::~Engine() = default;

void Engine::Set(const Model& model, const SamplerOptions& options, Law law) {
  model_ = &model;
  options_ = options;
  law_ = law;
  transition_ = FindSampler(options.method).make(model, options);
  has_move_ = false;
}

void Engine::Keep(Extras extras) {
  extras_ = extras;
  extras_.probabilities = extras.probabilities || marginal();
  FitPanels(mean_, extras.means ? count() : 0, model_->visible());
  if (extras.logits) FitPanels(logits_, count(), model_->hidden());
  Fit(now_);
  if (transition_->acceptance() != Transition::Acceptance::kNone) {
    FitPanels(proposed_.visible, count(), model_->visible());
    if (proposed_.hidden.rows() != count() || proposed_.hidden.units() != model_->hidden()) {
      proposed_.hidden = BitMatrix(count(), model_->hidden());
    }
    Fit(proposed_);
    visible_sums_.resize(ToSize(kernels::GroupCount(model_->visible()) * count()));
  }
  accepted_.assign(ToSize(count()), 1);
}

void Engine::Fit(States& states) const {
  FitPanels(states.probabilities, extras_.probabilities ? count() : 0, model_->hidden());
  FitPanels(states.product, count(), model_->visible());
}

void Engine::Resize(std::uint32_t first, Index count) {
  first_ = first;
  FitPanels(now_.visible, count, model_->visible());
  if (now_.hidden.rows() != count || now_.hidden.units() != model_->hidden()) {
    now_.hidden = BitMatrix(count, model_->hidden());
  }
}

void Engine::Load(ConstMatrix visible, ConstBitView hidden) {
  LoadVisible(visible);
  LoadHidden(hidden);
}

void Engine::LoadVisible(ConstMatrix visible) { PackRows(visible, now_.visible, pool_); }

void Engine::LoadHidden(ConstBitView hidden) { CopyRows(hidden, now_.hidden); }

void Engine::LoadNoisy(ConstMatrix visible, double variance, const Stream& stream, std::uint64_t step) {
  DrawNoise(stream, step, all());
  const auto deviation = static_cast<float>(std::sqrt(variance));
  const kernels::PanelView to = now_.visible;
  pool_.ParallelFor(to.panels(), [&](Index panel) {
    const Index width = std::min(kernels::kPanel, to.cols() - panel * kernels::kPanel);
    const Index noisy = std::clamp<Index>(model_->gaussian_units() - panel * kernels::kPanel, 0, width);
    for (Index r = 0; r < to.rows(); ++r) {
      const float* const in = visible.row(r).data() + panel * kernels::kPanel;
      float* const line = to.line(panel, r);
      for (Index c = 0; c < noisy; ++c) line[c] = in[c] + deviation * line[c];
      for (Index c = noisy; c < width; ++c) line[c] = in[c];
    }
  });
}

void Engine::PutBack(ConstMatrix known) {
  const kernels::PanelView to = now_.visible;
  pool_.ParallelFor(to.panels(), [&](Index panel) {
    for (Index r = 0; r < to.rows(); ++r) {
      for (Index i = panel * kernels::kPanel; i < std::min(to.cols(), (panel + 1) * kernels::kPanel); ++i) {
        if (!std::isnan(known(r, i))) to(r, i) = known(r, i);
      }
    }
  });
}

void Engine::CopyVisible(const Engine& from, Index first) {
  const kernels::PanelView to = now_.visible;
  for (Index p = 0; p < to.panels(); ++p) {
    std::copy_n(from.now_.visible.view().line(p, first), to.rows() * kernels::kPanel, to.line(p, 0));
  }
}

void Engine::CopyConditions(const Engine& from, Index first) {
  const kernels::PanelView to = now_.visible;
  for (Index i = model_->visible() - model_->condition_units(); i < model_->visible(); ++i) {
    for (Index r = 0; r < to.rows(); ++r) to(r, i) = from.now_.visible.view()(first + r, i);
  }
}

void Engine::Store(MutableMatrix visible, BitView hidden) const {
  StoreVisible(visible);
  CopyRows(now_.hidden, hidden);
}

void Engine::StoreVisible(MutableMatrix visible) const { UnpackRows(now_.visible, visible, pool_); }

void Engine::DrawNoise(const Stream& stream, std::uint64_t step, Rows rows) {
  ForTiles(now_.visible.cols(), rows.count, pool_, [&](Index tile, Rows part) {
    kernels::DrawNormalTile({stream, step, first_}, tile, {rows.first + part.first, part.count}, now_.visible);
  });
}

void Engine::DrawHidden(const Stream& stream, std::uint64_t step, double temperature, Rows rows) {
  kernels::HiddenResult result;
  result.draw = {now_.hidden, {stream, step, first_}, static_cast<float>(1 / temperature)};
  if (extras_.probabilities && rows.count == count()) {
    result.probabilities = now_.probabilities;
    result.probability_scale = static_cast<float>(1 / law_.hidden_temperature());
  }
  if (extras_.logits) result.logits = logits_;
  UpdateHidden(model_->packed(pool_), now_.visible, rows, result, pool_);
}

void Engine::DrawFar(std::uint64_t seed, std::uint64_t step, double share, Rows rows) {
  const Stream starts(seed, Purpose::kFarStart);
  const Stream bits(seed, Purpose::kFarHidden);
  std::vector<Index> far;
  std::vector<double> rates;
  for (Index r = rows.first; r < rows.first + rows.count; ++r) {
    const double u = starts.UniformDouble(step, first_ + static_cast<std::uint32_t>(r));
    if (u >= share) continue;
    far.push_back(r);
    rates.push_back(u / share);
  }
  if (far.empty()) return;
  BitMatrix h(std::ssize(far), model_->hidden());
  pool_.ParallelFor(h.rows(), [&](Index k) {
    const std::uint32_t chain = first_ + static_cast<std::uint32_t>(far[ToSize(k)]);
    for (Index j = 0; j < h.units(); ++j) h.view().Set(k, j, bits.BitUniform(step, chain, j) < rates[ToSize(k)]);
  });
  const Matrix mean = VisibleMean(*model_, h, pool_);
  for (Index k = 0; k < h.rows(); ++k) {
    for (Index i = 0; i < model_->gaussian_units(); ++i) {
      float& v = now_.visible.view()(far[ToSize(k)], i);
      v = mean(k, i) + std::sqrt(model_->variance()[ToSize(i)]) * v;
    }
  }
}

void Engine::DrawUniformLabels(const Stream& stream, std::uint64_t step, Rows rows) {
  if (model_->label_units() == 0) return;
  for (Index r = rows.first; r < rows.first + rows.count; ++r) {
    PutLabel(r, UniformLabel(*model_, stream.UniformDouble(step, first_ + static_cast<std::uint32_t>(r))));
  }
}

void Engine::PutLabel(Index row, Index label) {
  const kernels::PanelView v = now_.visible;
  for (Index k = 0; k < model_->label_units(); ++k) v(row, model_->gaussian_units() + k) = k == label ? 1.0f : 0.0f;
}

BasicMatrix<double> Engine::LabelLogs() const {
  const auto temperature = static_cast<float>(law_.hidden_temperature());
  std::optional<Model> tempered;
  if (temperature != 1) tempered.emplace(model_->Tempered(temperature));
  const Model& model = tempered ? *tempered : *model_;
  BasicMatrix<double> logs(count(), model.label_units());
  pool_.ParallelFor(count(), [&](Index r) {
    Index unit = model.gaussian_units();
    while (unit + 1 < model.visible() && now_.visible.view()(r, unit) == 0) ++unit;
    const float inverse_variance = model_->inverse_variance()[ToSize(unit)];
    const std::span<const float> weights = model_->W().row(unit);
    std::vector<float> without(weights.size());
    for (Index j = 0; j < model.hidden(); ++j) {
      without[ToSize(j)] = (logits_.view()(r, j) - weights[ToSize(j)] * inverse_variance) / temperature;
    }
    ClassEnergies(model, without, logs.row(r));
    for (double& l : logs.row(r)) l *= double{temperature} / law_.temperature;
    NormalizeLogs(logs.row(r));
  });
  return logs;
}

void Engine::UpdateLogits() {
  FitPanels(logits_, count(), model_->hidden());
  kernels::HiddenResult result;
  result.logits = logits_;
  UpdateHidden(model_->packed(pool_), now_.visible, all(), result, pool_);
}

void Engine::UpdateProbabilities() {
  kernels::HiddenResult result;
  result.probabilities = now_.probabilities;
  result.probability_scale = static_cast<float>(1 / law_.hidden_temperature());
  UpdateHidden(model_->packed(pool_), now_.visible, all(), result, pool_);
}

Matrix Engine::MeanVisible() const {
  if (!extras_.probabilities) return VisibleMean(*model_, now_.hidden, pool_);
  Matrix probabilities(count(), model_->hidden());
  UnpackRows(now_.probabilities, probabilities, pool_);
  return VisibleMean(*model_, probabilities, pool_);
}

void Engine::AddTo(StateSums& sums, Rows rows) const {
  if (sums.visible() == StateSums::Visible::kState) return AddStatesTo(sums, rows);
  sums.AddMeans(mean_.view().Rows(rows.first, rows.count), {.relative = variance_share_},
                now_.probabilities.view().Rows(rows.first, rows.count), 1 / law_.hidden_temperature(), pool_);
}

void Engine::AddStatesTo(StateSums& sums, Rows rows) const {
  const kernels::ConstPanelView v = now_.visible.view().Rows(rows.first, rows.count);
  if (sums.hidden() == StateSums::Hidden::kProbability) {
    sums.Add(v, now_.probabilities.view().Rows(rows.first, rows.count), pool_);
  } else {
    sums.Add(v, now_.hidden.view().Rows(rows.first, rows.count), pool_);
  }
}

void Engine::AddExpectedTo(StateSums& sums, Rows rows, ConstMatrix mean, double variance) {
  const kernels::PanelView means = mean_.view().Rows(rows.first, rows.count);
  PackRows(mean.Rows(rows.first, rows.count), means, pool_);
  sums.AddMeans(means, {.absolute = variance}, now_.probabilities.view().Rows(rows.first, rows.count),
                1 / law_.hidden_temperature(), pool_);
}

}  // namespace grbm
