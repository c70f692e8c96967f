// Bytes of files whose content is not to be trusted.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace grbm {

static_assert(std::endian::native == std::endian::little,
              "the formats here are little-endian and are copied as they are");

// Walks through bytes and throws DataError, opened by `where`, instead of passing their end.
class ByteReader {
 public:
  // `where` must outlive the reader.
  ByteReader(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  // The next bytes; `what` they are, for the message.
  std::string_view Take(std::uint64_t count, std::string_view what);
  template <typename T>
  T Number(std::string_view what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, Take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  void Seek(std::uint64_t position, std::string_view what);

 private:
  std::string_view bytes_;
  std::string_view where_;
  std::size_t position_ = 0;
};

// Appends a number, little-endian.
template <typename T>
void AppendNumber(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

// 'text' for a message of one line: what is not printable ASCII as \xNN, long text cut.
std::string Quoted(std::string_view text);

}  // namespace grbm
