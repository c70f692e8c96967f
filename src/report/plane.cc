// Panels of the plane: heat maps, points, images.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "grbm/core/error.h"
#include "report/drawing.h"
#include "report/image_check.h"

namespace grbm {

namespace {

constexpr double kBarGap = 8;
constexpr double kBarWidth = 9;

Axes MakeAxes(const Axis& x, const Axis& y, Extent x_data, Extent y_data, double padding, const PanelContext& context) {
  return {
      MakeScale(x, x_data, padding, Direction::kAcross, context.plot_width, context.canvas, context.where + ": x axis"),
      MakeScale(y, y_data, padding, Direction::kUp, context.plot_height, context.canvas, context.where + ": y axis"),
      context.style};
}

void RefuseLog(const Axis& axis, const std::string& where, const char* what) {
  if (axis.log) throw ConfigError(fmt::format("{}: log = true: allowed is false for {}", where, what));
}

class DensityDrawing : public Drawing {
 public:
  DensityDrawing(const DensityPanel& panel, const PanelContext& context)
      : axes_(MakeAxes(panel.x, panel.y, {0, static_cast<double>(panel.density.cols())},
                       {0, static_cast<double>(panel.density.rows())}, 0, context)),
        style_(context.style) {
    RefuseLog(panel.x, context.where + ": x axis", "a heat map");
    RefuseLog(panel.y, context.where + ": y axis", "a heat map");
    if (panel.value.log && panel.value.low == panel.value.high) {
      throw ConfigError(context.where + ": value: log = true: give the range of the colours, both ends above 0");
    }
    const Matrix& density = panel.density;
    Extent values = kNothing;
    for (Index r = 0; r < density.rows(); ++r) {
      for (Index c = 0; c < density.cols(); ++c) {
        if (!std::isfinite(density(r, c))) {
          throw DataError(
              fmt::format("{}: density({}, {}) = {}: allowed are finite numbers", context.where, r, c, density(r, c)));
        }
        values.Include(density(r, c));
      }
    }
    if (values.low >= 0) values.low = 0;
    value_ = MakeScale(panel.value, values, 0, Direction::kUp, context.plot_height, context.canvas,
                       context.where + ": value");
    map_ = {density.rows(), density.cols(), 3, {}};
    for (Index r = density.rows() - 1; r >= 0; --r) {
      for (const float v : density.row(r)) Append(map_, value_.Position(static_cast<double>(v)));
    }
    constexpr int kShades = 256;
    bar_ = {kShades, 1, 3, {}};
    for (int i = kShades - 1; i >= 0; --i) Append(bar_, static_cast<double>(i) / (kShades - 1));
  }

  Margins Measure(Canvas& canvas) const override {
    Margins room = axes_.Measure(canvas);
    room.right = std::max(room.right, kBarGap + kBarWidth + MeasureRight(canvas, value_));
    if (!value_.ticks.power.empty()) room.top = std::max(room.top, 12.0);
    return room;
  }
  void Draw(Canvas& canvas, const Rectangle& plot) const override {
    canvas.Picture(map_, plot);
    axes_.DrawLines(canvas, plot, true);
    const Rectangle bar = {plot.right() + kBarGap, plot.y, kBarWidth, plot.height};
    canvas.Picture(bar_, bar);
    DrawRight(canvas, bar, value_, style_);
  }

 private:
  static void Append(Image& image, double position) {
    const Color color = Viridis(position);
    image.pixels.insert(image.pixels.end(), color.begin(), color.end());
  }

