#include "grbm/report/mixture.h"

#include <algorithm>
#include <cmath>

namespace grbm {

namespace {

constexpr double kReach = 10;  // the panels show -kReach to kReach
constexpr Index kCells = 200;

constexpr double kFaintest = 1e-6;  // of the largest density, on a logarithmic scale

constexpr float kDeepest = -1e4F;  // nats: a law on next to no room has colours, too

Axis PlaneAxis(const char* label) { return {label, -kReach, kReach, false}; }

// f at the cells' centres.
DensityPanel PlanePanel(const std::string& title, const std::string& caption, const char* label, const LogDensity2& f) {
  DensityPanel panel{title, caption, PlaneAxis("v₁"), PlaneAxis("v₂"), {.label = label}, Matrix(kCells, kCells)};
  for (Index r = 0; r < kCells; ++r) {
    for (Index c = 0; c < kCells; ++c) {
      const auto at = [](Index k) { return -kReach + 2 * kReach * (static_cast<double>(k) + 0.5) / kCells; };
      panel.density(r, c) = static_cast<float>(f(at(c), at(r)));
    }
  }
  return panel;
}

}  // namespace

DensityPanel PlaneDensity(const std::string& title, const std::string& caption, const LogDensity2& log_density) {
  DensityPanel panel =
      PlanePanel(title, caption, "density", [&](double x, double y) { return std::exp(log_density(x, y)); });
  // A law on so little room that no cell's centre meets it: dark, like any density of 0.
  if (std::ranges::max(panel.density.values()) == 0) panel.value.high = 1;
  return panel;
}

void ShareColors(std::span<DensityPanel> panels) {
  double high = 0;
  for (const DensityPanel& panel : panels) {
    high = std::max(high, static_cast<double>(std::ranges::max(panel.density.values())));
  }
  for (DensityPanel& panel : panels) {
    panel.value.low = 0;
    panel.value.high = high > 0 ? high : 1;
  }
}

DensityPanel LogarithmicColors(DensityPanel panel) {
  const double high =
      panel.value.high > 0 ? panel.value.high : static_cast<double>(std::ranges::max(panel.density.values()));
  panel.value = {.label = "density, log scale", .low = kFaintest * high, .high = high, .log = true};
  return panel;
}

DensityPanel PlaneLogDensity(const std::string& title, const std::string& caption, const LogDensity2& log_density) {
  DensityPanel panel = PlanePanel(title, caption, "log density, top at 0", log_density);
  const float highest = std::ranges::max(panel.density.values());
  const float top = std::isfinite(highest) ? highest : 0;
  for (float& v : panel.density.values()) v = std::max(v - top, kDeepest);
  panel.value.low = std::min(std::ranges::min(panel.density.values()), -1.0F);
  panel.value.high = 0;
  return panel;
}

ScatterPanel PlanePoints(const std::string& title, const std::string& caption, Matrix points) {
  return {title, caption, PlaneAxis("v₁"), PlaneAxis("v₂"), std::move(points)};
}

}  // namespace grbm
