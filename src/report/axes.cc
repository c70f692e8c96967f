#include "report/axes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr double kTick = 3;  // length of a tick, in points
constexpr double kMinorTick = 1.8;
constexpr double kPad = 3;     // between a tick and its label
constexpr double kLine = 12;   // height of a line of labels
constexpr double kCap = 0.36;  // half the height of a digit, in font sizes
constexpr double kUpright = -std::numbers::pi / 2;

double WidestLabel(Canvas& canvas, const Ticks& ticks) {
  double widest = 0;
  for (const Tick& tick : ticks.ticks) widest = std::max(widest, canvas.TextWidth(tick.label, kTickFont));
  return widest;
}

// Labels beside each other with the room of a digit and a half between them.
bool Fits(Canvas& canvas, const AxisScale& scale, double length) {
  double free_from = -1e9;
  for (const Tick& tick : scale.ticks.ticks) {
    if (tick.label.empty()) continue;
    const double center = scale.Position(tick.value) * length;
    const double half = canvas.TextWidth(tick.label, kTickFont) / 2;
    if (center - half < free_from) return false;
    free_from = center + half + kTickFont.size;
  }
  return true;
}

// A range that can be drawn: of some width, which doubles can tell apart.
void Widen(AxisScale& scale, double padding) {
  if (scale.log) {
    const double factor = scale.low < scale.high ? std::pow(scale.high / scale.low, padding) : 2;
    scale.low /= factor;
    scale.high *= factor;
    return;
  }
  const double size = std::max(std::abs(scale.low), std::abs(scale.high));
  const double extra = scale.low < scale.high ? padding * (scale.high - scale.low) : size > 0 ? 0.1 * size : 1;
  scale.low -= extra;
  scale.high += extra;
}

}  // namespace

const Style& StyleOf(Theme theme) {
  // Series: the palette of Okabe and Ito (2008), told apart without colour vision; lighter in the dark.
  static const Style light = {
      {255, 255, 255}, {34, 34, 34},
      {95, 95, 95},    {90, 90, 90},
      {232, 232, 232}, {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {230, 159, 0}, {86, 180, 233}}};
  static const Style dark = {
      {22, 24, 29},
      {233, 234, 237},
      {165, 169, 178},
      {139, 143, 152},
      {45, 49, 58},
      {{86, 180, 233}, {240, 136, 62}, {60, 200, 155}, {226, 150, 196}, {240, 200, 80}, {150, 170, 255}}};
  return theme == Theme::kDark ? dark : light;
}

void Extent::Include(double value) {
  if (empty()) {
    low = high = value;
  } else {
    low = std::min(low, value);
    high = std::max(high, value);
  }
}

double AxisScale::Position(double value) const {
  if (!log) return (value - low) / (high - low);
  if (value <= 0) return -1;  // the edge of a band below a logarithmic axis
  return std::log(value / low) / std::log(high / low);
}

AxisScale MakeScale(const Axis& axis, Extent data, double padding, Direction direction, double length, Canvas& canvas,
                    const std::string& where) {
  AxisScale scale = {axis.label, axis.low, axis.high, axis.log, {}};
  const bool given = axis.low != axis.high;
  if (given && (!(axis.low < axis.high) || !std::isfinite(axis.low) || !std::isfinite(axis.high))) {
    throw ConfigError(fmt::format("{}: range {} to {}: allowed are finite numbers, the first below the second", where,
                                  axis.low, axis.high));
  }
  if (!given) {
    if (data.empty()) throw DataError(fmt::format("{}: no finite value to show", where));
    scale.low = data.low;
    scale.high = data.high;
  }
  if (axis.log && scale.low <= 0) {
    throw DataError(
        fmt::format("{}: {} on a logarithmic axis: allowed are values above 0; use a linear axis", where, scale.low));
  }
  if (!given) Widen(scale, padding);
  const double size = std::max(std::abs(scale.low), std::abs(scale.high));
  if (!(std::isfinite(scale.high - scale.low) && scale.high - scale.low > 1e-11 * size && size > 1e-290 &&
        size < 1e290)) {
    throw DataError(fmt::format("{}: range {} to {}: too wide or too narrow to draw", where, scale.low, scale.high));
  }
  const auto place_ticks = [&](int most) {
    scale.ticks = axis.log ? LogTicks(scale.low, scale.high, most) : LinearTicks(scale.low, scale.high, most);
    return direction == Direction::kUp || Fits(canvas, scale, length);
  };
  // As many as fit. Up an axis all fit, but a coarse step can leave fewer than the three that show where a value lies.
  const double spacing = direction == Direction::kAcross ? 30 : 34;
  int most = std::max(2, static_cast<int>(length / spacing));
  while (!place_ticks(most) && most > 1) --most;
  for (int more = most; direction == Direction::kUp && scale.ticks.ticks.size() < 3 && more < most + 4;)
    place_ticks(++more);
  return scale;
}