  Axes axes_;
  AxisScale value_;
  Image map_, bar_;
  const Style& style_;
};

class ScatterDrawing : public Drawing {
 public:
  ScatterDrawing(const ScatterPanel& panel, const PanelContext& context)
      : panel_(panel), axes_(CheckedAxes(panel, context)), style_(context.style) {
    if (!(panel.radius >= 0 && panel.radius <= 100)) {
      throw ConfigError(fmt::format("{}: radius = {}: allowed is 0 to 100 points", context.where, panel.radius));
    }
    // The more points, the smaller and fainter, so that a crowd still shows where it is densest.
    const double crowd = std::clamp(std::log10(static_cast<double>(panel.points.rows()) / 100) / 3, 0.0, 1.0);
    radius_ = panel.radius > 0 ? panel.radius : 1.9 - 1.2 * crowd;
    alpha_ = 0.75 - 0.62 * crowd;
  }

  Margins Measure(Canvas& canvas) const override { return axes_.Measure(canvas); }
  void Draw(Canvas& canvas, const Rectangle& plot) const override {
    axes_.DrawGrid(canvas, plot);
    canvas.BeginClip(plot);
    const Matrix& points = panel_.points;
    for (Index i = 0; i < points.rows(); ++i) {
      const double x = static_cast<double>(points(i, 0)), y = static_cast<double>(points(i, 1));
      const double across = axes_.x().Position(x), up = axes_.y().Position(y);
      if (across < -0.1 || across > 1.1 || up < -0.1 || up > 1.1) continue;
      canvas.Dot(axes_.PointAt(plot, x, y), radius_, style_.series[0], alpha_);
    }
    canvas.EndClip();
    axes_.DrawLines(canvas, plot, true);
  }

 private:
  static Axes CheckedAxes(const ScatterPanel& panel, const PanelContext& context) {
    if (panel.points.cols() != 2 || panel.points.rows() < 1) {
      throw DataError(fmt::format("{}: points of {}×{}: allowed is points × 2, at least one point", context.where,
                                  panel.points.rows(), panel.points.cols()));
    }
    Extent ranges[2] = {kNothing, kNothing};
    for (Index i = 0; i < panel.points.rows(); ++i) {
      for (Index c = 0; c < 2; ++c) {
        const auto value = static_cast<double>(panel.points(i, c));
        if (!std::isfinite(value)) {
          throw DataError(
              fmt::format("{}: points({}, {}) = {}: allowed are finite numbers", context.where, i, c, value));
        }
        ranges[c].Include(value);
      }
    }
    return MakeAxes(panel.x, panel.y, ranges[0], ranges[1], 0.05, context);
  }

  const ScatterPanel& panel_;
  Axes axes_;
  const Style& style_;
  double radius_ = 1;
  double alpha_ = 1;
};

class ImageDrawing : public Drawing {
 public:
  ImageDrawing(const ImagePanel& panel, const PanelContext& context) : image_(panel.image) {
    CheckImage(panel.image, context.where + ": image");
  }
  Margins Measure(Canvas&) const override { return {}; }
  void Draw(Canvas& canvas, const Rectangle& plot) const override {
    const double scale =
        std::min(plot.width / static_cast<double>(image_.width), plot.height / static_cast<double>(image_.height));
    const double width = scale * static_cast<double>(image_.width);
    const double height = scale * static_cast<double>(image_.height);
    canvas.Picture(image_, {plot.x + (plot.width - width) / 2, plot.y + (plot.height - height) / 2, width, height});
  }

 private:
  const Image& image_;
};

}  // namespace

std::unique_ptr<Drawing> Prepare(const DensityPanel& panel, const PanelContext& context) {
  const Index values = ImageValues(panel.density.rows(), panel.density.cols(), 3);
  if (values < 0) {
    throw DataError(fmt::format("{}: density of {}×{}: allowed are 1 or more rows and columns", context.where,
                                panel.density.rows(), panel.density.cols()));
  }
  return std::make_unique<DensityDrawing>(panel, context);
}

std::unique_ptr<Drawing> Prepare(const ScatterPanel& panel, const PanelContext& context) {
  return std::make_unique<ScatterDrawing>(panel, context);
}

std::unique_ptr<Drawing> Prepare(const ImagePanel& panel, const PanelContext& context) {
  return std::make_unique<ImageDrawing>(panel, context);
}

}  // namespace grbm
