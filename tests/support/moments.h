// Comparison of samples with exact first and second moments.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "grbm/core/matrix.h"
#include "grbm/model/exact.h"

namespace grbm::testing {

// Independent states, one per row: v is rows × visible, h rows × hidden.
struct Sample {
  Matrix v;
  BitMatrix h;

  Index rows() const { return v.rows(); }
  Index units() const { return v.cols() + h.units(); }
  // Visible units first, then hidden ones.
  double operator()(Index row, Index unit) const {
    if (unit < v.cols()) return v(row, unit);
    return h.Get(row, unit - v.cols()) ? 1.0 : 0.0;
  }
};

// The largest deviation found, in standard errors, and where.
struct Worst {
  double z = 0;
  std::string where;

  void Include(double deviation, double standard_error, const std::string& name) {
    if (standard_error == 0 && deviation == 0) return;
    const double score = std::abs(deviation) / standard_error;
    if (!(score <= z)) {  // NaN counts as the worst
      z = std::isnan(score) ? std::numeric_limits<double>::infinity() : score;
      where = name;
    }
  }
};

// Mean of statistic(row) against `expected`, with the standard error of independent rows.
template <typename Statistic>
void IncludeMean(Worst& worst, Index rows, double expected, const std::string& name, const Statistic& statistic) {
  double sum = 0;
  double squares = 0;
  for (Index r = 0; r < rows; ++r) {
    const double x = statistic(r) - expected;
    sum += x;
    squares += x * x;
  }
  const auto n = static_cast<double>(rows);
  const double mean = sum / n;
  worst.Include(mean, std::sqrt((squares / n - mean * mean) / n), name);
}

// All first and second moments of (v, h), (units² + 3·units)/2 of them.
template <typename Use>
void ForMoments(Index units, const Use& use) {
  for (Index a = 0; a < units; ++a) {
    use(a, Index{-1});
    for (Index b = a; b < units; ++b) use(a, b);
  }
}

inline double MomentOf(const Sample& s, Index row, Index a, Index b) {
  return b < 0 ? s(row, a) : s(row, a) * s(row, b);
}

inline double MomentOf(const ExactMoments& m, Index a, Index b) {  // a ≤ b, or b < 0
  const auto visible = static_cast<Index>(m.v.size());
  const auto at = [](Index i) { return static_cast<std::size_t>(i); };
  if (b < 0) return a < visible ? m.v[at(a)] : m.h[at(a - visible)];
  if (b < visible) return m.vv(a, b);
  return a < visible ? m.vh(a, b - visible) : m.hh(a - visible, b - visible);
}

inline std::string MomentName(Index a, Index b) {
  return b < 0 ? "E[x" + std::to_string(a) + "]" : "E[x" + std::to_string(a) + " x" + std::to_string(b) + "]";
}

// Against the exact moments.
inline Worst CompareMoments(const Sample& sample, const ExactMoments& exact) {
  Worst worst;
  ForMoments(sample.units(), [&](Index a, Index b) {
    IncludeMean(worst, sample.rows(), MomentOf(exact, a, b), MomentName(a, b),
                [&](Index r) { return MomentOf(sample, r, a, b); });
  });
  return worst;
}

// Row by row, after against before: where a step keeps the law, every moment's difference has mean 0. The two are
// correlated, so this sees smaller errors than a comparison with the exact value.
inline Worst CompareMoments(const Sample& before, const Sample& after) {
  Worst worst;
  ForMoments(before.units(), [&](Index a, Index b) {
    IncludeMean(worst, before.rows(), 0.0, MomentName(a, b),
                [&](Index r) { return MomentOf(after, r, a, b) - MomentOf(before, r, a, b); });
  });
  return worst;
}

// The correlation of one visible unit before and after.
inline double VisibleCorrelation(const Sample& before, const Sample& after, Index unit) {
  const auto n = static_cast<double>(before.rows());
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (Index r = 0; r < before.rows(); ++r) {
    const double p = before(r, unit);
    const double q = after(r, unit);
    x += p / n;
    y += q / n;
    xx += p * p / n;
    yy += q * q / n;
    xy += p * q / n;
  }
  return (xy - x * y) / std::sqrt((xx - x * x) * (yy - y * y));
}

}  // namespace grbm::testing
