#include "grbm/model/labels.h"

#include <algorithm>
#include <cmath>

#include "grbm/model/energy.h"
#include "kernels/kernels.h"

namespace grbm {

void SetLabel(const Model& model, std::span<float> v, Index label) {
  const std::span<float> units = v.last(ToSize(model.label_units()));
  std::ranges::fill(units, 0.0f);
  units[ToSize(label)] = 1;
}

Index LabelOf(const Model& model, std::span<const float> v) {
  const std::span<const float> units = v.last(ToSize(model.label_units()));
  return std::ranges::max_element(units) - units.begin();
}

void ClassEnergies(const Model& model, std::span<const float> x, std::span<double> negative) {
  std::vector<float> logits(x.size());
  for (std::size_t k = 0; k < negative.size(); ++k) {
    const Index unit = model.gaussian_units() + static_cast<Index>(k);
    const float inverse_variance = model.inverse_variance()[ToSize(unit)];
    const std::span<const float> weights = model.W().row(unit);
    for (std::size_t j = 0; j < x.size(); ++j) logits[j] = x[j] + weights[j] * inverse_variance;
    negative[k] = double{model.mu()[ToSize(unit)]} * double{inverse_variance} + kernels::SumSoftplus(logits);
  }
}

double LabelConstant(const Model& model) {
  double squares = 1;
  const auto label_units = ToSize(model.label_units());
  for (const float c : model.mu().last(label_units)) squares += double{c} * double{c};
  return 0.5 * squares * double{model.inverse_variance().back()};
}

BasicMatrix<double> LabelLogProbabilities(const Model& model, ConstMatrix values, ThreadPool& pool,
                                          double temperature) {
  const Matrix x = HiddenLogits(model, WithRoomForLabels(model, values), pool);
  BasicMatrix<double> logs(values.rows(), model.label_units());
  pool.ParallelFor(values.rows(), [&](Index r) {
    ClassEnergies(model, x.row(r), logs.row(r));
    for (double& l : logs.row(r)) l /= temperature;
    NormalizeLogs(logs.row(r));
  });
  return logs;
}

Model GivenLabel(const Model& model, Index label) {
  const Index unit = model.gaussian_units() + label;
  Parameters p(model.gaussian_units(), model.hidden());
  for (Index i = 0; i < p.W.rows(); ++i) std::ranges::copy(model.W().row(i), p.W.row(i).begin());
  for (std::size_t j = 0; j < p.b.size(); ++j) {
    p.b[j] = model.b()[j] + model.W().row(unit)[j] * model.inverse_variance()[ToSize(unit)];
  }
  std::ranges::copy(model.mu().first(p.mu.size()), p.mu.begin());
  std::ranges::copy(model.log_var().first(p.mu.size()), p.log_var.begin());
  return Model(std::move(p), model.variance_floor());
}

Matrix WithoutLabels(const Model& model, ConstMatrix v) {
  Matrix values(v.rows(), model.gaussian_units());
  CopyRows(ConstMatrix(v.data(), v.rows(), values.cols(), v.stride()), values);
  return values;
}

Matrix WithRoomForLabels(const Model& model, ConstMatrix values) {
  Matrix v(values.rows(), model.visible());
  CopyRows(values, MutableMatrix(v.view().data(), values.rows(), model.gaussian_units(), v.view().stride()));
  return v;
}

double NormalizeLogs(std::span<double> logs) {
  if (logs.empty()) return 0;
  const double largest = std::ranges::max(logs);
  double sum = 0;
  for (const double l : logs) sum += std::exp(l - largest);
  const double log_sum = largest + std::log(sum);
  for (double& l : logs) l -= log_sum;
  return log_sum;
}

Index PickLabel(std::span<const double> log_probabilities, double uniform) {
  double end = 0;
  for (std::size_t k = 0; k + 1 < log_probabilities.size(); ++k) {
    end += std::exp(log_probabilities[k]);
    if (uniform < end) return static_cast<Index>(k);
  }
  return static_cast<Index>(log_probabilities.size()) - 1;
}

Index UniformLabel(const Model& model, double uniform) {
  return static_cast<Index>(uniform * static_cast<double>(model.label_units()));
}

}  // namespace grbm
