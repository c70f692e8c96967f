#include <fmt/core.h>

#include <cmath>

#include "evaluate/metrics.h"

namespace grbm {

namespace {

constexpr Index kFrame = 3;
constexpr float kDark = 5;

// The share of values above kDark in the outer kFrame rows and columns of images, and its error over images.
Estimate LitFrame(ConstMatrix rows, const ImageShape& shape) {
  double sum = 0;
  double squares = 0;
  for (Index r = 0; r < rows.rows(); ++r) {
    Index lit = 0;
    Index count = 0;
    for (Index y = 0; y < shape.height; ++y) {
      for (Index x = 0; x < shape.width; ++x) {
        const Index edge = std::min({y, x, shape.height - 1 - y, shape.width - 1 - x});
        if (edge >= kFrame) continue;
        for (Index c = 0; c < shape.channels; ++c) {
          lit += rows(r, (y * shape.width + x) * shape.channels + c) > kDark;
          ++count;
        }
      }
    }
    const double share = static_cast<double>(lit) / static_cast<double>(count);
    sum += share;
    squares += share * share;
  }
  const auto n = static_cast<double>(rows.rows());
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / n)};
}

std::vector<Score> Measure(Evaluation& evaluation) {
  const ImageShape& shape = evaluation.file().image_shape;
  const std::string note =
      fmt::format("share of values above {} of 255 in the outer {} rows and columns", kDark, kFrame);
  return {{"frame", LitFrame(evaluation.samples(), shape), note},
          {"frame_training", LitFrame(evaluation.training(), shape), "the data"}};
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
