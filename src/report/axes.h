// Axes about the area of a plot.
#pragma once

#include <string>

#include "grbm/report/figure.h"
#include "report/canvas.h"
#include "report/ticks.h"

namespace grbm {

struct Style {
  Color background, text, muted, axis, grid;
  std::vector<Color> series;
};
const Style& StyleOf(Theme theme);

inline constexpr Font kTitleFont = {10.5, true};
inline constexpr Font kLabelFont = {9, false};
inline constexpr Font kTickFont = {8, false};
inline constexpr double kThin = 0.6;  // width of axes

// Room about the area of a plot, in points.
struct Margins {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
};

struct Extent {
  double low = 0;
  double high = 0;
  bool empty() const { return !(low <= high); }
  void Include(double value);
};
inline constexpr Extent kNothing = {1, 0};

// From values to positions: 0 at the axis' beginning, 1 at its end.
struct AxisScale {
  std::string label;
  double low = 0;
  double high = 1;
  bool log = false;
  Ticks ticks;

  double Position(double value) const;
};

enum class Direction { kAcross, kUp };

// `data`: its range; `padding`: the part of it that is added at either end where the axis does not set the range.
// `length`: of the axis, in points. `where` opens messages, with the axis' name.
AxisScale MakeScale(const Axis& axis, Extent data, double padding, Direction direction, double length, Canvas& canvas,
                    const std::string& where);

// The two axes of a plot.
class Axes {
 public:
  Axes(AxisScale x, AxisScale y, const Style& style) : x_(std::move(x)), y_(std::move(y)), style_(style) {}

  const AxisScale& x() const { return x_; }
  const AxisScale& y() const { return y_; }
  Point PointAt(const Rectangle& plot, double x, double y) const {
    return {plot.x + x_.Position(x) * plot.width, plot.bottom() - y_.Position(y) * plot.height};
  }

  Margins Measure(Canvas& canvas) const;
  void DrawGrid(Canvas& canvas, const Rectangle& plot) const;
  // box: lines on all four sides, otherwise left and below.
  void DrawLines(Canvas& canvas, const Rectangle& plot, bool box) const;

 private:
  AxisScale x_, y_;
  const Style& style_;
};

// Numbers and label on the right of a bar, as of colours.
double MeasureRight(Canvas& canvas, const AxisScale& scale);
void DrawRight(Canvas& canvas, const Rectangle& bar, const AxisScale& scale, const Style& style);

}  // namespace grbm
