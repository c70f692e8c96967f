// Scores of single rows: which of them, and which of their values, a model finds unlikely.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/data/standardization.h"
#include "grbm/model/visible_law.h"

namespace grbm {

// Named numbers, one for each row. The larger free_energy and reconstruction are, the stranger is the row.
using RowScores = std::vector<std::pair<std::string, std::vector<double>>>;

// rows: rows × Gaussian units, in the model's units. Labels are summed out.                [math.md (60), (61), (76)]
//   free_energy      Ẽ(v)/τ, the sum of the next two: log p(v) up to log Z, with the other sign
//   quadratic        Σ (v_i - μ_i)²/2σ_i²τ
//   hidden           -Σ log(1 + exp x_j)/τ, with labels summed over them
//   reconstruction   mean over units of (v_i - μ_i - W_i E[h | v])²
//   log_likelihood   in nats and in the data's own units, where log Z is given
RowScores ScoreRows(const VisibleLaw& law, const Standardization& standardization, ConstMatrix rows,
                    std::optional<double> log_partition, ThreadPool& pool);

// The same of a law with conditions, each row given its own: rows × conditions, in the model's units.
RowScores ScoreRowsGiven(const VisibleLaw& law, const Standardization& standardization, ConstMatrix rows,
                         ConstMatrix conditions, ThreadPool& pool);
// The law of a row given its conditions.                                                                  [math.md (80)]
VisibleLaw GivenConditions(const VisibleLaw& law, std::span<const float> conditions);

// log Z, where it is known exactly and soon: up to 2 visible or 20 hidden units.
std::optional<double> ExactLogPartition(const VisibleLaw& law);
bool HasExactLogPartition(const VisibleLaw& law);

// How far each value lies from what is expected of it given all others of its row, in standard deviations of that law:
// (v_i - E[v_i | v_-i]) / sd[v_i | v_-i], rows × visible. Exact but for the lattice, see ConditionalLogDensity.
//                                                                                                      [math.md (62)]
Matrix ColumnDeviations(const VisibleLaw& law, ConstMatrix rows, ThreadPool& pool);
Matrix ColumnDeviationsGiven(const VisibleLaw& law, ConstMatrix rows, ConstMatrix conditions, ThreadPool& pool);

// Effective couplings of visible units, visible × visible, symmetric, in the model's units.             [math.md (63)]
struct EffectiveCouplings {
  // -E[∂²log p(v)/∂v_i∂v_k], over the rows: for a Gaussian law the inverse of its covariance.
  BasicMatrix<double> precision;

  // What couples i and k: minus the precision, 0 on the diagonal.
  BasicMatrix<double> Couplings() const;
  // -precision_ik/√(precision_ii precision_kk), 1 on the diagonal. Throws NumericError where a diagonal element is not
  // positive: such a unit lies, on average, between modes.
  BasicMatrix<double> PartialCorrelations() const;
};
EffectiveCouplings ComputeCouplings(const VisibleLaw& law, ConstMatrix rows, ThreadPool& pool);

}  // namespace grbm
