// Element-wise kernels, random draws and row sums, as plain loops.
#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace grbm::kernels {

namespace {

// Calls use(unit, words) once per counter that units below `units` draw from; word w is for unit + w·kLanes.
template <typename Use>
void ForCounters(const DrawKey& key, Index units, const Use& use) {
  for (Index tile = 0; tile < units; tile += Stream::kTile) {
    const Index lanes = std::min(Stream::kLanes, units - tile);
    for (Index lane = 0; lane < lanes; ++lane) {
      const auto counter = static_cast<std::uint32_t>(tile / Stream::kTile * Stream::kLanes + lane);
      use(tile + lane, key.stream.Words(key.step, key.chain, counter));
    }
  }
}

}  // namespace

void Sigmoid(std::span<const float> x, std::span<float> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = 1.0f / (1.0f + std::exp(-x[i]));
}

void DrawNormals(const DrawKey& key, std::span<float> out) {
  const auto units = static_cast<Index>(out.size());
  const auto put = [&](Index unit, float value) {
    if (unit < units) out[static_cast<std::size_t>(unit)] = value;
  };
  ForCounters(key, units, [&](Index first, const PhiloxWords& words) {
    for (Index pair = 0; pair < 2; ++pair) {
      const Index unit = first + 2 * pair * Stream::kLanes;
      if (unit >= units) return;
      const auto w = static_cast<std::size_t>(2 * pair);
      const auto [a, b] = NormalPair(words[w], words[w + 1]);
      put(unit, a);
      put(unit + Stream::kLanes, b);
    }
  });
}

void DrawBernoulli(const DrawKey& key, std::span<const float> logits, float inverse_temperature, BitView h, Index row) {
  const auto units = static_cast<Index>(logits.size());
  for (Index g = 0; g < h.groups(); ++g) h.word(row, g) = 0;
  ForCounters(key, units, [&](Index first, const PhiloxWords& words) {
    for (Index w = 0; w < 4; ++w) {
      const Index unit = first + w * Stream::kLanes;
      if (unit >= units) return;
      // u < sigmoid(x), without the division.
      const float u = UniformFloat(words[static_cast<std::size_t>(w)]);
      const float x = inverse_temperature * logits[static_cast<std::size_t>(unit)];
      const bool on = u + u * std::exp(-x) < 1.0f;
      h.word(row, unit / BitView::kGroup) |= std::uint64_t{on} << (unit % BitView::kGroup);
    }
  });
}

double SumSoftplus(std::span<const float> x) {
  double sum = 0;
  for (const double value : x) sum += std::max(value, 0.0) + std::log1p(std::exp(-std::abs(value)));
  return sum;
}

double SumWhereSet(std::span<const float> x, ConstBitView h, Index row) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (h.Get(row, static_cast<Index>(j))) sum += x[j];
  }
  return sum;
}

double SumScaledSquares(std::span<const float> v, std::span<const float> mu, std::span<const float> inverse_variance) {
  double sum = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double d = double{v[i]} - double{mu[i]};
    sum += d * d * double{inverse_variance[i]};
  }
  return sum;
}

}  // namespace grbm::kernels
