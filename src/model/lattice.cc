#include "model/lattice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr double kNegligible = 46;     // -log(1e-20)
constexpr double kMaxCount = 0x1p50;   // points a side: all of them have numbers, and coordinates that differ
constexpr double kMaxRounding = 1e-6;  // of a log-density, in nats
constexpr std::size_t kProbe = 4096;   // cells whose volume tells the number of points

using Cell = std::array<std::int64_t, 2>;  // its lowest corner

class Collector {
 public:
  Collector(const LatticeDensity& density, std::size_t max_points, std::string_view where)
      : density_(density), max_points_(max_points), where_(where) {
    std::int64_t longest = 2;
    for (std::size_t i = 0; i < density.dimensions; ++i) {
      const double count = std::ceil((density.high[i] - density.low[i]) / density.spacing[i]) + 1;
      if (!(count < kMaxCount)) {
        throw NumericError(
            fmt::format("{}: a lattice of {:.3g} points a side: the model's means lie {:.3g} apart, at a "
                        "standard deviation of {:.3g}: its weights are too large",
                        where, count, density.high[i] - density.low[i], std::sqrt(density.variance[i])));
      }
      count_[i] = static_cast<std::int64_t>(count);
      longest = std::max(longest, count_[i]);
    }
    while (side_ < longest) side_ *= 2;
  }

  LatticeMass Run() {
    std::vector<Cell> cells = {Cell{}};
    for (; side_ > 1 && !cells.empty(); side_ /= 2) {
      CheckVolume(cells.size());
      std::vector<Cell> next;
      for (const Cell& cell : cells) Visit(cell, next);
      cells = std::move(next);
    }
    return Finish();
  }

 private:
  // What is known of a cell: its corners, bit i of the number being their side in dimension i.
  struct Corners {
    std::array<LatticePoint, 4> points;
    std::array<double, 4> convex;
  };

  double Coordinate(std::size_t i, std::int64_t index) const {
    return density_.low[i] + density_.spacing[i] * static_cast<double>(index);
  }
  std::size_t corners() const { return std::size_t{1} << density_.dimensions; }

  void CheckVolume(std::size_t cells) const {
    const double volume = static_cast<double>(cells) * std::pow(static_cast<double>(side_), density_.dimensions);
    if (cells < kProbe || volume <= 4 * static_cast<double>(max_points_)) return;
    RefuseNumber();
  }
  [[noreturn]] void RefuseNumber() const {
    throw NumericError(
        fmt::format("{}: the model's mass covers more than {} lattice points, half a standard deviation apart: its "
                    "variances are too small beside its weights",
                    where_, max_points_));
  }

  double Quadratic(const LatticePoint& v) const {
    double sum = 0;
    for (std::size_t i = 0; i < density_.dimensions; ++i) {
      sum += (v[i] - density_.mu[i]) * (v[i] - density_.mu[i]) / (2 * density_.variance[i]);
    }
    return sum;
  }

  Corners Evaluate(const Cell& low, const Cell& high) {
    Corners at;
    for (std::size_t k = 0; k < corners(); ++k) {
      at.points[k] = {};
      for (std::size_t i = 0; i < density_.dimensions; ++i) {
        at.points[k][i] = Coordinate(i, (k >> i & 1) != 0 ? high[i] : low[i]);
      }
      at.convex[k] = density_.convex(at.points[k]);
      const double quadratic = Quadratic(at.points[k]);
      if (const double value = (at.convex[k] - quadratic) / density_.temperature; value > best_) {
        best_ = value;
        best_terms_ = (std::abs(at.convex[k]) + quadratic) / density_.temperature;
      }
    }
    return at;
  }

