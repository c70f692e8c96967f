#include "grbm/evaluate/score.h"

#include <fmt/core.h>

#include <cmath>

#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/likelihood.h"
#include "grbm/evaluate/pseudo.h"
#include "grbm/model/conditions.h"
#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"

namespace grbm {

RowScores ScoreRows(const VisibleLaw& law, const Standardization& standardization, ConstMatrix rows,
                    std::optional<double> log_partition, ThreadPool& pool) {
  const Model& model = law.model;
  std::vector<double> free_energy = FreeEnergies(law, rows, pool);
  const Matrix back = VisibleMean(model, ExpectedHidden(model, ClassesOf(law, rows, pool), rows, pool), pool);
  const auto count = ToSize(rows.rows());
  std::vector<double> quadratic(count);
  std::vector<double> hidden(count);
  std::vector<double> reconstruction(count);
  pool.ParallelFor(rows.rows(), [&](Index r) {
    double squares = 0;
    double differences = 0;
    for (std::size_t i = 0; i < ToSize(rows.cols()); ++i) {
      const double v = rows.row(r)[i];
      const double d = v - double{model.mu()[i]};
      squares += 0.5 * d * d * double{model.inverse_variance()[i]};
      const double e = v - double{back.row(r)[i]};
      differences += e * e;
    }
    quadratic[ToSize(r)] = squares / law.temperature;
    hidden[ToSize(r)] = free_energy[ToSize(r)] - quadratic[ToSize(r)];  // (60)
    reconstruction[ToSize(r)] = differences / static_cast<double>(rows.cols());
  });
  RowScores scores;
  if (log_partition) {
    std::vector<double> likelihood(count);  // (61)
    const double jacobian = LogJacobian(standardization);
    for (std::size_t r = 0; r < count; ++r) likelihood[r] = -free_energy[r] - *log_partition - jacobian;
    scores.emplace_back("log_likelihood", std::move(likelihood));
  }
  scores.emplace(scores.begin(), "reconstruction", std::move(reconstruction));
  scores.emplace(scores.begin(), "hidden", std::move(hidden));
  scores.emplace(scores.begin(), "quadratic", std::move(quadratic));
  scores.emplace(scores.begin(), "free_energy", std::move(free_energy));
  return scores;
}

VisibleLaw GivenConditions(const VisibleLaw& law, std::span<const float> conditions) {
  return {GivenConditions(law.model, conditions), law.temperature};
}

RowScores ScoreRowsGiven(const VisibleLaw& law, const Standardization& standardization, ConstMatrix rows,
                         ConstMatrix conditions, ThreadPool& pool) {
  std::vector<RowScores> of_rows(ToSize(rows.rows()));
  pool.ParallelFor(rows.rows(), [&](Index r) {
    ThreadPool one(1);
    const VisibleLaw given = GivenConditions(law, conditions.row(r));
    of_rows[ToSize(r)] = ScoreRows(given, standardization, rows.Rows(r, 1), ExactLogPartition(given), one);
  });
  RowScores scores;
  for (const RowScores& row : of_rows) {
    if (scores.empty()) {
      scores = row;
      continue;
    }
    for (std::size_t s = 0; s < row.size(); ++s) scores[s].second.push_back(row[s].second.front());
  }
  return scores;
}

bool HasExactLogPartition(const VisibleLaw& law) {
  return law.model.gaussian_units() <= Quadrature::kMaxVisible ||
         (law.temperature == 1 && law.model.hidden() <= ExactModel::kMaxHidden);
}

std::optional<double> ExactLogPartition(const VisibleLaw& law) {
  if (!HasExactLogPartition(law)) return {};
  if (law.model.gaussian_units() <= Quadrature::kMaxVisible) return Quadrature(law).log_partition();
  return ExactModel(law.model).log_partition();
}

Matrix ColumnDeviations(const VisibleLaw& law, ConstMatrix rows, ThreadPool& pool) {
  const Matrix logits = LogitsOfValues(law.model, rows, pool);
  Matrix deviations(rows.rows(), rows.cols());
  pool.ParallelFor(rows.rows(), [&](Index r) {
    for (Index i = 0; i < rows.cols(); ++i) {
      const ConditionalMoments given = MomentsGivenOthers(law, rows.row(r), logits.row(r), i);
      deviations.row(r)[ToSize(i)] =
          static_cast<float>((double{rows.row(r)[ToSize(i)]} - given.mean) / given.deviation);
    }
  });
  return deviations;
}

Matrix ColumnDeviationsGiven(const VisibleLaw& law, ConstMatrix rows, ConstMatrix conditions, ThreadPool& pool) {
  Matrix deviations(rows.rows(), rows.cols());
  for (Index r = 0; r < rows.rows(); ++r) {
    const VisibleLaw given = GivenConditions(law, conditions.row(r));
    CopyRows(ColumnDeviations(given, rows.Rows(r, 1), pool), deviations.view().Rows(r, 1));
  }
  return deviations;
}

namespace {

// Takes what classes in doubt couple: the covariance over p(y | v) of the slopes W p(h | v, y)/σ²τ, on average over rows.
//                                                                                                      [math.md (76)]
void TakeDoubtOfClasses(const VisibleLaw& law, const BasicMatrix<double>& classes, ConstMatrix rows,
                        BasicMatrix<double>& precision, ThreadPool& pool) {
  const Model& model = law.model;
  const auto visible = ToSize(model.gaussian_units());
  const Matrix mean = VisibleMean(model, ExpectedHidden(model, classes, rows, pool), pool);
  ForClasses(model, classes, rows, pool, 1, [&](Index r, double share, std::span<const float> p) {
    constexpr double kNothing = 1e-12;  // of a class that has no part in it
    if (share < kNothing) return;
    const Matrix of_class = VisibleMean(model, ConstMatrix(p.data(), 1, model.hidden(), model.hidden()), pool);
    std::vector<double> slope(visible);
    for (std::size_t i = 0; i < visible; ++i) {
      slope[i] = (double{of_class.row(0)[i]} - double{mean.row(r)[i]}) * double{model.inverse_variance()[i]};
    }
    const double factor = share / (law.temperature * law.temperature * static_cast<double>(rows.rows()));
    pool.ParallelFor(model.gaussian_units(), [&](Index i) {
      const double scaled = factor * slope[ToSize(i)];
      for (std::size_t k = 0; k < visible; ++k) precision.row(i)[k] -= scaled * slope[k];
    });
  });
}

}  // namespace

EffectiveCouplings ComputeCouplings(const VisibleLaw& law, ConstMatrix rows, ThreadPool& pool) {
  const Model& model = law.model;
  // What is in doubt of each hidden unit, on average: p (1 - p).
  std::vector<double> doubt(ToSize(model.hidden()));
  const auto add_doubt = [&](Index, double share, std::span<const float> p) {
    for (std::size_t j = 0; j < doubt.size(); ++j) {
      const double on = p[j];
      doubt[j] += share * on * (1 - on) / static_cast<double>(rows.rows());
    }
  };
  const BasicMatrix<double> classes = ClassesOf(law, rows, pool);
  ForClasses(model, classes, rows, pool, 1, add_doubt);
  const Index visible = model.gaussian_units();
  EffectiveCouplings couplings{BasicMatrix<double>(visible, visible)};
  pool.ParallelFor(visible, [&](Index i) {
    const double scale_i = model.inverse_variance()[ToSize(i)];
    for (Index k = 0; k < visible; ++k) {
      const double scale_k = model.inverse_variance()[ToSize(k)];
      double sum = 0;
      for (std::size_t j = 0; j < doubt.size(); ++j) {
        sum += doubt[j] * double{model.W().row(i)[j]} * double{model.W().row(k)[j]};
      }
      couplings.precision.row(i)[ToSize(k)] = ((i == k ? scale_i : 0.0) - scale_i * scale_k * sum) / law.temperature;
    }
  });
  if (model.label_units() > 0) TakeDoubtOfClasses(law, classes, rows, couplings.precision, pool);
  return couplings;
}

BasicMatrix<double> EffectiveCouplings::Couplings() const {
  BasicMatrix<double> result = precision;
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index k = 0; k < result.cols(); ++k) result.row(i)[ToSize(k)] = i == k ? 0.0 : -precision.row(i)[ToSize(k)];
  }
  return result;
}

BasicMatrix<double> EffectiveCouplings::PartialCorrelations() const {
  BasicMatrix<double> result = precision;
  for (Index i = 0; i < result.rows(); ++i) {
    if (!(precision.row(i)[ToSize(i)] > 0)) {
      throw NumericError(
          fmt::format("partial correlations: the precision of visible unit {} (counted from 0) is {:.3g}: on average "
                      "its values lie "
                      "between modes: take the couplings instead",
                      i, precision.row(i)[ToSize(i)]));
    }
  }
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index k = 0; k < result.cols(); ++k) {
      const double scale = std::sqrt(precision.row(i)[ToSize(i)] * precision.row(k)[ToSize(k)]);
      result.row(i)[ToSize(k)] = i == k ? 1.0 : -precision.row(i)[ToSize(k)] / scale;
    }
  }
  return result;
}

}  // namespace grbm
