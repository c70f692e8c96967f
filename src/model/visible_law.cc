#include "grbm/model/visible_law.h"

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/labels.h"

namespace grbm {

double FreeEnergy(const VisibleLaw& law, std::span<const double> v) {
  const Model& model = law.model;
  if (model.label_units() == 0) return MarginalEnergy(model, v) / law.temperature;
  std::vector<double> logs;
  for (Index k = 0; k < model.label_units(); ++k) {
    std::vector<double> state(v.begin(), v.end());
    state.resize(ToSize(model.visible()));
    state[ToSize(model.gaussian_units() + k)] = 1;
    logs.push_back(-MarginalEnergy(model, state) / law.temperature);
  }
  return -NormalizeLogs(logs);
}

std::vector<double> FreeEnergies(const VisibleLaw& law, ConstMatrix values, ThreadPool& pool) {
  const Model& model = law.model;
  if (model.label_units() == 0) {
    std::vector<double> energies = MarginalEnergies(model, values, pool);
    for (double& energy : energies) energy /= law.temperature;
    return energies;
  }
  const Matrix x = HiddenLogits(model, WithRoomForLabels(model, values), pool);
  const double shared = LabelConstant(model);
  std::vector<double> energies(ToSize(values.rows()));
  pool.ParallelFor(values.rows(), [&](Index r) {
    double quadratic = 0;
    for (std::size_t i = 0; i < ToSize(values.cols()); ++i) {
      const double d = double{values.row(r)[i]} - double{model.mu()[i]};
      quadratic += d * d * double{model.inverse_variance()[i]};
    }
    std::vector<double> logs(ToSize(model.label_units()));
    ClassEnergies(model, x.row(r), logs);
    for (double& l : logs) l /= law.temperature;
    energies[ToSize(r)] = (0.5 * quadratic + shared) / law.temperature - NormalizeLogs(logs);
  });
  return energies;
}

BasicMatrix<double> ClassesOf(const VisibleLaw& law, ConstMatrix values, ThreadPool& pool) {
  if (law.model.label_units() == 0) return {};
  return LabelLogProbabilities(law.model, values, pool, law.temperature);
}

Matrix ExpectedHidden(const Model& model, const BasicMatrix<double>& classes, ConstMatrix values, ThreadPool& pool,
                      double hidden_temperature) {
  if (model.label_units() == 0) return HiddenProbabilities(model, values, pool, hidden_temperature);
  Matrix mean(values.rows(), model.hidden());
  ForClasses(model, classes, values, pool, hidden_temperature, [&](Index r, double share, std::span<const float> p) {
    for (std::size_t j = 0; j < p.size(); ++j) mean.row(r)[j] += static_cast<float>(share) * p[j];
  });
  return mean;
}

void ForClasses(const Model& model, const BasicMatrix<double>& classes, ConstMatrix values, ThreadPool& pool,
                double hidden_temperature,
                const std::function<void(Index row, double share, std::span<const float> p)>& use) {
  if (model.label_units() == 0) {
    const Matrix p = HiddenProbabilities(model, values, pool, hidden_temperature);
    for (Index r = 0; r < p.rows(); ++r) use(r, 1, p.row(r));
    return;
  }
  Matrix states = WithRoomForLabels(model, values);
  for (Index k = 0; k < classes.cols(); ++k) {
    for (Index r = 0; r < states.rows(); ++r) SetLabel(model, states.row(r), k);
    const Matrix p = HiddenProbabilities(model, states, pool, hidden_temperature);
    for (Index r = 0; r < states.rows(); ++r) use(r, std::exp(classes(r, k)), p.row(r));
  }
}

}  // namespace grbm
