// ZIP archives, as far as .npz needs them: stored or deflated members, no encryption. Those of
// 4 GiB and more (ZIP64) are read, and not written.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace grbm {

struct ZipMember {
  std::string name;
  std::string_view data;   // as stored in the archive
  std::uint64_t size = 0;  // when inflated
  std::uint32_t crc = 0;
  bool deflated = false;
};

// The members of an archive in memory, in the order of its directory. They refer to it, lie within
// it and do not overlap. Throws DataError, opened by `where`.
std::vector<ZipMember> ListZip(std::string_view archive, const std::string& where);

// The content of a deflated member: at most `limit` bytes, and memory only for what really comes
// out. Throws DataError. The first hands it over piece by piece.
void Inflate(const ZipMember& member, std::uint64_t limit, const std::string& where,
             const std::function<void(std::string_view piece)>& take);
std::string Inflate(const ZipMember& member, std::uint64_t limit, const std::string& where);
void CheckCrc(std::string_view content, const ZipMember& member, const std::string& where);

// An uncompressed archive as pieces to be written one after the other.
class ZipWriter {
 public:
  explicit ZipWriter(std::string where) : where_(std::move(where)) {}

  // The member's content is `head` and `body`, one after the other. `body` must outlive the writer.
  void Add(const std::string& name, const std::string& head, std::string_view body);
  // Valid as long as the writer.
  std::vector<std::string_view> Finish();

 private:
  void Append(std::string piece);

  std::string where_;
  std::deque<std::string> owned_;
  std::vector<std::string_view> pieces_;
  std::string directory_;
  std::uint64_t size_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace grbm
