// Scalars of running chains, one per chain and step.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "grbm/evaluate/estimate.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "grbm/sampler/sampler.h"

namespace grbm {

// Where chains begin that are to show whether they forget it: even rows are rows of data, of their likeliest classes, odd
// ones noise. data: rows × Gaussian units.
inline Matrix NoiseAndData(const Model& model, ConstMatrix data, Index chains, std::uint64_t seed, ThreadPool& pool) {
  Matrix start = NoiseChains(model, chains, seed, pool).visible;
  for (Index r = 0; r < chains; r += 2) {
    const ConstMatrix row = data.Rows(r * (data.rows() - 1) / chains, 1);
    std::ranges::copy(row.row(0), start.row(r).begin());
    if (model.label_units() == 0) continue;
    const BasicMatrix<double> logs = LabelLogProbabilities(model, row, pool);
    SetLabel(model, start.row(r), std::ranges::max_element(logs.row(0)) - logs.row(0).begin());
  }
  return start;
}

// Keeps the marginal energy and the share of hidden units that are on, of every state after the burn-in.
class Traces : public Observer {
 public:
  Traces(const Model& model, ThreadPool& pool, Index chains, std::int64_t steps, std::int64_t burn_in,
         std::string part = {}, EvaluationProgress progress = {})
      : model_(model),
        pool_(pool),
        steps_(steps),
        burn_in_(burn_in),
        part_(std::move(part)),
        progress_(std::move(progress)),
        energy_(chains, steps - burn_in),
        activity_(chains, steps - burn_in) {}

  void OnStep(const ChainState& state) override {
    if (progress_) progress_(part_, state.step, steps_);
    if (state.step <= burn_in_) return;
    const Index t = state.step - burn_in_ - 1;
    const std::vector<double> energies = MarginalEnergies(model_, state.visible, pool_);
    // Langevin has no hidden state: its share is that of the probabilities.
    const Matrix p = state.hidden.rows() > 0 ? Matrix() : HiddenProbabilities(model_, state.visible, pool_);
    for (Index r = 0; r < state.visible.rows(); ++r) {
      energy_(r, t) = energies[static_cast<std::size_t>(r)];
      double on = 0;
      for (Index g = 0; g < state.hidden.groups(); ++g) on += std::popcount(state.hidden.word(r, g));
      if (p.rows() > 0) on = std::accumulate(p.row(r).begin(), p.row(r).end(), 0.0);
      activity_(r, t) = on / static_cast<double>(model_.hidden());
    }
  }

  const BasicMatrix<double>& energy() const { return energy_; }      // chains × steps after the burn-in
  const BasicMatrix<double>& activity() const { return activity_; }  // the same

 private:
  const Model& model_;
  ThreadPool& pool_;
  std::int64_t steps_;
  std::int64_t burn_in_;
  std::string part_;
  EvaluationProgress progress_;
  BasicMatrix<double> energy_;
  BasicMatrix<double> activity_;
};

}  // namespace grbm
