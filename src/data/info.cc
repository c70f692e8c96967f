#include "grbm/data/info.h"

#include <fmt/core.h>

#include <cmath>

#include "data/moments.h"
#include "grbm/core/error.h"

namespace grbm {

DataInfo Describe(const Dataset& data) {
  GRBM_CHECK(data.rows() > 0);
  DataInfo info;
  info.source = data.source();
  info.rows = data.rows();
  info.visible = data.visible();
  info.shape = data.shape();
  info.warning = data.warning();
  info.dtype = data.bits() == 32 ? "f32" : fmt::format("u{}", data.bits());
  const UnitMoments units = ComputeMoments(data);
  const PooledMoments all = Pool(units, 0, 1);
  info.bytes = std::int64_t{data.rows()} * data.visible() * (data.is_8bit() ? 1 : 4);
  info.min = double{all.min};
  info.max = double{all.max};
  info.mean = all.mean;
  info.deviation = std::sqrt(all.variance);
  for (std::size_t i = 0; i < units.mean.size(); ++i) info.constant_units += units.constant(i) ? 1 : 0;
  if (data.has_gaps()) {
    for (const double known : units.known) info.missing.push_back(1 - known);
  }
  for (const int label : data.labels()) ++info.labels[label];
  return info;
}

}  // namespace grbm
