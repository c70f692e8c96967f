#include "data/moments.h"

#include <algorithm>
#include <limits>

namespace grbm {

namespace {

constexpr Index kBlock = 128;  // rows at a time

// visit(row): visible floats.
template <typename Visit>
void ForEachRow(const Dataset& data, Visit visit) {
  Matrix block(std::min(kBlock, data.rows()), data.visible());
  for (Index first = 0; first < data.rows(); first += kBlock) {
    const MutableMatrix part = block.view().Rows(0, std::min(kBlock, data.rows() - first));
    data.Read(first, part);
    for (Index r = 0; r < part.rows(); ++r) visit(part.row(r));
  }
}

}  // namespace

UnitMoments ComputeMoments(const Dataset& data) {
  const auto visible = static_cast<std::size_t>(data.visible());
  const auto rows = static_cast<double>(data.rows());
  UnitMoments m;
  m.mean.assign(visible, 0);
  m.variance.assign(visible, 0);
  m.min.assign(visible, std::numeric_limits<float>::infinity());
  m.max.assign(visible, -std::numeric_limits<float>::infinity());
  ForEachRow(data, [&](std::span<const float> row) {
    for (std::size_t i = 0; i < visible; ++i) {
      m.mean[i] += double{row[i]};
      m.min[i] = std::min(m.min[i], row[i]);
      m.max[i] = std::max(m.max[i], row[i]);
    }
  });
  for (std::size_t i = 0; i < visible; ++i) m.mean[i] = m.constant(i) ? double{m.min[i]} : m.mean[i] / rows;
  ForEachRow(data, [&](std::span<const float> row) {
    for (std::size_t i = 0; i < visible; ++i) {
      const double d = double{row[i]} - m.mean[i];
      m.variance[i] += d * d;
    }
  });
  for (double& variance : m.variance) variance /= rows;
  return m;
}

PooledMoments Pool(const UnitMoments& units, std::size_t first, std::size_t step) {
  PooledMoments pooled{0, 0, units.min[first], units.max[first]};
  double count = 0;
  for (std::size_t i = first; i < units.mean.size(); i += step) {
    pooled.mean += units.mean[i];
    pooled.min = std::min(pooled.min, units.min[i]);
    pooled.max = std::max(pooled.max, units.max[i]);
    ++count;
  }
  pooled.mean /= count;
  // Within the units, and between them.
  for (std::size_t i = first; i < units.mean.size(); i += step) {
    const double d = units.mean[i] - pooled.mean;
    pooled.variance += (units.variance[i] + d * d) / count;
  }
  return pooled;
}

}  // namespace grbm
