// A random order of many things, of which any part can be had without the rest.
#pragma once

#include <cstdint>

#include "grbm/core/random.h"

namespace grbm {

// A bijection of 0 ... size - 1, a function of the stream and the number and of nothing else; nothing is stored.
//
// An alternating Feistel network on the fewest bits that hold size - 1, whose round functions are Philox; what leaves
// the range goes through again (cycle walking), less than twice on average. Networks of four bits and more make only
// even permutations, so for a size that is itself a power of two from 16 on half of all orders cannot come up.
class Permutation {
 public:
  // 1 ≤ size ≤ 2^62.
  Permutation(const Stream& stream, std::uint64_t number, std::uint64_t size);

  std::uint64_t size() const { return size_; }
  // 0 ≤ index < size.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  Stream stream_;
  std::uint64_t number_;
  std::uint64_t size_;
  int low_bits_ = 0;
  int high_bits_ = 0;
};

}  // namespace grbm
