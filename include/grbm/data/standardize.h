// Computing the map from the data's own units to those of the model.
#pragma once

#include "grbm/data/dataset.h"
#include "grbm/data/standardization.h"

namespace grbm {

// What shares one mean and one deviation:
//   channel   all values of a colour channel; where rows are not images, all values;
//   pixel     the values of one visible unit: a pixel's channel, or a column;
//   none      the data are taken as they are: the identity.
enum class Standardize { kChannel, kPixel, kNone };

// The statistics of all rows, in double, deviations divided by the number of values. What is constant gets the
// deviation 1, so that it becomes 0. Never holds the data as floats; the same data give the same bits.
// margin: zeros lie so many deviations lower where no value is below 0; mean and deviation are those of the values as moved.
// Throws ConfigError for a margin of values taken as they are, DataError where no least value is 0.
Standardization ComputeStandardization(const Dataset& data, Standardize kind, double margin = 0);

// Of the conditions of data whose values have `of_values`: the same for rows before others, and of columns each its own, or the
// identity for kNone.
Standardization ConditionStandardization(const Dataset& data, Standardize kind, const Standardization& of_values);

// The mean and deviation of each visible unit in the model's units; what is constant has the deviation 0.
Standardization UnitStatistics(const Dataset& data, const Standardization& standardization);

}  // namespace grbm
