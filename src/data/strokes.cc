#include "data/strokes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "grbm/core/random.h"

namespace grbm {

namespace {

constexpr Index kSide = 28;
constexpr float kMargin = 5;
constexpr float kHalfWidth = 1.5f;  // of a line, in pixels; one more pixel fades out

using Point = std::array<float, 2>;

float DistanceToSegment(Point p, Point a, Point b) {
  const Point ab = {b[0] - a[0], b[1] - a[1]};
  const Point ap = {p[0] - a[0], p[1] - a[1]};
  const float length = std::max(1e-6f, ab[0] * ab[0] + ab[1] * ab[1]);
  const float t = std::clamp((ap[0] * ab[0] + ap[1] * ab[1]) / length, 0.0f, 1.0f);
  return std::hypot(ap[0] - t * ab[0], ap[1] - t * ab[1]);
}

}  // namespace

Dataset MakeStrokes(std::uint64_t seed, Index count) {
  const Stream stream(seed, Purpose::kStrokes);
  std::vector<std::uint8_t> values;
  values.reserve(static_cast<std::size_t>(count * kSide * kSide));
  for (Index i = 0; i < count; ++i) {
    std::array<Point, 3> points;
    for (std::uint32_t k = 0; k < points.size(); ++k) {
      const PhiloxWords words = stream.Words(static_cast<std::uint64_t>(i), 0, k);
      for (std::size_t c = 0; c < 2; ++c) {
        points[k][c] = kMargin + (static_cast<float>(kSide) - 2 * kMargin) * UniformFloat(words[c]);
      }
    }
    for (Index y = 0; y < kSide; ++y) {
      for (Index x = 0; x < kSide; ++x) {
        const Point p = {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
        const float distance =
            std::min(DistanceToSegment(p, points[0], points[1]), DistanceToSegment(p, points[1], points[2]));
        values.push_back(static_cast<std::uint8_t>(255 * std::clamp(kHalfWidth + 1 - distance, 0.0f, 1.0f)));
      }
    }
  }
  return {std::move(values), kSide * kSide, {kSide, kSide, 1}, "strokes"};
}

}  // namespace grbm
