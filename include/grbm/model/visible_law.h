// A law of the visible units, as likelihoods and densities are taken of it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/model.h"

namespace grbm {

// exp(-Ẽ(v)/temperature)/Z, with the model's Ẽ. At temperature 1 it is the model's p(v); at others it is not the marginal
// of exp(-E/temperature), which is the law {model.Tempered(temperature)}. Of a model with labels it is the law of v with the
// class summed out, Σ_y exp(-Ẽ(v, y)/temperature)/Z.                                         [math.md (5), (8), (76)]
struct VisibleLaw {
  Model model;
  double temperature = 1;
};

// -log p(v) up to log Z: Ẽ(v)/τ, with labels -log Σ_y exp(-Ẽ(v, y)/τ). v: the Gaussian units. The first in double throughout.
double FreeEnergy(const VisibleLaw& law, std::span<const double> v);
std::vector<double> FreeEnergies(const VisibleLaw& law, ConstMatrix values, ThreadPool& pool);

// log p(y | v) of the law: rows × classes. None without labels.                                         [math.md (72)]
BasicMatrix<double> ClassesOf(const VisibleLaw& law, ConstMatrix values, ThreadPool& pool);

// E[h | v]: with labels the mean of p(h | v, y), at a temperature of its own, over classes of those log-probabilities.
// rows × hidden.                                                                                       [math.md (76)]
Matrix ExpectedHidden(const Model& model, const BasicMatrix<double>& classes, ConstMatrix values, ThreadPool& pool,
                      double hidden_temperature = 1);
// Calls use(row, p(y = k | v), p(h | v, y = k)) for every row and class, class after class; without labels once for each row,
// with a share of 1.
void ForClasses(const Model& model, const BasicMatrix<double>& classes, ConstMatrix values, ThreadPool& pool,
                double hidden_temperature,
                const std::function<void(Index row, double share, std::span<const float> p)>& use);

}  // namespace grbm
