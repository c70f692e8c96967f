#include "core/zip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <span>

#include "core/bytes.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kDirectorySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocatorSignature = 0x07064b50;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kEncrypted = 1;        // bit of the flags
constexpr std::uint16_t kVersion = 20;         // 2.0: deflate
constexpr std::uint16_t kDate = 1 << 5 | 1;    // 1 January 1980, the first that the format knows
constexpr std::uint32_t kZip64 = 0xffffffff;   // in place of a number that needs 64 bits
constexpr std::uint16_t kZip64Count = 0xffff;  // the same, of members
constexpr std::uint16_t kZip64Field = 1;       // the extra field with such numbers
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kMaxComment = 65535;
constexpr std::size_t kPiece = 1 << 20;  // bytes that are inflated at a time

// Where the central directory lies.
struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
  std::uint64_t limit = 0;  // where the records after it begin
};

bool Fits(const Directory& d) { return d.offset <= d.limit && d.size <= d.limit - d.offset && d.count <= d.size; }

// That of an archive of 4 GiB or more, or of many members: by a record that lies before the end record, at `end`.
Directory FindDirectory64(std::string_view archive, std::size_t end, const std::string& where) {
  constexpr std::string_view kWhat = "the end record of ZIP64";
  ByteReader reader(archive.substr(0, end), where);
  reader.Seek(end < kLocatorSize ? 0 : end - kLocatorSize, kWhat);
  const auto locator = reader.Number<std::uint32_t>(kWhat);
  reader.Take(4, kWhat);  // disk
  const auto at = reader.Number<std::uint64_t>(kWhat);
  if (locator != kLocatorSignature || at > end - kLocatorSize || end - kLocatorSize - at < kEnd64Size) {
    throw DataError(fmt::format("{}: byte {}: the archive's end record of ZIP64 is damaged", where, end));
  }
  reader.Seek(at, kWhat);
  const auto signature = reader.Number<std::uint32_t>(kWhat);
  reader.Take(20, kWhat);  // size, versions, disks
  Directory directory;
  const auto disk_count = reader.Number<std::uint64_t>(kWhat);
  directory.count = reader.Number<std::uint64_t>(kWhat);
  directory.size = reader.Number<std::uint64_t>(kWhat);
  directory.offset = reader.Number<std::uint64_t>(kWhat);
  directory.limit = at;
  if (signature != kEnd64Signature || disk_count != directory.count || !Fits(directory)) {
    throw DataError(fmt::format("{}: byte {}: the archive's end record of ZIP64 is damaged", where, at));
  }
  return directory;
}

// The record at the end of the archive, before a comment of up to 64 KiB.
Directory FindDirectory(std::string_view archive, const std::string& where) {
  const std::size_t last = archive.size() < kEndSize ? 0 : archive.size() - kEndSize;
  const std::size_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (std::size_t at = last + 1; archive.size() >= kEndSize && at-- > first;) {
    ByteReader reader(archive, where);
    reader.Seek(at, "the end record");
    if (reader.Number<std::uint32_t>("the end record") != kEndSignature) continue;
    const auto disk = reader.Number<std::uint16_t>("the end record");
    const auto directory_disk = reader.Number<std::uint16_t>("the end record");
    const auto disk_count = reader.Number<std::uint16_t>("the end record");
    Directory directory;
    directory.count = reader.Number<std::uint16_t>("the end record");
    directory.size = reader.Number<std::uint32_t>("the end record");
    directory.offset = reader.Number<std::uint32_t>("the end record");
    const auto comment = reader.Number<std::uint16_t>("the end record");
    if (comment != reader.remaining()) continue;
    directory.limit = at;
    if (directory.offset == kZip64 || directory.size == kZip64 || directory.count == kZip64Count) {
      return FindDirectory64(archive, at, where);
    }
    if (disk != 0 || directory_disk != 0 || disk_count != directory.count || !Fits(directory)) {
      throw DataError(fmt::format("{}: byte {}: the archive's end record is damaged", where, at));
    }
    return directory;
  }
  throw DataError(where + ": no end record: not a ZIP archive, or truncated");
}

// Puts the numbers that an entry of the directory has no room for in their place, in the order of the format. Returns
// whether all are there.
bool TakeWide(std::string_view extra, const std::string& where, std::span<std::uint64_t* const> numbers) {
  constexpr std::string_view kWhat = "a member's extra fields";
  ByteReader fields(extra, where);
  std::string_view wide;
  while (fields.remaining() >= 4) {
    const auto id = fields.Number<std::uint16_t>(kWhat);
    const std::string_view field = fields.Take(fields.Number<std::uint16_t>(kWhat), kWhat);
    if (id == kZip64Field) wide = field;
  }
  ByteReader values(wide, where);
  for (std::uint64_t* const number : numbers) {
    if (*number != kZip64) continue;
    if (values.remaining() < sizeof(*number)) return false;
    *number = values.Number<std::uint64_t>(kWhat);
  }
  return true;
}

