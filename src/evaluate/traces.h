// Scalars of running chains, one per chain and step.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "grbm/evaluate/estimate.h"
#include "grbm/sampler/sampler.h"
#include "kernels/kernels.h"

namespace grbm {

// Where chains begin that are to show whether they forget it: even rows are rows of data, odd ones noise.
inline Matrix NoiseAndData(const Model& model, ConstMatrix data, Index chains, std::uint64_t seed, ThreadPool& pool) {
  Matrix start = NoiseChains(model, chains, seed, pool).visible;
  for (Index r = 0; r < chains; r += 2) {
    CopyRows(data.Rows(r * (data.rows() - 1) / chains, 1), start.view().Rows(r, 1));
  }
  return start;
}

// Keeps the marginal energy and the share of hidden units that are on, of every state after the burn-in.
class Traces : public Observer {
 public:
  Traces(const Model& model, Index chains, std::int64_t steps, std::int64_t burn_in, std::string part = {},
         EvaluationProgress progress = {})
      : model_(model),
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
    for (Index r = 0; r < state.visible.rows(); ++r) {
      energy_(r, t) = 0.5 * kernels::SumScaledSquares(state.visible.row(r), model_.mu(), model_.inverse_variance()) -
                      kernels::SumSoftplus(state.logits.row(r));
      activity_(r, t) = Activity(state, r);
    }
  }

  const BasicMatrix<double>& energy() const { return energy_; }      // chains × steps after the burn-in
  const BasicMatrix<double>& activity() const { return activity_; }  // the same

 private:
  static double Activity(const ChainState& state, Index r) {
    double sum = 0;
    for (Index j = 0; j < state.logits.cols(); ++j) {
      if (state.hidden.rows() > 0) {
        sum += state.hidden.Get(r, j) ? 1 : 0;
      } else {
        sum += 1 / (1 + std::exp(-double{state.logits(r, j)}));
      }
    }
    return sum / static_cast<double>(state.logits.cols());
  }

  const Model& model_;
  std::int64_t steps_;
  std::int64_t burn_in_;
  std::string part_;
  EvaluationProgress progress_;
  BasicMatrix<double> energy_;
  BasicMatrix<double> activity_;
};

}  // namespace grbm
