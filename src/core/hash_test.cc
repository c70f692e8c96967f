#include "core/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace grbm {
namespace {

std::uint64_t Of(std::initializer_list<std::string_view> pieces) {
  Hash hash;
  for (const std::string_view piece : pieces) hash.Add(piece);
  return hash.value();
}

TEST(HashTest, EveryBitCounts) {
  const std::string bytes(37, 'x');
  std::set<std::uint64_t> seen = {Of({bytes})};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(seen.insert(Of({other})).second) << bit;
  }
}

TEST(HashTest, LengthsOrderAndPiecesCount) {
  std::set<std::uint64_t> seen;
  const std::string zeros(20, '\0');
  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    EXPECT_TRUE(seen.insert(Of({std::string_view(zeros).substr(0, size)})).second) << size;
  }
  EXPECT_NE(Of({"ab", "c"}), Of({"a", "bc"}));
  EXPECT_NE(Of({"a", "b"}), Of({"b", "a"}));
  EXPECT_NE(Of({}), Of({""}));
}

// Files keep it: it must not change.
TEST(HashTest, IsTheSameForever) {
  Hash hash;
  hash.Add("restricted Boltzmann");
  hash.Add(std::uint64_t{7});
  EXPECT_EQ(hash.text(), "7b941d6920b27dd5");
}

}  // namespace
}  // namespace grbm
