// Processes that work on one thing together, as those of an MPI job do: what they say to each other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

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

}  // namespace grbm
