// Panels, checked and ready to be drawn.
#pragma once

#include <memory>
#include <string>

#include "grbm/report/figure.h"
#include "report/axes.h"
#include "report/canvas.h"

namespace grbm {

class Drawing {
 public:
  virtual ~Drawing() = default;
  // What axes, colour bars and legends need about the plot; titles and captions are the figure's.
  virtual Margins Measure(Canvas& canvas) const = 0;
  virtual void Draw(Canvas& canvas, const Rectangle& plot) const = 0;
};

// What a panel needs to know of its figure.
struct PanelContext {
  const Style& style;
  double plot_width;
  double plot_height;
  Canvas& canvas;     // for measuring
  std::string where;  // such as "figure: panel 2", opens messages
};

// Throw DataError or ConfigError where the panel cannot be drawn. The panel must outlive its drawing.
std::unique_ptr<Drawing> Prepare(const DensityPanel& panel, const PanelContext& context);
std::unique_ptr<Drawing> Prepare(const ScatterPanel& panel, const PanelContext& context);
std::unique_ptr<Drawing> Prepare(const LinePanel& panel, const PanelContext& context);
std::unique_ptr<Drawing> Prepare(const HistogramPanel& panel, const PanelContext& context);
std::unique_ptr<Drawing> Prepare(const ImagePanel& panel, const PanelContext& context);

}  // namespace grbm
