// A fast 64-bit digest that tells contents apart. Not against forgery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace grbm {

// Of all that was added, in order and piece by piece: "ab", "c" and "a", "bc" differ. The same on every machine. Of two
// contents that differ in one word of 8 bytes the digests always differ.
class Hash {
 public:
  void Add(std::string_view bytes);
  void Add(std::uint64_t number) { Mix(number); }

  std::uint64_t value() const;
  // 16 hexadecimal digits.
  std::string text() const;

 private:
  // One to one in the state for each word, and in the word for each state.
  void Mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9fb21c651e98df25;
    state_ ^= state_ >> 32;
  }

  std::uint64_t state_ = 0x243f6a8885a308d3;
};

// The text of the hash of these bytes.
std::string Digest(std::string_view bytes);

}  // namespace grbm
