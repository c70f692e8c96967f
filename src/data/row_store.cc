#include "data/row_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "core/number.h"
#include "data/mapped_file.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr std::size_t kAtOnce = std::size_t{1} << 20;  // bytes that are written at once

std::string Folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

// Opens a file that nobody else can find; returns its former path.
std::string OpenNameless(Descriptor& file) {
  std::string path = Folder() + "/grbm-rows-XXXXXX";
  const int created = ::mkostemp(path.data(), O_CLOEXEC);
  if (created < 0 || !file.Open(path, O_RDWR)) {
    const int code = errno;
    if (created >= 0) ::close(created);
    FailIo(path, "make a file for rows that do not fit into memory; set TMPDIR to a folder with room", code);
  }
  ::close(created);
  ::unlink(path.c_str());
  return path;
}

}  // namespace

std::uint64_t RowsInMemory() {
  if (const char* const text = std::getenv("GRBM_ROWS_IN_MEMORY"); text != nullptr) {
    if (const auto bytes = NumberIn<std::uint64_t>(text)) return *bytes;
    throw ConfigError(fmt::format("GRBM_ROWS_IN_MEMORY = {}: allowed is a whole number of bytes", text));
  }
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

RowStore::RowStore(Index visible, bool is_8bit, std::uint64_t in_memory)
    : visible_(visible), is_8bit_(is_8bit), in_memory_(in_memory) {}

void RowStore::Expect(Index rows) {
  const double bytes = static_cast<double>(rows) * static_cast<double>(visible_) * (is_8bit_ ? 1 : sizeof(float));
  if (bytes <= static_cast<double>(in_memory_)) return bytes_.reserve(static_cast<std::size_t>(bytes));
  struct statvfs room {};
  if (::statvfs(Folder().c_str(), &room) != 0) return;  // making the file tells more
  const double free = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
  if (bytes <= free) return;
  throw IoError(
      fmt::format("{}: {:.3g} GB of rows do not fit into memory, and only {:.3g} GB are free here: set TMPDIR to a "
                  "folder with room",
                  Folder(), bytes / 1e9, free / 1e9));
}

void RowStore::AppendBytes(std::string_view bytes) {
  size_ += bytes.size();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  if (size_ <= in_memory_) return;
  if (!in_file()) path_ = OpenNameless(file_);
  if (bytes_.size() >= kAtOnce) Flush();
}

void RowStore::Flush() {
  WriteAll(file_, path_, std::array{std::string_view(bytes_.data(), bytes_.size())});
  bytes_.clear();
  if (bytes_.capacity() > 2 * kAtOnce) bytes_.shrink_to_fit();
}

Dataset::Storage RowStore::Finish(ImageShape shape, const std::string& source) {
  const auto width = static_cast<std::uint64_t>(visible_) * (is_8bit_ ? 1 : sizeof(float));
  GRBM_CHECK(width == 0 || size_ % width == 0);
  Dataset::Storage storage;
  storage.is_8bit = is_8bit_;
  storage.rows = width > 0 ? static_cast<Index>(size_ / width) : 0;
  storage.visible = visible_;
  storage.shape = shape;
  storage.source = source;
  if (in_file()) {
    Flush();
    const FileBytes mapped = MapDescriptor(file_.get(), size_, path_);
    storage.owner = mapped.owner;
    storage.values = mapped.bytes.data();
  } else {
    const auto owner = std::make_shared<const std::vector<char>>(std::move(bytes_));
    storage.owner = owner;
    storage.values = owner->data();
  }
  return storage;
}

}  // namespace grbm
