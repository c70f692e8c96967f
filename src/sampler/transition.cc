#include "sampler/transition.h"

#include "kernels/kernels.h"

namespace grbm {

RowEnergies JointEnergies(const Model& model, std::span<const float> visible, std::span<const float> logits,
                          ConstBitView hidden, Index row) {
  const double quadratic = 0.5 * kernels::SumScaledSquares(visible, model.mu(), model.inverse_variance());
  const double active = kernels::SumWhereSet(logits, hidden, row);
  return {quadratic - active, active - kernels::SumSoftplus(logits)};
}

RowEnergies MarginalEnergies(const Model& model, std::span<const float> visible, std::span<const float> logits) {
  const double quadratic = 0.5 * kernels::SumScaledSquares(visible, model.mu(), model.inverse_variance());
  return {quadratic - kernels::SumSoftplus(logits), 0};
}

double LogProposalRatio(const Model& model, const Move& move, const RowState& from, const RowState& to) {
  double sum = 0;
  for (std::size_t i = 0; i < from.visible.size(); ++i) {
    const double mu = model.mu()[i];
    const double keep = move.keep[i];
    const double noise = move.noise[i];
    const double mean_from = mu + double{from.product[i]};
    const double mean_to = mu + double{to.product[i]};
    const double v_from = from.visible[i];
    const double v_to = to.visible[i];
    const double forward = v_to - mean_from - keep * (v_from - mean_from);
    const double reverse = v_from - mean_to - keep * (v_to - mean_to);
    sum += (forward - reverse) * (forward + reverse) / (2 * noise * noise);
  }
  return sum;
}

}  // namespace grbm
