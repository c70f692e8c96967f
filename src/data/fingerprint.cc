#include "grbm/data/fingerprint.h"

#include <bit>

#include "core/hash.h"

namespace grbm {

std::uint64_t Fingerprint(const Dataset& data) {
  Hash hash;
  for (const Index size : {data.rows(), data.visible(), data.shape().height, data.shape().width, data.shape().channels,
                           Index{data.is_8bit() ? 8 : 32}}) {
    hash.Add(static_cast<std::uint64_t>(size));
  }
  const auto width = static_cast<std::size_t>(data.visible()) * (data.is_8bit() ? 1 : sizeof(float));
  for (Index r = 0; r < data.rows(); ++r) hash.Add({static_cast<const char*>(data.row(r)), width});
  for (Index r = 0; r < data.rows() && data.conditions() > 0; ++r) {
    const Matrix conditions = data.ReadConditions(std::span(&r, 1));
    hash.Add({reinterpret_cast<const char*>(conditions.data()), conditions.values().size_bytes()});
  }
  for (const double weight : data.weights()) hash.Add(std::bit_cast<std::uint64_t>(weight));
  return hash.value();
}

}  // namespace grbm
