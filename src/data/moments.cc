#include "data/moments.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/bytes.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr Index kBlock = 128;  // rows at a time

// visit(row, weight): visible floats, and what they count for; rows that count for nothing are left out.
template <typename Visit>
void ForEachRow(const Dataset& data, Visit visit) {
  const std::span<const double> weights = data.weights();
  Matrix block(std::min(kBlock, data.rows()), data.visible());
  for (Index first = 0; first < data.rows(); first += kBlock) {
    const MutableMatrix part = block.view().Rows(0, std::min(kBlock, data.rows() - first));
    data.Read(first, part);
    for (Index r = 0; r < part.rows(); ++r) {
      const double weight = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(first + r)];
      if (weight > 0) visit(part.row(r), weight);
    }
  }
}

}  // namespace

UnitMoments ComputeMoments(const Dataset& data) {
  const auto visible = static_cast<std::size_t>(data.visible());
  UnitMoments m;
  m.mean.assign(visible, 0);
  m.variance.assign(visible, 0);
  m.min.assign(visible, std::numeric_limits<float>::infinity());
  m.max.assign(visible, -std::numeric_limits<float>::infinity());
  m.zero.assign(visible, 0);
  double total = 0;  // weight of all rows, and of those whose value is known
  std::vector<double> known(visible);
  ForEachRow(data, [&](std::span<const float> row, double weight) {
    total += weight;
    for (std::size_t i = 0; i < visible; ++i) {
      if (std::isnan(row[i])) continue;
      known[i] += weight;
      m.mean[i] += weight * double{row[i]};
      if (row[i] <= 0) m.zero[i] += weight;
      m.min[i] = std::min(m.min[i], row[i]);
      m.max[i] = std::max(m.max[i], row[i]);
    }
  });
  for (std::size_t i = 0; i < visible; ++i) {
    if (m.min[i] > m.max[i]) {
      const std::vector<std::string>& names = data.names().columns;
      throw DataError(fmt::format("{}: column {}: no value is known: leave the column out", data.source(),
                                  i < names.size() ? Quoted(names[i]) : fmt::format("{} (counted from 1)", i + 1)));
    }
    m.mean[i] = m.constant(i) ? double{m.min[i]} : m.mean[i] / known[i];
    m.known.push_back(known[i] / total);
    m.zero[i] /= known[i];
  }
  ForEachRow(data, [&](std::span<const float> row, double weight) {
    for (std::size_t i = 0; i < visible; ++i) {
      const double d = double{row[i]} - m.mean[i];
      if (!std::isnan(row[i])) m.variance[i] += weight * (d * d);
    }
  });
  for (std::size_t i = 0; i < visible; ++i) m.variance[i] /= known[i];
  return m;
}

UnitMoments WithMargin(UnitMoments units, std::span<const float> margin) {
  for (std::size_t i = 0; i < units.mean.size(); ++i) {
    if (margin[i] == 0 || units.zero[i] == 0) continue;
    const double m = margin[i];
    const double share = units.zero[i];
    // Of x - m [x = 0]: the product of x and [x = 0] is 0, so their covariance is -mean share.
    units.variance[i] += m * m * share * (1 - share) + 2 * m * units.mean[i] * share;
    units.mean[i] -= m * share;
    units.min[i] -= margin[i];
    if (units.max[i] <= 0) units.max[i] -= margin[i];
  }
  return units;
}

PooledMoments Pool(const UnitMoments& units, std::size_t first, std::size_t step) {
  PooledMoments pooled{0, 0, units.min[first], units.max[first]};
  double count = 0;
  for (std::size_t i = first; i < units.mean.size(); i += step) {
    pooled.mean += units.known[i] * units.mean[i];
    pooled.min = std::min(pooled.min, units.min[i]);
    pooled.max = std::max(pooled.max, units.max[i]);
    count += units.known[i];
  }
  pooled.mean /= count;
  // Within the units, and between them.
  for (std::size_t i = first; i < units.mean.size(); i += step) {
    const double d = units.mean[i] - pooled.mean;
    pooled.variance += units.known[i] * (units.variance[i] + d * d) / count;
  }
  return pooled;
}

}  // namespace grbm
