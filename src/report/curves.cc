// Panels of functions: curves with bands, histograms, and their legend.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "grbm/core/error.h"
#include "report/drawing.h"

namespace grbm {

namespace {

constexpr double kCurveWidth = 1.3;
constexpr double kSwatch = 14;      // length of a legend's line
constexpr double kLegendLine = 13;  // height of a legend's row
constexpr double kLegendGap = 12;   // between entries
constexpr double kBandAlpha = 0.2;
constexpr double kBarAlpha = 0.35;

void CheckCurve(const Curve& curve, const Axis& y_axis, const std::string& where) {
  const auto refuse = [&](const char* what, std::size_t size) {
    throw DataError(fmt::format("{}: curve \"{}\": {} has {} values: expected are {}, as many as x has", where,
                                curve.name, what, size, curve.x.size()));
  };
  if (curve.y.size() != curve.x.size()) refuse("y", curve.y.size());
  if (curve.low.size() != curve.high.size() || (!curve.low.empty() && curve.low.size() != curve.x.size())) {
    refuse(curve.low.size() != curve.x.size() ? "low" : "high",
           curve.low.size() != curve.x.size() ? curve.low.size() : curve.high.size());
  }
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (!std::isfinite(curve.x[i])) {
      throw DataError(
          fmt::format("{}: curve \"{}\": x[{}] = {}: allowed are finite numbers", where, curve.name, i, curve.x[i]));
    }
    if (y_axis.log && curve.y[i] <= 0 && std::isfinite(curve.y[i])) {
      throw DataError(
          fmt::format("{}: curve \"{}\": y[{}] = {} on a logarithmic axis: allowed are values above 0; use "
                      "a linear axis",
                      where, curve.name, i, curve.y[i]));
    }
  }
}

void Include(const Curve& curve, const Axis& y_axis, Extent& x, Extent& y) {
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (!std::isfinite(curve.y[i])) continue;
    x.Include(curve.x[i]);
    y.Include(curve.y[i]);
    for (const std::vector<double>* edge : {&curve.low, &curve.high}) {
      if (!edge->empty() && std::isfinite((*edge)[i]) && (!y_axis.log || (*edge)[i] > 0)) y.Include((*edge)[i]);
    }
  }
}

struct Look {
  Color color;
  std::vector<double> dash;
};

// Colours in turn; with every round another dash.
Look LookOf(std::size_t index, const Style& style) {
  static const std::vector<double> kDashes[] = {{}, {4, 2}, {1.5, 1.5}, {6, 2, 1.5, 2}};
  return {style.series[index % style.series.size()], kDashes[index / style.series.size() % std::size(kDashes)]};
}

// Calls draw(first, last) for each run of indices whose value is finite.
template <typename Finite, typename Draw>
void Runs(std::size_t size, Finite finite, Draw draw) {
  for (std::size_t first = 0; first < size; ++first) {
    if (!finite(first)) continue;
    std::size_t last = first;
    while (last + 1 < size && finite(last + 1)) ++last;
    draw(first, last);
    first = last;
  }
}

void DrawBand(Canvas& canvas, const Rectangle& plot, const Axes& axes, const Curve& curve, Color color) {
  if (curve.low.empty()) return;
  const auto finite = [&](std::size_t i) { return std::isfinite(curve.low[i]) && std::isfinite(curve.high[i]); };
  Runs(curve.x.size(), finite, [&](std::size_t first, std::size_t last) {
    std::vector<Point> polygon;
    for (std::size_t i = first; i <= last; ++i) polygon.push_back(axes.PointAt(plot, curve.x[i], curve.high[i]));
    for (std::size_t i = last + 1; i-- > first;) polygon.push_back(axes.PointAt(plot, curve.x[i], curve.low[i]));
    canvas.Fill(polygon, color, kBandAlpha);
  });
}

void DrawCurve(Canvas& canvas, const Rectangle& plot, const Axes& axes, const Curve& curve, const Look& look) {
  const auto finite = [&](std::size_t i) { return std::isfinite(curve.y[i]); };
  Runs(curve.x.size(), finite, [&](std::size_t first, std::size_t last) {
    std::vector<Point> line;
    for (std::size_t i = first; i <= last; ++i) line.push_back(axes.PointAt(plot, curve.x[i], curve.y[i]));
    if (line.size() == 1) return canvas.Dot(line[0], kCurveWidth, look.color, 1);
    canvas.Stroke(line, look.color, kCurveWidth, look.dash);
  });
}

struct LegendEntry {
  std::string name;
  Look look;
  bool filled = false;
};

// Rows of entries above the plot, where no curve can hide.
class Legend {
 public:
  Legend() = default;
  Legend(std::vector<LegendEntry> entries, const PanelContext& context) : entries_(std::move(entries)) {
    if (entries_.size() == 1 && entries_[0].name.empty()) entries_.clear();
    double x = 0;
    for (const LegendEntry& entry : entries_) {
      const double text = std::min(context.canvas.TextWidth(entry.name, kTickFont), context.plot_width - kSwatch - 4);
      const double width = kSwatch + 4 + text;
      if (x > 0 && x + width > context.plot_width) {
        x = 0;
        ++rows_;
      }
      places_.push_back({x, rows_ * kLegendLine});
      x += width + kLegendGap;
    }
    if (!entries_.empty()) ++rows_;
  }

