// Panels of the plane on which the mixtures lie.
#pragma once

#include <string>

#include "grbm/data/mixture.h"
#include "grbm/report/figure.h"

namespace grbm {

DensityPanel PlaneDensity(const std::string& title, const std::string& caption, const LogDensity2& log_density);
// points: points × 2.
ScatterPanel PlanePoints(const std::string& title, const std::string& caption, Matrix points);

}  // namespace grbm