  // An upper bound of the log-density over the cell: that of the multilinear function through the corners.
  double Bound(const Corners& at) const {
    double bound = 0;
    for (std::size_t k = 0; k < corners(); ++k) bound += at.convex[k] / static_cast<double>(corners());
    if (density_.dimensions == 2) {
      bound += std::abs(at.convex[0] + at.convex[3] - at.convex[1] - at.convex[2]) / 4;  // the product of both
    }
    for (std::size_t i = 0; i < density_.dimensions; ++i) {
      const double low = at.points[0][i];
      const double high = at.points[corners() - 1][i];
      double rise = 0;
      for (std::size_t k = 0; k < corners(); ++k) {
        rise += ((k >> i & 1) != 0 ? 2 : -2) * at.convex[k] / static_cast<double>(corners());
      }
      const double slope = high > low ? rise / (high - low) : 0;
      // The largest value of slope · (x - centre) - (x - μ)²/2σ² between low and high.
      const double x = std::clamp(density_.mu[i] + slope * density_.variance[i], low, high);
      const double d = x - density_.mu[i];
      bound += slope * (x - 0.5 * (low + high)) - d * d / (2 * density_.variance[i]);
    }
    return bound / density_.temperature;
  }

  void Visit(const Cell& low, std::vector<Cell>& next) {
    Cell high = low;
    for (std::size_t i = 0; i < density_.dimensions; ++i) high[i] = std::min(low[i] + side_, count_[i]) - 1;
    const Corners at = Evaluate(low, high);
    if (side_ > 2 && Bound(at) < best_ - kNegligible) return;
    const std::int64_t step = side_ / 2;
    for (std::size_t k = 0; k < corners(); ++k) {
      Cell part = low;
      bool inside = true;
      for (std::size_t i = 0; i < density_.dimensions; ++i) {
        part[i] += (k >> i & 1) != 0 ? step : 0;
        inside = inside && part[i] < count_[i];
      }
      if (!inside) continue;
      if (side_ > 2) {
        next.push_back(part);
      } else {  // the corners are the points
        mass_.points.push_back(at.points[k]);
        mass_.values.push_back((at.convex[k] - Quadratic(at.points[k])) / density_.temperature);
      }
    }
  }

  LatticeMass Finish() {
    const double rounding = best_terms_ * std::numeric_limits<double>::epsilon();
    if (!(rounding <= kMaxRounding)) {
      throw NumericError(
          fmt::format("{}: the log-density is a difference of numbers of {:.3g}, of which doubles lose {:.2g}: the "
                      "model's weights are too large beside its variances",
                      where_, best_terms_, rounding));
    }
    double total = 0;
    std::size_t kept = 0;
    for (std::size_t p = 0; p < mass_.points.size(); ++p) {
      if (mass_.values[p] < best_ - kNegligible) continue;
      mass_.points[kept] = mass_.points[p];
      mass_.values[kept] = mass_.values[p];
      total += std::exp(mass_.values[kept++] - best_);
    }
    if (kept > max_points_) RefuseNumber();
    mass_.points.resize(kept);
    mass_.values.resize(kept);
    mass_.log_integral = best_ + std::log(total);
    for (std::size_t i = 0; i < density_.dimensions; ++i) mass_.log_integral += std::log(density_.spacing[i]);
    return std::move(mass_);
  }

  const LatticeDensity& density_;
  std::size_t max_points_;
  std::string_view where_;
  Cell count_{1, 1};
  std::int64_t side_ = 2;  // points a side of the cells that are visited
  double best_ = -std::numeric_limits<double>::infinity();
  double best_terms_ = 0;  // what the best value is the difference of
  LatticeMass mass_;
};

}  // namespace

double LatticeSpacing(double deviation, std::span<const float> weights, double temperature) {
  constexpr double kSpacing = 0.5;  // in units of σ, of √τ σ below temperature 1
  double spacing = kSpacing * deviation * std::min(1.0, std::sqrt(temperature));
  if (temperature == 1) return spacing;
  for (const float w : weights) {
    if (w != 0) spacing = std::min(spacing, kSpacing * deviation * deviation / std::abs(double{w}));
  }
  return spacing;
}

LatticeMass CollectMass(const LatticeDensity& density, std::size_t max_points, std::string_view where) {
  return Collector(density, max_points, where).Run();
}

}  // namespace grbm