// The member's data, found through the header in front of them; all within `area`.
std::string_view MemberData(std::string_view area, std::uint64_t offset, std::uint64_t size, const std::string& name,
                            const std::string& where) {
  ByteReader reader(area, where);
  reader.Seek(offset, "a member");
  const auto signature = reader.Number<std::uint32_t>("a member's header");
  reader.Take(22, "a member's header");
  const auto name_size = reader.Number<std::uint16_t>("a member's header");
  const auto extra_size = reader.Number<std::uint16_t>("a member's header");
  if (signature != kLocalSignature || reader.Take(name_size, "a member's name") != name) {
    throw DataError(fmt::format("{}: byte {}: the header of member {} is damaged", where, offset, Quoted(name)));
  }
  reader.Take(extra_size, "a member's extra fields");
  return reader.Take(size, "a member's data");
}

void CheckOverlap(const std::vector<ZipMember>& members, const std::string& where) {
  std::vector<const ZipMember*> sorted;
  sorted.reserve(members.size());
  for (const ZipMember& member : members) sorted.push_back(&member);
  std::ranges::sort(sorted, {}, [](const ZipMember* m) { return m->data.data() + m->data.size(); });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const std::string_view before = sorted[i - 1]->data;
    if (sorted[i]->data.data() < before.data() + before.size()) {
      throw DataError(
          fmt::format("{}: members {} and {} overlap", where, Quoted(sorted[i - 1]->name), Quoted(sorted[i]->name)));
    }
  }
}

std::uint32_t Crc(std::string_view bytes, std::uint32_t start = 0) {
  if (bytes.empty()) return start;  // zlib takes a null pointer as a wish for the initial value
  return static_cast<std::uint32_t>(crc32_z(start, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// The fields that a member's own header and its entry in the directory share.
std::string CommonHeader(std::uint32_t crc, std::uint32_t size, std::size_t name_size) {
  std::string header;
  AppendNumber(header, kVersion);
  AppendNumber(header, std::uint16_t{0});  // flags
  AppendNumber(header, kStored);
  AppendNumber(header, std::uint16_t{0});  // time
  AppendNumber(header, kDate);
  AppendNumber(header, crc);
  AppendNumber(header, size);  // as stored
  AppendNumber(header, size);  // as it is
  AppendNumber(header, static_cast<std::uint16_t>(name_size));
  AppendNumber(header, std::uint16_t{0});  // extra fields
  return header;
}

}  // namespace

std::vector<ZipMember> ListZip(std::string_view archive, const std::string& where) {
  const Directory directory = FindDirectory(archive, where);
  // Members lie before the directory.
  const std::string_view area = archive.substr(0, directory.offset);
  ByteReader reader(archive.substr(0, directory.offset + directory.size), where);
  reader.Seek(directory.offset, "the directory");
  std::vector<ZipMember> members;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    const std::size_t at = reader.position();
    const auto signature = reader.Number<std::uint32_t>("a directory entry");
    reader.Take(4, "a directory entry");  // versions
    const auto flags = reader.Number<std::uint16_t>("a directory entry");
    const auto method = reader.Number<std::uint16_t>("a directory entry");
    reader.Take(4, "a directory entry");  // time and date
    ZipMember member;
    member.crc = reader.Number<std::uint32_t>("a directory entry");
    std::uint64_t stored_size = reader.Number<std::uint32_t>("a directory entry");
    member.size = reader.Number<std::uint32_t>("a directory entry");
    const auto name_size = reader.Number<std::uint16_t>("a directory entry");
    const auto extra_size = reader.Number<std::uint16_t>("a directory entry");
    const auto comment_size = reader.Number<std::uint16_t>("a directory entry");
    reader.Take(8, "a directory entry");  // disk and attributes
    std::uint64_t offset = reader.Number<std::uint32_t>("a directory entry");
    member.name = reader.Take(name_size, "a member's name");
    const std::string_view extra = reader.Take(extra_size, "a directory entry");
    reader.Take(comment_size, "a directory entry");

    const auto refuse = [&](std::string_view what) {
      throw DataError(fmt::format("{}: byte {}: member {}: {}", where, at, Quoted(member.name), what));
    };
    if (signature != kDirectorySignature) refuse("its directory entry is damaged");
    if ((flags & kEncrypted) != 0) refuse("encrypted");
    if (method != kStored && method != kDeflated) {
      refuse(fmt::format("compression method {}: allowed are stored (0) and deflated (8)", method));
    }
    std::uint64_t* const numbers[] = {&member.size, &stored_size, &offset};
    if (!TakeWide(extra, where, numbers)) refuse("4 GiB or more (ZIP64), but of no known size");
    member.deflated = method == kDeflated;
    if (!member.deflated && stored_size != member.size) refuse("stored, but of two sizes");
    member.data = MemberData(area, offset, stored_size, member.name, where);
    members.push_back(std::move(member));
  }
  CheckOverlap(members, where);
  return members;
}

void Inflate(const ZipMember& member, std::uint64_t limit, const std::string& where,
             const std::function<void(std::string_view piece)>& take) {
  const auto refuse = [&](const std::string& what) {
    throw DataError(fmt::format("{}: member {}: {}", where, Quoted(member.name), what));
  };
  if (member.size > limit) {
    refuse(fmt::format("inflates to {} bytes: allowed are {} more", member.size, limit));
  }
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } const end = {&stream};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.data.data()));
  std::size_t given = 0;
  const auto feed = [&] {  // zlib counts in 32 bits
    if (stream.avail_in > 0) return;
    stream.avail_in = static_cast<uInt>(std::min<std::size_t>(std::size_t{1} << 30, member.data.size() - given));
    given += stream.avail_in;
  };

  std::string piece(std::min<std::size_t>(kPiece, member.size), '\0');
  std::size_t size = 0;
  int status = Z_OK;
  while (status == Z_OK && size < member.size) {
    const std::size_t room = std::min<std::size_t>(piece.size(), member.size - size);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(room);
    feed();
    status = inflate(&stream, Z_NO_FLUSH);
    take(std::string_view(piece).substr(0, room - stream.avail_out));
    size += room - stream.avail_out;
  }
  if (status == Z_OK) {  // all is there but the end mark: no room for a byte more
    Bytef more = 0;
    stream.next_out = &more;
    stream.avail_out = 1;
    feed();
    status = inflate(&stream, Z_FINISH);
    if (stream.avail_out == 0) refuse(fmt::format("inflates to more than its {} bytes", member.size));
  }
  if (status != Z_STREAM_END || stream.avail_in != 0 || given != member.data.size() || size != member.size) {
    refuse(fmt::format("the compressed data are damaged after {} of {} bytes", size, member.size));
  }
}

