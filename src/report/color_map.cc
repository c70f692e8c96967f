#include "grbm/report/color_map.h"

#include <algorithm>
#include <cmath>

namespace grbm {

namespace {

// Ten equally spaced colours of viridis, by S. van der Walt, N. Smith and E. Firing (BIDS/colormap, licence CC0). The
// colours between are interpolated (Catmull and Rom, 1974).
constexpr std::array<Color, 10> kViridis = {{{0x44, 0x01, 0x54},
                                             {0x48, 0x28, 0x78},
                                             {0x3e, 0x4a, 0x89},
                                             {0x31, 0x68, 0x8e},
                                             {0x26, 0x82, 0x8e},
                                             {0x1f, 0x9e, 0x89},
                                             {0x35, 0xb7, 0x79},
                                             {0x6d, 0xcd, 0x59},
                                             {0xb4, 0xde, 0x2c},
                                             {0xfd, 0xe7, 0x25}}};

}  // namespace

Color Viridis(double position) {
  if (std::isnan(position)) return {128, 128, 128};
  constexpr int kLast = static_cast<int>(kViridis.size()) - 1;
  const double scaled = std::clamp(position, 0.0, 1.0) * kLast;
  const int knot = std::min(static_cast<int>(scaled), kLast - 1);
  const double t = scaled - knot;
  Color color;
  for (std::size_t c = 0; c < 3; ++c) {
    const auto at = [c](int i) { return static_cast<double>(kViridis[static_cast<std::size_t>(i)][c]); };
    // Past the ends the curve goes on straight.
    const double p1 = at(knot), p2 = at(knot + 1);
    const double p0 = knot > 0 ? at(knot - 1) : 2 * p1 - p2;
    const double p3 = knot + 2 <= kLast ? at(knot + 2) : 2 * p2 - p1;
    const double value = p1 + t / 2 * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
    color[c] = static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
  }
  return color;
}

}  // namespace grbm
