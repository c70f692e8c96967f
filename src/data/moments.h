// Statistics of each visible unit, in double and without holding the data as floats; rows count by their weights.
#pragma once

#include <span>
#include <vector>

#include "grbm/data/dataset.h"

namespace grbm {

// One element per visible unit.
struct UnitMoments {
  std::vector<double> mean;
  std::vector<double> variance;  // of the values as they are: divided by their number
  std::vector<double> known;     // share of the rows, by weight, whose value is known; of these are the others
  std::vector<double> zero;      // share of the values that are 0 or less
  std::vector<float> min;
  std::vector<float> max;

  bool constant(std::size_t unit) const { return min[unit] == max[unit]; }
};

// Reads the data twice, block by block in the order of rows: the same data give the same bits. Throws DataError where no
// value of a unit is known.
UnitMoments ComputeMoments(const Dataset& data);

// The same of data whose values of 0 and less lie lower by so much, unit by unit, where these are the least that there are.
UnitMoments WithMargin(UnitMoments units, std::span<const float> margin);

// Mean and variance of all values of several units together: first, first + step, ...
struct PooledMoments {
  double mean = 0;
  double variance = 0;
  float min = 0;
  float max = 0;
};
PooledMoments Pool(const UnitMoments& units, std::size_t first, std::size_t step);

}  // namespace grbm
