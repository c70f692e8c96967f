// Chains on the path of laws from independent Gaussians to the model.
#include <cmath>

#include "sampler/engine.h"

namespace grbm {

using kernels::PanelRow;
using kernels::Panels;
using kernels::Rows;

void Engine::SetBase(UnitGaussians base) {
  GRBM_CHECK(std::ssize(base.mean) == model_->gaussian_units());
  base_ = base;
  anchor_ = Panels(count(), model_->visible());
  for (Index i = 0; i < model_->gaussian_units(); ++i) {
    for (Index r = 0; r < count(); ++r) anchor_.view()(r, i) = base.mean[ToSize(i)];
  }
}

// The mean of v given h, σ_β² ((1 - β) a/s² + β m/σ²) with m = μ + W h, is m + keep (a - m): a move as any other is, but that
// it keeps to the base's mean a, and not to where the chain is.
void Engine::DrawVisibleAt(double beta, const Stream& stream, const Stream& labels, std::uint64_t number) {
  PanelRow keep(model_->visible());
  PanelRow noise(model_->visible());
  for (std::size_t i = 0; i < base_.mean.size(); ++i) {
    const double base_part = (1 - beta) * double{base_.inverse_variance[i]};
    const double precision = base_part + beta * double{model_->inverse_variance()[i]};
    keep.data()[i] = static_cast<float>(base_part / precision);
    noise.data()[i] = static_cast<float>(std::sqrt(1 / precision));
  }
  ForVisible([&](Index tile, Rows rows) {
    UpdateProduct(now_, tile, rows);
    kernels::MoveVisible({stream, number, first_}, {model_->packed(pool_).mu(), keep, noise}, anchor_, now_.product,
                         tile, rows, now_.visible);
  });
  if (model_->label_units() > 0) DrawLabels({labels, number, first_}, 1 / beta);
}

std::vector<double> Engine::DrawHiddenAt(double from, double to, const Stream& stream, std::uint64_t number) {
  UpdateLogits();
  const auto softplus = [&](double beta, bool draw) {
    kernels::HiddenResult result;
    if (draw) result.draw = {now_.hidden, {stream, number, first_}};
    now_.sums.Prepare(count(), model_->hidden(), result);
    ForTiles(model_->hidden(), count(), pool_, [&](Index group, Rows rows) {
      kernels::FromLogits(logits_, static_cast<float>(beta), group, rows, result);
    });
    now_.sums.Finish();
    return now_.sums.softplus;
  };
  std::vector<double> log_ratios = softplus(to, true);
  const std::vector<double> softplus_from = softplus(from, false);
  pool_.ParallelFor(count(), [&](Index r) {
    double square = 0;
    for (Index i = 0; i < model_->visible(); ++i) {
      const double v = now_.visible.view()(r, i);
      const double in_model = v - double{model_->mu()[ToSize(i)]};
      square += in_model * in_model * double{model_->inverse_variance()[ToSize(i)]};
      if (i >= model_->gaussian_units()) continue;  // a class is in the model alone
      const double in_base = v - double{base_.mean[ToSize(i)]};
      square -= in_base * in_base * double{base_.inverse_variance[ToSize(i)]};
    }
    log_ratios[ToSize(r)] = log_ratios[ToSize(r)] - softplus_from[ToSize(r)] - (to - from) * square / 2;
  });
  return log_ratios;
}

}  // namespace grbm