std::string Inflate(const ZipMember& member, std::uint64_t limit, const std::string& where) {
  std::string content;  // grows as bytes come out, so that a claimed size alone costs nothing
  Inflate(member, limit, where, [&](std::string_view piece) { content += piece; });
  return content;
}

void CheckCrc(std::string_view content, const ZipMember& member, const std::string& where) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  return;  // or a fuzzer would see little of what is behind it
#endif
  if (Crc(content) != member.crc) {
    throw DataError(fmt::format("{}: member {}: wrong checksum: the file is damaged", where, Quoted(member.name)));
  }
}

void ZipWriter::Append(std::string piece) {
  size_ += piece.size();
  owned_.push_back(std::move(piece));
  pieces_.push_back(owned_.back());
}

void ZipWriter::Add(const std::string& name, const std::string& head, std::string_view body) {
  const std::uint64_t member_size = head.size() + body.size();
  // Headers and names of all members, the directory included, stay far below 1 MiB each.
  if (size_ + member_size > kZip64 - (1u << 20) || count_ == 1000 || name.size() > 200) {
    throw DataError(
        fmt::format("{}: member {}: allowed in an archive are 4 GiB, 1000 members and names of 200 bytes: use "
                    "safetensors",
                    where_, Quoted(name)));
  }
  const std::string common = CommonHeader(Crc(body, Crc(head)), static_cast<std::uint32_t>(member_size), name.size());
  AppendNumber(directory_, kDirectorySignature);
  AppendNumber(directory_, kVersion);
  directory_ += common;
  directory_.append(10, '\0');  // comment, disk, attributes
  AppendNumber(directory_, static_cast<std::uint32_t>(size_));
  directory_ += name;

  std::string local;
  AppendNumber(local, kLocalSignature);
  Append(local + common + name + head);
  pieces_.push_back(body);
  size_ += body.size();
  ++count_;
}

std::vector<std::string_view> ZipWriter::Finish() {
  const auto offset = static_cast<std::uint32_t>(size_);
  std::string end = directory_;
  AppendNumber(end, kEndSignature);
  AppendNumber(end, std::uint32_t{0});  // disks
  AppendNumber(end, static_cast<std::uint16_t>(count_));
  AppendNumber(end, static_cast<std::uint16_t>(count_));
  AppendNumber(end, static_cast<std::uint32_t>(directory_.size()));
  AppendNumber(end, offset);
  AppendNumber(end, std::uint16_t{0});  // comment
  Append(end);
  return pieces_;
}

}  // namespace grbm
