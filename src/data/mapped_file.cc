#include "data/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

// The reason why not, or 0.
int Map(int file, std::size_t size, void*& address) {
  address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  return address == MAP_FAILED ? errno : 0;
}

FileBytes Mapped(void* address, std::size_t size, int error, const std::string& path) {
  if (error != 0) throw IoError(fmt::format("{}: cannot map: {}", path, std::generic_category().message(error)));
  std::shared_ptr<const void> owner(address, [size](const void* start) { ::munmap(const_cast<void*>(start), size); });
  return {std::move(owner), {static_cast<const char*>(address), size}};
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
  void* address = nullptr;
  const int error = Map(file, static_cast<std::size_t>(info.st_size), address);
  ::close(file);
  if (error == ENODEV) return ReadWhole(path);  // a file system without mappings
  return Mapped(address, static_cast<std::size_t>(info.st_size), error, path);
}

FileBytes MapDescriptor(int file, std::size_t size, const std::string& path) {
  void* address = nullptr;
  const int error = Map(file, size, address);
  return Mapped(address, size, error, path);
}

}  // namespace grbm
