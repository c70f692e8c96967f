#include <vector>

#include "core/bytes.h"
#include "data/sparse.h"
#include "fuzz.h"

// Two sizes below 64, an order, and then as many indices as the third number says; what is left starts the lines.
GRBM_FUZZ_TARGET(Sparse, input) {
  grbm::ByteReader reader(input, "input");
  const auto rows = reader.Number<std::uint8_t>("rows");
  const auto columns = reader.Number<std::uint8_t>("columns");
  const bool by_columns = reader.Number<std::uint8_t>("order") % 2 == 1;
  const auto count = reader.Number<std::uint8_t>("count");
  std::vector<std::int64_t> indices;
  for (int i = 0; i < count; ++i) indices.push_back(reader.Number<std::int8_t>("index"));
  std::vector<std::int64_t> starts;
  while (reader.remaining() > 0) starts.push_back(reader.Number<std::int8_t>("start"));
  const std::vector<float> values(count, 1.0f);
  grbm::RowStore store(columns % 64);
  grbm::AppendDense({rows % 64, columns % 64, by_columns, values, indices, starts}, "input", store);
}
