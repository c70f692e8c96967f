#include "data/gzip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr std::size_t kFirstBuffer = 65536;

class Inflater {
 public:
  Inflater(std::string_view compressed, const std::string& where) : input_(compressed), where_(where) {
    constexpr int kGzip = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` from the start and returns how much it could; less than `size` only at the content's end.
  std::size_t Read(char* out, std::size_t size) {
    std::size_t done = 0;
    while (done < size && !at_end_) {
      Feed();
      const std::size_t room = std::min<std::size_t>(size - done, std::numeric_limits<uInt>::max());
      stream_.next_out = reinterpret_cast<Bytef*>(out + done);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        NextMember();
      } else if (status == Z_BUF_ERROR || (status == Z_OK && exhausted() && stream_.avail_out != 0)) {
        Refuse("the compressed data end too early: truncated?");
      } else if (status != Z_OK) {
        Refuse("the compressed data are damaged");
      }
    }
    return done;
  }

 private:
  std::size_t position() const { return next_ - stream_.avail_in; }
  bool exhausted() const { return next_ == input_.size() && stream_.avail_in == 0; }
  void Feed() {
    if (stream_.avail_in != 0 || next_ == input_.size()) return;
    const std::size_t count = std::min<std::size_t>(input_.size() - next_, std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data() + next_));
    stream_.avail_in = static_cast<uInt>(count);
    next_ += count;
  }
  void NextMember() {
    if (exhausted()) {
      at_end_ = true;
    } else if (!IsGzip(input_.substr(position()))) {
      Refuse("bytes that are not compressed data follow the compressed data");
    } else {
      ::inflateReset(&stream_);
    }
  }
  [[noreturn]] void Refuse(std::string_view what) const {
    throw DataError(fmt::format("{}: byte {}: {}", where_, position(), what));
  }

  std::string_view input_;
  const std::string& where_;
  z_stream stream_{};
  std::size_t next_ = 0;  // first byte that zlib has not been given
  bool at_end_ = false;
};

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string GunzipStart(std::string_view compressed, std::size_t count, const std::string& where) {
  std::string content(count, '\0');
  content.resize(Inflater(compressed, where).Read(content.data(), count));
  return content;
}

std::string Gunzip(std::string_view compressed, std::size_t max_size, const std::string& where) {
  Inflater inflater(compressed, where);
  std::string content;
  std::size_t size = 0;
  for (;;) {
    // One byte more than allowed: too much then shows without another buffer.
    content.resize(std::min(std::max(2 * size, kFirstBuffer), max_size + 1));
    size += inflater.Read(content.data() + size, content.size() - size);
    if (size > max_size) {
      throw DataError(fmt::format("{}: inflates to more than the {} bytes that are allowed here", where, max_size));
    }
    if (size < content.size()) break;
  }
  content.resize(size);
  return content;
}

}  // namespace grbm
