// Steps of the engine's chains.
#include <algorithm>
#include <cmath>

#include "grbm/model/labels.h"
#include "sampler/engine.h"

namespace grbm {

using kernels::PanelCount;
using kernels::PanelRow;
using kernels::Panels;
using kernels::Rows;

namespace {

void CopyLines(const Panels& from, Index tile, Index row, Panels& to) {
  for (Index p = 0; p < kernels::GroupPanels(from.cols(), tile); ++p) {
    const Index panel = tile * kernels::kGroupPanels + p;
    std::copy_n(from.view().line(panel, row), kernels::kPanel, to.view().line(panel, row));
  }
}

}  // namespace

Engine::StepPlace Engine::PlaceOf(const RunPlace& place, std::int64_t step) const {
  const auto draw = [&](Purpose purpose) {
    return DrawPlace{Stream(place.seed, purpose), place.first_step + static_cast<std::uint64_t>(step), first_};
  };
  return {step >= options_.adjust_after, step + 1 >= options_.adjust_after,
          draw(Purpose::kVisible),       draw(Purpose::kHidden),
          draw(Purpose::kAccept),        draw(Purpose::kLabel)};
}

void Engine::SetMove(const Move& move) {
  keep_ = PanelRow(move.keep);
  noise_ = PanelRow(move.noise);
  const double deviation = double{move.noise.front()};
  variance_share_ = deviation * deviation / double{model_->variance().front()};
  has_move_ = true;
  if (transition_->acceptance() == Transition::Acceptance::kNone) return;
  inverse_noise_.assign(ToSize(PanelCount(static_cast<Index>(move.noise.size())) * kernels::kPanel), 0.0);
  for (std::size_t i = 0; i < ToSize(model_->gaussian_units()); ++i) {
    inverse_noise_[i] = 0.5 / (double{move.noise[i]} * double{move.noise[i]});
  }
}

// p(h | v) or h ~ p(h | v), and what else is wanted of v's logits.
void Engine::UpdateHiddenOf(const StepPlace& s, States& states, bool draw) {
  kernels::HiddenResult result;
  if (states.probabilities.rows() > 0) result.probabilities = states.probabilities;
  result.probability_scale = static_cast<float>(1 / law_.hidden_temperature());
  if (draw) {
    result.draw = {states.hidden, s.hidden, static_cast<float>(1 / transition_->hidden_temperature())};
  } else if (!marginal()) {
    result.states = states.hidden;
  }
  const bool sums = keeps_all() && s.sums;
  if (sums) states.sums.Prepare(count(), model_->hidden(), result);
  UpdateHidden(model_->packed(pool_), states.visible, all(), result, pool_);
  if (sums) states.sums.Finish();
}

// W h, or W p(h|v), of one tile.
void Engine::UpdateProduct(States& states, Index tile, Rows rows) const {
  const PackedWeights& weights = model_->packed(pool_);
  if (marginal()) {
    kernels::ProbabilityProduct(states.probabilities, weights.transposed(), tile, rows, states.product);
  } else {
    kernels::HiddenProduct(states.hidden, weights.transposed(), tile, rows, states.product);
  }
}

// m + keep (v - m), the mean of a move, of one tile.
void Engine::MeanOfMove(Index tile, Rows rows) {
  const PanelRow& mus = model_->packed(pool_).mu();
  for (Index p = 0; p < kernels::GroupPanels(mean_.cols(), tile); ++p) {
    const Index panel = tile * kernels::kGroupPanels + p;
    const float* const mu = mus.panel(panel);
    const float* const kept = keep_.panel(panel);
    for (Index r = rows.first; r < rows.first + rows.count; ++r) {
      const float* const product = now_.product.view().line(panel, r);
      const float* const v = now_.visible.view().line(panel, r);
      float* const out = mean_.view().line(panel, r);
      for (Index k = 0; k < kernels::kPanel; ++k) {
        const float m = mu[k] + product[k];
        out[k] = m + kept[k] * (v[k] - m);
      }
    }
  }
}

// v' = m + keep (v - m) + noise ξ, of one tile.
void Engine::MoveVisible(const StepPlace& s, States& to, Index tile, Rows rows) const {
  // Label units stay where they are, for they have a draw of their own, and so do conditions, which are given.
  std::vector<float> still;
  const auto for_still = [&](const auto& body) {
    const Index end = std::min(model_->visible(), (tile + 1) * kernels::kGroup);
    for (Index i = std::max(model_->gaussian_units(), tile * kernels::kGroup); i < end; ++i) {
      for (Index r = rows.first; r < rows.first + rows.count; ++r) body(r, i);
    }
  };
  for_still([&](Index r, Index i) { still.push_back(now_.visible.view()(r, i)); });
  kernels::MoveVisible(s.visible, {model_->packed(pool_).mu(), keep_, noise_}, now_.visible, now_.product, tile, rows,
                       to.visible);
  auto next = still.begin();
  for_still([&](Index r, Index i) { to.visible.view()(r, i) = *next++; });
}

// Labels given h, of which the product is that of the present state or, where there is no h, given v.
//                                                                                                [math.md (71), (72)]
void Engine::DrawLabels(const DrawPlace& place, double temperature) {
  const Index first = model_->gaussian_units();
  const Index classes = model_->label_units();
  if (marginal()) {
    for (Index r = 0; r < count(); ++r) PutLabel(r, -1);
    UpdateLogits();
  }
  pool_.ParallelFor(count(), [&](Index r) {
    std::vector<double> logs(ToSize(classes));
    if (marginal()) {
      std::vector<float> x(ToSize(model_->hidden()));
      for (std::size_t j = 0; j < x.size(); ++j) x[j] = logits_.view()(r, static_cast<Index>(j));
      ClassEnergies(*model_, x, logs);
    } else {
      for (Index k = 0; k < classes; ++k) {
        const std::size_t unit = ToSize(first + k);
        logs[ToSize(k)] = (double{model_->mu()[unit]} + double{now_.product.view()(r, first + k)}) *
                          double{model_->inverse_variance()[unit]};
      }
    }
    for (double& l : logs) l /= temperature;
    NormalizeLogs(logs);
    const std::uint32_t chain = place.first_chain + static_cast<std::uint32_t>(r);
    PutLabel(r, PickLabel(logs, place.stream.UniformDouble(place.step, chain)));
  });
}

void Engine::SumVisible(const Panels& product_to, Index tile, Rows rows) {
  const PackedWeights& weights = model_->packed(pool_);
  kernels::VisibleSums* const sums = visible_sums_.data() + tile * count();
  std::fill_n(sums + rows.first, rows.count, kernels::VisibleSums());
  kernels::AddVisibleSums({now_.visible, now_.product, proposed_.visible, product_to},
                          {weights.mu(), keep_, weights.inverse_variance(), inverse_noise_}, tile, rows, sums);
}

void Engine::Decide(const StepPlace& s) {
  for (Index r = 0; r < count(); ++r) {
    kernels::VisibleSums sum;
    for (Index tile = 0; tile < kernels::GroupCount(now_.visible.cols()); ++tile) {
      const kernels::VisibleSums& part = visible_sums_[ToSize(tile * count() + r)];
      sum.from += part.from;
      sum.to += part.to;
      sum.proposal += part.proposal;
      sum.conditional += part.conditional;
    }
    const auto state = [&](const States& states, double quadratic) {
      if (!keeps_all()) return StepSums::State{quadratic, 0, 0};
      return StepSums::State{quadratic, states.sums.active[ToSize(r)], states.sums.softplus[ToSize(r)]};
    };
    const double log_ratio =
        transition_->LogAcceptance({state(now_, sum.from), state(proposed_, sum.to), sum.proposal, sum.conditional});
    const double u = s.accept.stream.UniformDouble(s.accept.step, s.accept.first_chain + static_cast<std::uint32_t>(r));
    accepted_[ToSize(r)] = std::log(u) < log_ratio ? 1 : 0;
  }
}

// Calls body(row) for the rows that stay where they are.
template <typename Body>
void Engine::ForRejected(Rows rows, const Body& body) const {
  for (Index r = rows.first; r < rows.first + rows.count; ++r) {
    if (accepted_[ToSize(r)] == 0) body(r);
  }
}

// The proposed states become the present ones, with those of the rejected rows put back.
void Engine::TakeProposed() {
  ForVisible([&](Index tile, Rows rows) {
    ForRejected(rows, [&](Index r) {
      CopyLines(now_.visible, tile, r, proposed_.visible);
      CopyLines(now_.product, tile, r, proposed_.product);
    });
  });
  pool_.ParallelFor(now_.hidden.view().groups(), [&](Index group) {
    ForRejected(all(), [&](Index r) {
      proposed_.hidden.view().word(r, group) = now_.hidden.view().word(r, group);
      if (now_.probabilities.rows() > 0) CopyLines(now_.probabilities, group, r, proposed_.probabilities);
    });
  });
  ForRejected(all(), [&](Index r) {
    proposed_.sums.active[ToSize(r)] = now_.sums.active[ToSize(r)];
    proposed_.sums.softplus[ToSize(r)] = now_.sums.softplus[ToSize(r)];
  });
  std::swap(now_, proposed_);
}

// Nothing is rejected.
void Engine::StepFreely(const StepPlace& s) {
  ForVisible([&](Index tile, Rows rows) {
    UpdateProduct(now_, tile, rows);
    if (extras_.means) MeanOfMove(tile, rows);
    MoveVisible(s, now_, tile, rows);
  });
  if (draws_labels()) DrawLabels(s.label, options_.temperature);
  // What is expected of a label goes with p(h | v, y) of that label: the label itself is added, and so are conditions.
  for (Index i = model_->gaussian_units(); mean_.rows() > 0 && i < model_->visible(); ++i) {
    for (Index r = 0; r < count(); ++r) mean_.view()(r, i) = now_.visible.view()(r, i);
  }
  UpdateHiddenOf(s, now_, !marginal());
}

// v alone is accepted or rejected, before h is drawn.
void Engine::StepVisible(const StepPlace& s) {
  ForVisible([&](Index tile, Rows rows) {
    UpdateProduct(now_, tile, rows);
    MoveVisible(s, proposed_, tile, rows);
    if (s.adjust) SumVisible(now_.product, tile, rows);
  });
  if (s.adjust) {
    Decide(s);
    ForVisible([&](Index tile, Rows rows) {
      ForRejected(rows, [&](Index r) { CopyLines(now_.visible, tile, r, proposed_.visible); });
    });
  }
  std::swap(now_.visible, proposed_.visible);
  if (draws_labels()) DrawLabels(s.label, options_.temperature);
  UpdateHiddenOf(s, now_, true);
}

// The whole step is accepted or rejected.
void Engine::StepWhole(const StepPlace& s) {
  ForVisible([&](Index tile, Rows rows) { MoveVisible(s, proposed_, tile, rows); });
  UpdateHiddenOf(s, proposed_, !marginal());
  ForVisible([&](Index tile, Rows rows) {
    UpdateProduct(proposed_, tile, rows);
    if (s.adjust) SumVisible(proposed_.product, tile, rows);
  });
  if (s.adjust) {
    Decide(s);
    TakeProposed();
  } else {
    std::swap(now_, proposed_);
  }
  if (!draws_labels()) return;
  // A move of its own, with h (or p(h | v)) as accepted above; what is kept of the state follows.
  DrawLabels(s.label, options_.temperature);
  UpdateHiddenOf(s, now_, false);
  if (marginal()) ForVisible([&](Index tile, Rows rows) { UpdateProduct(now_, tile, rows); });
}

void Engine::Begin(const RunPlace& place) {
  const StepPlace s = PlaceOf(place, 0);
  if (marginal() || keeps_all()) UpdateHiddenOf(s, now_, false);
  if (keeps_all()) ForVisible([&](Index tile, Rows rows) { UpdateProduct(now_, tile, rows); });
}

void Engine::Step(const RunPlace& place, std::int64_t step) {
  if (!has_move_ || transition_->moves_differ()) SetMove(transition_->MoveAt(step));
  const StepPlace s = PlaceOf(place, step);
  switch (transition_->acceptance()) {
    case Transition::Acceptance::kNone:
      return StepFreely(s);
    case Transition::Acceptance::kVisible:
      return StepVisible(s);
    case Transition::Acceptance::kStep:
      return StepWhole(s);
  }
}

void Engine::MoveFreely(const Stream& stream, std::uint64_t number, std::int64_t step) {
  if (!has_move_ || transition_->moves_differ()) SetMove(transition_->MoveAt(step));
  StepPlace s = PlaceOf({}, 0);
  s.visible = {stream, number, first_};
  ForVisible([&](Index tile, Rows rows) {
    UpdateProduct(now_, tile, rows);
    MoveVisible(s, now_, tile, rows);
  });
}

// Langevin leaves a hidden state behind, too: drawn once, from p(h | v).
void Engine::End(const RunPlace& place) {
  if (marginal()) UpdateHiddenOf(PlaceOf(place, options_.steps - 1), now_, true);
}

}  // namespace grbm
