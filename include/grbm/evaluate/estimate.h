// Numbers with their uncertainty.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string_view>

#include "grbm/core/matrix.h"

namespace grbm {

// A number and its standard error; NaN where the error is unknown, 0 where the number is exact.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();
};

// The mean of independent values, at least two.
Estimate Mean(std::span<const double> values);
// log of the mean of exp(values), with the standard error of the logarithm to first order.
Estimate LogMeanExp(std::span<const double> values);

// What is being done, and how far it is. Called on the caller's thread.
using EvaluationProgress = std::function<void(std::string_view part, Index done, Index total)>;

}  // namespace grbm
