// Where an axis has its ticks, and what they say.
#pragma once

#include <string>
#include <vector>

namespace grbm {

struct Tick {
  double value = 0;
  std::string label;  // empty: a minor tick
};

struct Ticks {
  std::vector<Tick> ticks;  // rising
  std::string power;        // a factor that all labels share, such as "×10⁵"; or empty
};

// At most about `most` labels at multiples of 1, 2 or 5 times a power of ten within [low, high]. low < high, finite.
Ticks LinearTicks(double low, double high, int most);

// Decades, with minor ticks between them where there is room; below two decades 1, 2, 5 times a power of ten. 0 < low < high.
Ticks LogTicks(double low, double high, int most);

}  // namespace grbm
