#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "evaluate/common.h"
#include "evaluate/metrics.h"

namespace grbm {

namespace {

constexpr Index kFrame = 3;
constexpr float kDark = 5;

// The values of an image in its outer kFrame rows and columns.
std::vector<std::size_t> FrameOf(const ImageShape& shape) {
  std::vector<std::size_t> frame;
  for (Index i = 0; i < shape.size(); ++i) {
    const Index y = i / shape.channels / shape.width;
    const Index x = i / shape.channels % shape.width;
    const Index edge = std::min({y, x, shape.height - 1 - y, shape.width - 1 - x});
    if (edge >= kFrame) continue;
    frame.push_back(ToSize(i));
  }
  return frame;
}

// The share of values above kDark there, and its error over images.
Estimate LitFrame(ConstMatrix rows, const std::vector<std::size_t>& frame) {
  std::vector<double> shares;
  for (Index r = 0; r < rows.rows(); ++r) {
    const auto lit = std::ranges::count_if(frame, [&](std::size_t i) { return rows.row(r)[i] > kDark; });
    shares.push_back(static_cast<double>(lit) / static_cast<double>(frame.size()));
  }
  return Mean(shares);
}

std::vector<Score> Measure(Evaluation& evaluation) {
  const std::vector<std::size_t> frame = FrameOf(evaluation.file().image_shape);
  const std::string note =
      fmt::format("share of values above {} of 255 in the outer {} rows and columns", kDark, kFrame);
  return {{"frame", LitFrame(evaluation.samples(), frame), note},
          {"frame_training", LitFrame(evaluation.training(), frame), "the data"}};
}

}  // namespace

const Metric kBackgroundMetric = {
    "background", "how much of the images' frame is lit: a clean background, or a grey one",
    [](const Evaluation& evaluation) -> std::string {
      const EvaluationRequest& r = evaluation.request();
      return r.data.bits() > 16 || !r.data.shape().known() ? "the data must be images of 8 or 16 bits" : "";
    },
    Measure};

}  // namespace grbm
