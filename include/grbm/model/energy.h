// Energies, conditionals and their draws. The functions of matrices take one state per row, and run on a pool; those
// of spans take one state and compute in double throughout: they are the reference of everything else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/core/random.h"
#include "grbm/model/model.h"

namespace grbm {

// Throws DataError unless v has as many columns as the model visible units (h: hidden units) and all of it is finite.
// `what` opens the message and names the argument.
void CheckVisible(const Model& model, ConstMatrix v, const char* what);
// The same of rows of values, of as many columns as Gaussian units.
void CheckRows(const Model& model, ConstMatrix values, const char* what);
// The same of rows in which values may be missing: NaN.
void CheckKnown(const Model& model, ConstMatrix v, const char* what);
void CheckHidden(const Model& model, ConstBitView h, Index rows, const char* what);

// --- one state, in double
// --------------------------------------------------------------------------------------------

// E(v, h); h has one element, 0 or 1, per hidden unit.                                                  [math.md (1)]
double Energy(const Model& model, std::span<const double> v, std::span<const double> h);
// The marginal energy: exp(-Ẽ(v)) = Σ_h exp(-E(v, h)).                                                  [math.md (5)]
double MarginalEnergy(const Model& model, std::span<const double> v);
// b + Wᵀ(v/σ²): the logits of p(h_j = 1 | v).                                                           [math.md (4)]
std::vector<double> HiddenLogits(const Model& model, std::span<const double> v);
// ∂E/∂v and ∂Ẽ/∂v.                                                                                 [math.md (6), (7)]
std::vector<double> EnergyGradient(const Model& model, std::span<const double> v, std::span<const double> h);
std::vector<double> MarginalEnergyGradient(const Model& model, std::span<const double> v);

// --- one state per row
// -----------------------------------------------------------------------------------------------

// Logits in float, sums in double.
std::vector<double> Energies(const Model& model, ConstMatrix v, ConstBitView h, ThreadPool& pool);
std::vector<double> MarginalEnergies(const Model& model, ConstMatrix v, ThreadPool& pool);

// logits: rows × hidden. A row has the same bits whatever the other rows are.                           [math.md (4)]
Matrix HiddenLogits(const Model& model, ConstMatrix v, ThreadPool& pool);
// p(h_j = 1 | v) under exp(-E/temperature), sigmoid(x_j/temperature): rows × hidden.                [math.md (4), (8)]
Matrix HiddenProbabilities(const Model& model, ConstMatrix v, ThreadPool& pool, double temperature = 1);
// μ + W h, the mean of p(v | h): rows × visible.                                                        [math.md (3)]
Matrix VisibleMean(const Model& model, ConstBitView h, ThreadPool& pool);
// μ + W p, its mean over h of probabilities p: rows × visible.
Matrix VisibleMean(const Model& model, ConstMatrix p, ThreadPool& pool);

// h ~ p(h | v), at a temperature as above; v ~ p(v | h).
BitMatrix SampleHidden(const Model& model, ConstMatrix v, const DrawPlace& place, ThreadPool& pool,
                       double temperature = 1);
Matrix SampleVisible(const Model& model, ConstBitView h, const DrawPlace& place, ThreadPool& pool);

}  // namespace grbm
