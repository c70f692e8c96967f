#include "grbm/model/gradient.h"

#include "grbm/core/error.h"
#include "grbm/model/energy.h"
#include "model/state_sums.h"

namespace grbm {

namespace {

void CheckKind(EnergyStatistics::Hidden is, EnergyStatistics::Hidden added) {
  if (is == added) return;
  throw ConfigError(is == EnergyStatistics::Hidden::kState
                        ? "energy statistics: they are of hidden states: add visible and hidden states"
                        : "energy statistics: they are of p(h | v): add visible states alone");
}

}  // namespace

EnergyStatistics::EnergyStatistics(const Model& model, Hidden hidden, Visible visible)
    : hidden_(hidden), visible_(visible), sums_(std::make_unique<StateSums>(model)) {}
EnergyStatistics::~EnergyStatistics() = default;

void EnergyStatistics::Reset(const Model& model, ThreadPool&) { sums_->Reset(model); }
double EnergyStatistics::count() const { return sums_->count(); }

void EnergyStatistics::Add(ConstMatrix v, ConstBitView h, ThreadPool& pool) {
  CheckKind(hidden_, Hidden::kState);
  CheckVisible(sums_->model(), v, "visible states");
  CheckHidden(sums_->model(), h, v.rows(), "hidden states");
  kernels::Panels panels(v.rows(), v.cols());
  PackRows(v, panels, pool);
  sums_->Add(panels, h, pool);
}

void EnergyStatistics::Add(ConstMatrix v, ThreadPool& pool, double temperature) {
  CheckKind(hidden_, Hidden::kProbability);
  CheckVisible(sums_->model(), v, "visible states");
  kernels::Panels panels(v.rows(), v.cols());
  PackRows(v, panels, pool);
  kernels::Panels p(v.rows(), sums_->model().hidden());
  kernels::HiddenResult result;
  result.probabilities = p;
  result.probability_scale = static_cast<float>(1 / temperature);
  UpdateHidden(sums_->model().packed(pool), panels, result, pool);
  sums_->Add(panels, p, pool);
}

Parameters EnergyStatistics::MeanGradient(ThreadPool& pool) const {
  if (count() == 0) throw DataError("energy statistics: the mean over no states was asked for: add some first");
  Parameters gradient(sums_->model().visible(), sums_->model().hidden());
  sums_->Gradient(1 / count(), gradient, pool);
  return gradient;
}

}  // namespace grbm
