#include "data/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

namespace {

FileBytes ReadWhole(const std::string& path) {
  auto contents = std::make_shared<const std::string>(ReadFile(path));
  const std::string_view bytes = *contents;
  return {std::move(contents), bytes};
}

// None, with errno set, where it cannot be mapped.
std::optional<FileBytes> Map(int file, std::size_t size) {
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (address == MAP_FAILED) return std::nullopt;
  std::shared_ptr<const void> owner(address, [size](const void* start) { ::munmap(const_cast<void*>(start), size); });
  return FileBytes{std::move(owner), {static_cast<const char*>(address), size}};
}

[[noreturn]] void Refuse(const std::string& path, int error) {
  throw IoError(fmt::format("{}: cannot map: {}", path, std::generic_category().message(error)));
}

}  // namespace

FileBytes MapFile(const std::string& path) {
  struct stat info {};
  // What cannot be mapped goes through ReadFile, whose messages are then the only ones.
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return ReadWhole(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return ReadWhole(path);
  // Again, of the file that was opened.
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
    ::close(file);
    return ReadWhole(path);
  }
  const std::optional<FileBytes> mapped = Map(file, static_cast<std::size_t>(info.st_size));
  const int error = errno;
  ::close(file);
  if (mapped) return *mapped;
  if (error == ENODEV) return ReadWhole(path);  // a file system without mappings
  Refuse(path, error);
}

FileBytes MapDescriptor(int file, std::size_t size, const std::string& path) {
  if (const std::optional<FileBytes> mapped = Map(file, size)) return *mapped;
  Refuse(path, errno);
}

}  // namespace grbm
