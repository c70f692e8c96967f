// Figures for papers and reports: panels in a grid, as PNG, SVG or PDF from one drawing.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/report/image.h"

namespace grbm {

// All text is UTF-8, one line. Titles of panels that are too long for their place go on below; what is still too long, and
// other text, is drawn smaller, then cut.

// low = high: the range comes from the data. log: base 10, all values above 0.
struct Axis {
  std::string label;
  double low = 0;
  double high = 0;
  bool log = false;
};

// A heat map. density: row r is the r-th stripe of y from below, column c the c-th of x from the left; the grid spans the
// ranges of x and y (default: one unit per cell). value: the range of the colours, from 0 where no value is negative; on a
// logarithmic scale it must be given, and what lies below it has its darkest colour.
struct DensityPanel {
  std::string title;
  std::string caption;
  Axis x, y, value;
  Matrix density;  // rows × columns, finite
};

struct ScatterPanel {
  std::string title;
  std::string caption;
  Axis x, y;
  Matrix points;      // points × 2, finite; what lies outside the axes is not shown
  double radius = 0;  // in points; 0: by their number
};

// y against x. Where y is not finite the curve has a gap. low, high: the edges of a band about y, or both empty.
struct Curve {
  std::string name;
  std::vector<double> x, y, low, high;
};

struct LinePanel {
  std::string title;
  std::string caption;
  Axis x, y;
  std::vector<Curve> curves;  // the legend names them if there are several or the one has a name
};

struct Sample {
  std::string name;
  std::vector<double> values;  // finite
};

// Densities (areas of 1), all with the same bins; curves, such as an exact density, are drawn upon them.
struct HistogramPanel {
  std::string title;
  std::string caption;
  Axis x, y;
  std::vector<Sample> samples;
  std::vector<Curve> curves;
  int bins = 0;  // 0: by the number and spread of the values
};

struct ImagePanel {
  std::string title;
  std::string caption;
  Image image;  // as large as fits, its shape kept
};

using Panel = std::variant<DensityPanel, ScatterPanel, LinePanel, HistogramPanel, ImagePanel>;

enum class Theme { kLight, kDark };

struct Figure {
  std::string title;
  std::vector<Panel> panels;  // row by row
  int columns = 0;            // 0: all in one row
  double plot_width = 220;    // of the area within the axes, in points (1/72 inch)
  double plot_height = 220;
  Theme theme = Theme::kLight;
};

enum class FigureFormat { kPng, kSvg, kPdf };

// A file's bytes; the same figure gives the same bytes. PNG has two pixels per point. In SVG, text is outlines, and the
// labels stand in its description. Throws DataError for data that cannot be drawn, ConfigError for settings.
std::string RenderFigure(const Figure& figure, FigureFormat format);

// By the path's ending: .png, .svg or .pdf.
void WriteFigure(const std::string& path, const Figure& figure);

}  // namespace grbm