  double height() const { return rows_ > 0 ? rows_ * kLegendLine + 4 : 0; }
  // top: where the legend begins.
  void Draw(Canvas& canvas, const Rectangle& plot, double top, const Style& style) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const double x = plot.x + places_[i].x;
      const double middle = top + places_[i].y + kLegendLine / 2;
      const Look& look = entries_[i].look;
      if (entries_[i].filled) canvas.Fill({x, middle - 3.5, kSwatch, 7}, look.color, kBarAlpha);
      canvas.Stroke({{x, middle}, {x + kSwatch, middle}}, look.color, kCurveWidth, look.dash);
      canvas.FittedText({x + kSwatch + 4, middle + 3}, entries_[i].name, kTickFont, Align::kLeft, style.text,
                        plot.width - kSwatch - 4);
    }
  }

 private:
  std::vector<LegendEntry> entries_;
  std::vector<Point> places_;
  int rows_ = 0;
};

// For the largest sample the more of two rules: 2 n^(1/3) bins (Rice), which does not grow coarse where the values have
// several modes; bins of 2 IQR n^(-1/3) (Freedman and Diaconis, 1981), which resists values far out.
int AutomaticBins(std::span<const Sample> samples, Extent range) {
  constexpr double kMost = 100;
  const auto largest = std::max_element(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return a.values.size() < b.values.size();
  });
  std::vector<double> sorted = largest->values;
  std::sort(sorted.begin(), sorted.end());
  const double root = std::cbrt(static_cast<double>(sorted.size()));
  const double spread = sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4];
  const double narrow = spread > 0 ? (range.high - range.low) * root / (2 * spread) : 0;
  return static_cast<int>(std::clamp(std::ceil(std::max(2 * root, narrow)), 1.0, kMost));
}

// Densities of the bins between range.low and range.high; what lies outside counts for the total only.
std::vector<double> Densities(const std::vector<double>& values, Extent range, int bins) {
  std::vector<double> density(static_cast<std::size_t>(bins));
  const double width = (range.high - range.low) / bins;
  for (const double v : values) {
    if (v < range.low || v > range.high) continue;
    const auto bin = static_cast<std::size_t>(std::min((v - range.low) / width, bins - 1.0));
    density[bin] += 1 / (static_cast<double>(values.size()) * width);
  }
  return density;
}

// Axes with a legend above them. What stands between the axes is the panel's own.
class FunctionDrawing : public Drawing {
 public:
  FunctionDrawing(Axes axes, std::vector<LegendEntry> entries, const PanelContext& context)
      : axes_(std::move(axes)), legend_(std::move(entries), context), style_(context.style) {}

  Margins Measure(Canvas& canvas) const override {
    Margins room = axes_.Measure(canvas);
    room.top += legend_.height();
    return room;
  }
  void Draw(Canvas& canvas, const Rectangle& plot) const override {
    axes_.DrawGrid(canvas, plot);
    canvas.BeginClip(plot);
    DrawInside(canvas, plot);
    canvas.EndClip();
    axes_.DrawLines(canvas, plot, false);
    legend_.Draw(canvas, plot, plot.y - Measure(canvas).top, style_);
  }

 protected:
  const Axes& axes() const { return axes_; }
  const Style& style() const { return style_; }

 private:
  virtual void DrawInside(Canvas& canvas, const Rectangle& plot) const = 0;

  Axes axes_;
  Legend legend_;
  const Style& style_;
};

class LineDrawing : public FunctionDrawing {
 public:
  LineDrawing(const LinePanel& panel, const PanelContext& context)
      : FunctionDrawing(CheckedAxes(panel, context), Entries(panel, context.style), context), curves_(panel.curves) {}

 private:
  static std::vector<LegendEntry> Entries(const LinePanel& panel, const Style& style) {
    std::vector<LegendEntry> entries;
    for (const Curve& curve : panel.curves) entries.push_back({curve.name, LookOf(entries.size(), style)});
    return entries;
  }
  static Axes CheckedAxes(const LinePanel& panel, const PanelContext& context) {
    if (panel.curves.empty()) throw DataError(context.where + ": no curves: at least one is needed");
    Extent x = kNothing, y = kNothing;
    for (const Curve& curve : panel.curves) {
      CheckCurve(curve, panel.y, context.where);
      Include(curve, panel.y, x, y);
    }
    return {
        MakeScale(panel.x, x, 0, Direction::kAcross, context.plot_width, context.canvas, context.where + ": x axis"),
        MakeScale(panel.y, y, 0.05, Direction::kUp, context.plot_height, context.canvas, context.where + ": y axis"),
        context.style};
  }

  void DrawInside(Canvas& canvas, const Rectangle& plot) const override {
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      DrawBand(canvas, plot, axes(), curves_[i], LookOf(i, style()).color);
    }
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      DrawCurve(canvas, plot, axes(), curves_[i], LookOf(i, style()));
    }
  }

  const std::vector<Curve>& curves_;
};

