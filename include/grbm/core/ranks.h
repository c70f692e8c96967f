// Processes that work on one thing together, as those of an MPI job do: what they say to each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grbm/core/matrix.h"

namespace grbm {

// The base class is one process on its own, which has nobody to talk to.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const { return 0; }
  virtual int count() const { return 1; }
  // Both return at once; until Wait returns, the memory is in use. What goes from one rank to another arrives in the order in
  // which it was sent, and is received in pieces of the same sizes.
  virtual void Send(int /*to*/, std::span<const std::byte> /*bytes*/) {}
  virtual void Receive(int /*from*/, std::span<std::byte> /*bytes*/) {}
  // Until all that was begun is done.
  virtual void Wait() {}
  // Moves on what was begun, where that needs a hand, and returns at once.
  virtual void Progress() {}
};

// This process alone.
Ranks& OneRank();

template <typename T>
void Send(Ranks& ranks, int to, std::span<const T> values) {
  if (!values.empty()) ranks.Send(to, std::as_bytes(values));
}
template <typename T>
void Receive(Ranks& ranks, int from, std::span<T> values) {
  if (!values.empty()) ranks.Receive(from, std::as_writable_bytes(values));
}

// What rank 0 has in `text`, for all.
void Broadcast(Ranks& ranks, std::string& text);

// Each rank's values, all[rank], which have their sizes already and hold this rank's own: after it, those of all.
template <typename T>
void GatherAll(Ranks& ranks, std::vector<std::vector<T>>& all) {
  const auto mine = static_cast<std::size_t>(ranks.rank());
  for (int r = 0; r < ranks.count(); ++r) {
    if (r == ranks.rank()) continue;
    Receive<T>(ranks, r, all[static_cast<std::size_t>(r)]);
    Send<T>(ranks, r, all[mine]);
  }
  ranks.Wait();
}

// What make() returns on rank 0, for all ranks.
template <typename Make>
std::string FromFirst(Ranks& ranks, const Make& make) {
  std::string text = ranks.rank() == 0 ? make() : std::string();
  if (ranks.count() > 1) Broadcast(ranks, text);
  return text;
}

// Of `count` things in a row, neighbouring ones for each rank, as many as for others: the first, and how many.
struct RankShare {
  Index first;
  Index count;
};
RankShare ShareOfRank(int rank, int ranks, Index count);

// All of `rows` rows, of which each rank has rows_of(rank) in `own`; on every rank.
template <typename T, typename RowsOf>
BasicMatrix<T> GatherRows(Ranks& ranks, BasicMatrix<T> own, Index rows, const RowsOf& rows_of) {
  if (ranks.count() == 1) return own;
  std::vector<std::vector<T>> all;
  for (int r = 0; r < ranks.count(); ++r) all.emplace_back(static_cast<std::size_t>(rows_of(r) * own.cols()));
  std::vector<T>& mine = all[static_cast<std::size_t>(ranks.rank())];
  mine.assign(own.values().begin(), own.values().end());
  GatherAll(ranks, all);
  BasicMatrix<T> gathered(rows, own.cols());
  auto to = gathered.values().begin();
  for (const std::vector<T>& part : all) to = std::copy(part.begin(), part.end(), to);
  return gathered;
}

// The same of rows of which each rank has its share.
template <typename T>
BasicMatrix<T> GatherRows(Ranks& ranks, BasicMatrix<T> own, Index rows) {
  return GatherRows(ranks, std::move(own), rows,
                    [&](int rank) { return ShareOfRank(rank, ranks.count(), rows).count; });
}

// Rows that ranks make together: each its share by make(first, count), which all then have. Ranks without a share do not make
// any.
template <typename T = float, typename Make>
BasicMatrix<T> RowsTogether(Ranks& ranks, Index rows, Index cols, const Make& make) {
  const auto [first, count] = ShareOfRank(ranks.rank(), ranks.count(), rows);
  return GatherRows<T>(ranks, count > 0 ? make(first, count) : BasicMatrix<T>(0, cols), rows);
}

}  // namespace grbm
