// Labels: the classes of data as visible units of the model, of which one is 1 and the others are 0 (Model::label_units).
#pragma once

#include <span>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/model.h"

namespace grbm {

// Writes the label units of a state v of all visible units, and reads them: the number of the class.
void SetLabel(const Model& model, std::span<float> v, Index label);
Index LabelOf(const Model& model, std::span<const float> v);

// log p(y = k | v) of all classes, under exp(-Ẽ/temperature): rows × label units. values: rows × Gaussian units.
//                                                                                                      [math.md (72)]
BasicMatrix<double> LabelLogProbabilities(const Model& model, ConstMatrix values, ThreadPool& pool,
                                          double temperature = 1);

// The law of v and h given a class, which is that of a model without labels: b_j + U_kj/s² for b_j.      [math.md (73)]
Model GivenLabel(const Model& model, Index label);

// States without their label units: rows × Gaussian units.
Matrix WithoutLabels(const Model& model, ConstMatrix v);
// Rows of values with room for labels behind them, 0: rows × visible units.
Matrix WithRoomForLabels(const Model& model, ConstMatrix values);

// -Ẽ(v, y = k) of all classes but for what they share: c_k/s² + Σ_j softplus(x_j + U_kj/s²), where x are the logits of v
// with no label.                                                                                         [math.md (72)]
void ClassEnergies(const Model& model, std::span<const float> x, std::span<double> negative);

// What they share beside v: Σ (y - c)²/2s² + c_k/s², the same for all k.                               [math.md (70)]
double LabelConstant(const Model& model);

// Logarithms of weights become those of probabilities. Returns the logarithm of the weights' sum.
double NormalizeLogs(std::span<double> logs);
// The class that a uniform number falls to; without probabilities, each is as likely.
Index PickLabel(std::span<const double> log_probabilities, double uniform);
Index UniformLabel(const Model& model, double uniform);

}  // namespace grbm