// The bins of a histogram, and the axes that show them.
struct Bins {
  Extent range;
  std::vector<std::vector<double>> densities;  // by sample
  Axes axes;
};

Bins MakeBins(const HistogramPanel& panel, const PanelContext& context) {
  constexpr int kMostBins = 10000;
  if (panel.bins < 0 || panel.bins > kMostBins) {
    throw ConfigError(fmt::format("{}: bins = {}: allowed is 0 to {}", context.where, panel.bins, kMostBins));
  }
  if (panel.x.log || panel.y.log) {
    throw ConfigError(context.where + ": log = true: allowed is false for the axes of a histogram");
  }
  if (panel.samples.empty()) throw DataError(context.where + ": no samples: at least one is needed");
  Extent data = kNothing, y = {0, 0};
  for (const Sample& sample : panel.samples) {
    if (sample.values.empty()) throw DataError(fmt::format("{}: sample \"{}\" is empty", context.where, sample.name));
    for (std::size_t i = 0; i < sample.values.size(); ++i) {
      if (!std::isfinite(sample.values[i])) {
        throw DataError(fmt::format("{}: sample \"{}\": values[{}] = {}: allowed are finite numbers", context.where,
                                    sample.name, i, sample.values[i]));
      }
      data.Include(sample.values[i]);
    }
  }
  Extent x = data;
  for (const Curve& curve : panel.curves) {
    CheckCurve(curve, panel.y, context.where);
    Include(curve, panel.y, x, y);
  }
  AxisScale across =
      MakeScale(panel.x, x, 0.02, Direction::kAcross, context.plot_width, context.canvas, context.where + ": x axis");
  // Bins span the values, or the axis where its range is given or there is but one value.
  const bool narrow = panel.x.low != panel.x.high || data.low == data.high;
  const Extent range = narrow ? Extent{across.low, across.high} : data;
  int bins = panel.bins > 0 ? panel.bins : AutomaticBins(panel.samples, range);
  if (panel.bins == 0 && data.low == data.high) bins |= 1;  // one value stands in the middle of its bin
  std::vector<std::vector<double>> densities;
  for (const Sample& sample : panel.samples) {
    densities.push_back(Densities(sample.values, range, bins));
    for (const double d : densities.back()) y.Include(d);
  }
  if (y.low < y.high) y.high *= 1.05;
  return {range,
          std::move(densities),
          {std::move(across),
           MakeScale(panel.y, y, 0, Direction::kUp, context.plot_height, context.canvas, context.where + ": y axis"),
           context.style}};
}

class HistogramDrawing : public FunctionDrawing {
 public:
  HistogramDrawing(const HistogramPanel& panel, const PanelContext& context)
      : HistogramDrawing(panel, context, MakeBins(panel, context)) {}

 private:
  HistogramDrawing(const HistogramPanel& panel, const PanelContext& context, Bins bins)
      : FunctionDrawing(std::move(bins.axes), Entries(panel, context.style), context),
        panel_(panel),
        range_(bins.range),
        densities_(std::move(bins.densities)) {}

  static std::vector<LegendEntry> Entries(const HistogramPanel& panel, const Style& style) {
    std::vector<LegendEntry> entries;
    for (const Sample& sample : panel.samples) entries.push_back({sample.name, LookOf(entries.size(), style), true});
    for (const Curve& curve : panel.curves) entries.push_back({curve.name, LookOf(entries.size(), style)});
    return entries;
  }

  void DrawInside(Canvas& canvas, const Rectangle& plot) const override {
    for (std::size_t s = 0; s < densities_.size(); ++s) {
      const double width = (range_.high - range_.low) / static_cast<double>(densities_[s].size());
      std::vector<Point> outline = {axes().PointAt(plot, range_.low, 0)};
      for (std::size_t b = 0; b < densities_[s].size(); ++b) {
        const double left = range_.low + static_cast<double>(b) * width;
        outline.push_back(axes().PointAt(plot, left, densities_[s][b]));
        outline.push_back(axes().PointAt(plot, left + width, densities_[s][b]));
      }
      outline.push_back(axes().PointAt(plot, range_.high, 0));
      canvas.Fill(outline, LookOf(s, style()).color, kBarAlpha);
      canvas.Stroke(outline, LookOf(s, style()).color, 0.9);
    }
    for (std::size_t i = 0; i < panel_.curves.size(); ++i) {
      DrawCurve(canvas, plot, axes(), panel_.curves[i], LookOf(panel_.samples.size() + i, style()));
    }
  }

  const HistogramPanel& panel_;
  Extent range_;
  std::vector<std::vector<double>> densities_;
};

}  // namespace

std::unique_ptr<Drawing> Prepare(const LinePanel& panel, const PanelContext& context) {
  return std::make_unique<LineDrawing>(panel, context);
}

std::unique_ptr<Drawing> Prepare(const HistogramPanel& panel, const PanelContext& context) {
  return std::make_unique<HistogramDrawing>(panel, context);
}

}  // namespace grbm
