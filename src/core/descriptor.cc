#include "core/descriptor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "grbm/core/error.h"

namespace grbm {

void FailIo(const std::string& path, std::string_view action, int code) {
  throw IoError(fmt::format("{}: cannot {}: {}", path.empty() ? "(empty path)" : path, action,
                            std::generic_category().message(code)));
}

bool Descriptor::Open(const std::string& path, int flags) {
  Close();
  fd_ = Retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  return ok();
}

bool Descriptor::Close() {
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0 || errno == EINTR;
}

void WriteAll(const Descriptor& file, const std::string& path, std::span<const std::string_view> pieces) {
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      const ssize_t count = Retry([&] { return ::write(file.get(), piece.data(), piece.size()); });
      if (count <= 0) FailIo(path, "write", count == 0 ? EIO : errno);
      piece.remove_prefix(static_cast<std::size_t>(count));
    }
  }
}

}  // namespace grbm
