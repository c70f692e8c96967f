#include "grbm/core/ranks.h"

#include <cstdint>

namespace grbm {

Ranks& OneRank() {
  static Ranks one;
  return one;
}

void Broadcast(Ranks& ranks, std::string& text) {
  std::uint64_t size = text.size();
  const auto pass_on = [&]<typename T>(std::span<T> values) {
    if (ranks.rank() == 0) {
      for (int r = 1; r < ranks.count(); ++r) Send<T>(ranks, r, values);
    } else {
      Receive<T>(ranks, 0, values);
    }
    ranks.Wait();
  };
  pass_on(std::span(&size, 1));
  text.resize(size);
  pass_on(std::span(text.data(), text.size()));
}

RankShare ShareOfRank(int rank, int ranks, Index count) {
  const auto begin = [&](int r) { return count * r / ranks; };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

}  // namespace grbm