Margins Axes::Measure(Canvas& canvas) const {
  Margins room = {kTick + kPad + WidestLabel(canvas, y_.ticks), 6, 0, kTick + kPad + kTickFont.size};
  if (!y_.label.empty()) room.left += kLine + 2;
  if (!x_.label.empty() || !x_.ticks.power.empty()) room.bottom += kLine + 2;
  if (!y_.ticks.power.empty()) room.top += kLine;
  for (const Tick& tick : x_.ticks.ticks) {
    const double half = canvas.TextWidth(tick.label, kTickFont) / 2;
    room.left = std::max(room.left, half);
    room.right = std::max(room.right, half);
  }
  return room;
}

void Axes::DrawGrid(Canvas& canvas, const Rectangle& plot) const {
  for (const Tick& tick : x_.ticks.ticks) {
    const double x = plot.x + x_.Position(tick.value) * plot.width;
    if (!tick.label.empty()) canvas.Stroke({{x, plot.y}, {x, plot.bottom()}}, style_.grid, kThin);
  }
  for (const Tick& tick : y_.ticks.ticks) {
    const double y = plot.bottom() - y_.Position(tick.value) * plot.height;
    if (!tick.label.empty()) canvas.Stroke({{plot.x, y}, {plot.right(), y}}, style_.grid, kThin);
  }
}

void Axes::DrawLines(Canvas& canvas, const Rectangle& plot, bool box) const {
  if (box) {
    canvas.Outline(plot, style_.axis, kThin);
  } else {
    canvas.Stroke({{plot.x, plot.y}, {plot.x, plot.bottom()}, {plot.right(), plot.bottom()}}, style_.axis, kThin);
  }
  const double below = plot.bottom() + kTick + kPad + 2 * kCap * kTickFont.size;
  for (const Tick& tick : x_.ticks.ticks) {
    const double x = plot.x + x_.Position(tick.value) * plot.width;
    const double length = tick.label.empty() ? kMinorTick : kTick;
    canvas.Stroke({{x, plot.bottom()}, {x, plot.bottom() + length}}, style_.axis, kThin);
    canvas.Text({x, below}, tick.label, kTickFont, Align::kCenter, style_.text);
  }
  double widest = 0;
  for (const Tick& tick : y_.ticks.ticks) {
    const double y = plot.bottom() - y_.Position(tick.value) * plot.height;
    const double length = tick.label.empty() ? kMinorTick : kTick;
    canvas.Stroke({{plot.x - length, y}, {plot.x, y}}, style_.axis, kThin);
    canvas.Text({plot.x - kTick - kPad, y + kCap * kTickFont.size}, tick.label, kTickFont, Align::kRight, style_.text);
    widest = std::max(widest, canvas.TextWidth(tick.label, kTickFont));
  }
  const double power = canvas.TextWidth(x_.ticks.power, kTickFont);
  canvas.FittedText({plot.x + plot.width / 2, below + kLine + 2}, x_.label, kLabelFont, Align::kCenter, style_.text,
                    plot.width - 2 * power);
  canvas.Text({plot.right(), below + kLine + 2}, x_.ticks.power, kTickFont, Align::kRight, style_.muted);
  canvas.FittedText({plot.x - kTick - kPad - widest - 6, plot.y + plot.height / 2}, y_.label, kLabelFont,
                    Align::kCenter, style_.text, plot.height, kUpright);
  canvas.Text({plot.x, plot.y - 5}, y_.ticks.power, kTickFont, Align::kLeft, style_.muted);
}

double MeasureRight(Canvas& canvas, const AxisScale& scale) {
  return kTick + kPad + WidestLabel(canvas, scale.ticks) + (scale.label.empty() ? 0 : kLine + 2);
}

void DrawRight(Canvas& canvas, const Rectangle& bar, const AxisScale& scale, const Style& style) {
  canvas.Outline(bar, style.axis, kThin);
  for (const Tick& tick : scale.ticks.ticks) {
    const double y = bar.bottom() - scale.Position(tick.value) * bar.height;
    canvas.Stroke({{bar.right(), y}, {bar.right() + kTick, y}}, style.axis, kThin);
    canvas.Text({bar.right() + kTick + kPad, y + kCap * kTickFont.size}, tick.label, kTickFont, Align::kLeft,
                style.text);
  }
  canvas.Text({bar.x, bar.y - 5}, scale.ticks.power, kTickFont, Align::kLeft, style.muted);
  canvas.FittedText({bar.right() + MeasureRight(canvas, scale) - 2, bar.y + bar.height / 2}, scale.label, kLabelFont,
                    Align::kCenter, style.text, bar.height, kUpright);
}

}  // namespace grbm
