// Panels of the plane on which the mixtures lie.
#pragma once

#include <span>
#include <string>

#include "grbm/data/mixture.h"
#include "grbm/report/figure.h"

namespace grbm {

DensityPanel PlaneDensity(const std::string& title, const std::string& caption, const LogDensity2& log_density);
// One range of colours for all, from 0 to the largest value of any of them: panels that are compared look as they are.
void ShareColors(std::span<DensityPanel> panels);
// The same density with colours on a logarithmic scale, six decades down from the top of its range: modes that should not be
// there are seen however faint they are.
DensityPanel LogarithmicColors(DensityPanel panel);
// The log-density itself, in nats, 0 at its highest point, in colours of its own: what the paper's figures show as negative
// energies. A mode of next to no mass is seen, too.
DensityPanel PlaneLogDensity(const std::string& title, const std::string& caption, const LogDensity2& log_density);
// points: points × 2.
ScatterPanel PlanePoints(const std::string& title, const std::string& caption, Matrix points);

}  // namespace grbm
