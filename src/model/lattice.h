// Sums over a lattice that follow the mass of a density, wherever in a large box it lies.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace grbm {

// A point of the line or the plane; on the line the second number is 0.
using LatticePoint = std::array<double, 2>;

// The log-density (f(v) - Σ (v_i - μ_i)²/2σ_i²) / τ, f convex, and the box that holds its mass.
struct LatticeDensity {
  std::size_t dimensions = 1;  // 1 or 2
  LatticePoint mu{};
  LatticePoint variance{};
  double temperature = 1;
  LatticePoint low{};
  LatticePoint high{};
  LatticePoint spacing{};
  std::function<double(const LatticePoint&)> convex;
};

// How far apart points of a unit of that deviation and those weights may lie. At τ ≠ 1 (1 + exp x)^(1/τ) has branch points
// at distance πσ²/|W| from the real line.                                                              [math.md (27)]
double LatticeSpacing(double deviation, std::span<const float> weights, double temperature);

struct LatticeMass {
  std::vector<LatticePoint> points;
  std::vector<double> values;  // the log-density at each
  double log_integral = 0;     // of the density, by the sum over the points
};

// All points of the lattice whose density is at least 1e-20 of the largest. The box is cut into cells, and a cell is
// dropped when an upper bound of the log-density over it is negligible beside the largest value found so far. As f is
// convex, it lies below the multilinear function through its values at the corners, which is exact wherever no unit
// changes its mind within the cell: few cells survive around each mode, however large the box is.
//
// Throws NumericError, opened by `where`, where the points would be more than `max_points`, which shows long before they
// are made: from 4,096 cells on their volume is within a small factor of the number of points. Also where the log-density
// is a difference of numbers so large that doubles lose 1e-6 of it.
LatticeMass CollectMass(const LatticeDensity& density, std::size_t max_points, std::string_view where);

}  // namespace grbm
