// File descriptors, as everything that writes uses them.
#pragma once

#include <cerrno>
#include <span>
#include <string>
#include <string_view>

namespace grbm {

// Throws IoError: the path, what could not be done, and the system's reason.
[[noreturn]] void FailIo(const std::string& path, std::string_view action, int code);

// Calls again after an interruption by a signal.
template <typename Call>
auto Retry(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const std::string& path, int flags) { Open(path, flags); }
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // False, with errno set, where it cannot be opened.
  bool Open(const std::string& path, int flags);
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // False where the system reports a delayed failure of a write. Not repeated after EINTR: the
  // descriptor is gone by then.
  bool Close();

 private:
  int fd_ = -1;
};

// All of the pieces, however little the system takes at a time. `path` is for messages. Throws IoError.
void WriteAll(const Descriptor& file, const std::string& path, std::span<const std::string_view> pieces);

}  // namespace grbm
