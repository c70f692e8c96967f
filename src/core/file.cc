#include "grbm/core/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "grbm/core/error.h"

namespace grbm {

namespace {

// What a pipe may deliver; files have a size of their own.
constexpr std::uint64_t kMaxStream = std::uint64_t{1} << 30;

[[noreturn]] void Fail(const std::string& path, std::string_view action, int code) {
  throw IoError(fmt::format("{}: cannot {}: {}", path.empty() ? "(empty path)" : path, action,
                            std::generic_category().message(code)));
}

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
  bool Open(const std::string& path, int flags) {
    Close();
    fd_ = Retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
    return ok();
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // False where the system reports a delayed failure of a write. Not repeated after EINTR: the
  // descriptor is gone by then.
  bool Close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 || errno == EINTR;
  }

 private:
  int fd_ = -1;
};

void WriteAll(const Descriptor& file, const std::string& path, std::span<const std::string_view> pieces) {
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      const ssize_t count = Retry([&] { return ::write(file.get(), piece.data(), piece.size()); });
      if (count < 0) Fail(path, "write", errno);
      piece.remove_prefix(static_cast<std::size_t>(count));
    }
  }
}

// Where a chain of symbolic links ends, whether or not a file is there.
std::string FollowLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;
  std::filesystem::path target = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(target, error); ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) break;
    target = target.parent_path() / next;  // an absolute `next` replaces all
  }
  return target.string();
}

// A new file that vanishes unless it is renamed.
class TemporaryFile {
 public:
  // `path` is the final name, for messages.
  TemporaryFile(const std::string& folder, const std::string& path) : path_(path) {
    constexpr int kAttempts = 1000;  // a killed process with the same id can have left names
    for (int i = 0; i < kAttempts; ++i) {
      name_ = NewName(folder);
      if (file_.Open(name_, O_WRONLY | O_CREAT | O_EXCL)) return;
      if (errno != EEXIST) break;
    }
    Fail(path, "write", errno);
  }
  ~TemporaryFile() {
    if (!renamed_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const Descriptor& file() const { return file_; }
  void RenameTo(const std::string& target) {
    if (Retry([&] { return ::fsync(file_.get()); }) != 0 || !file_.Close()) {
      Fail(path_, "write", errno);
    }
    if (::rename(name_.c_str(), target.c_str()) != 0) Fail(path_, "write", errno);
    renamed_ = true;
  }

 private:
  // Short whatever the final name is, so that it never exceeds the system's limit.
  static std::string NewName(const std::string& folder) {
    static std::atomic<unsigned> counter{0};
    return fmt::format("{}/.grbm-{}-{}.tmp", folder, ::getpid(), counter++);
  }

  const std::string& path_;
  std::string name_;
  Descriptor file_;
  bool renamed_ = false;
};

// Makes a rename in the folder outlast a loss of power. File systems that cannot do so answer
// EINVAL, and a folder may be writable but not readable: the file is in place all the same.
void SyncFolder(const std::string& folder, const std::string& path) {
  const Descriptor directory(folder, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return;
  if (Retry([&] { return ::fsync(directory.get()); }) != 0 && errno != EINVAL) {
    Fail(path, "flush the folder of", errno);
  }
}

// Whether the path names a descriptor of this process, so that opening it is no more than using what is open already.
bool NamesDescriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

}  // namespace

std::string ReadFile(const std::string& path, const ReadPart& part) {
  const bool descriptor = NamesDescriptor(path);
  // A pipe without a writer, or a device that is not ready, must not hold the reader up before it is seen for what it is.
  const Descriptor file(path, descriptor ? O_RDONLY : O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.ok()) Fail(path, "open", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) Fail(path, "read", errno);
  if (S_ISDIR(info.st_mode)) Fail(path, "read", EISDIR);
  const bool regular = S_ISREG(info.st_mode);
  if (!regular && !descriptor) throw IoError(fmt::format("{}: cannot read: not a regular file", path));
  const auto size_known = regular ? static_cast<std::uint64_t>(info.st_size) : 0;
  const std::uint64_t expected = size_known > part.offset ? size_known - part.offset : 0;
  const std::uint64_t limit = std::min(part.max_bytes, regular ? part.max_bytes : kMaxStream);
  const auto check_size = [&](std::uint64_t size) {
    if (size <= limit) return;
    throw IoError(fmt::format("{}: cannot read: more than the {} bytes that are allowed here", path, limit));
  };
  check_size(expected);
  if (regular && part.offset > 0 && ::lseek(file.get(), static_cast<off_t>(part.offset), SEEK_SET) < 0) {
    Fail(path, "read", errno);
  }
  try {
    // One byte more than the file should have: its end then shows without another buffer.
    std::string contents(regular ? expected + 1 : 65536, '\0');
    std::size_t size = 0;
    for (;;) {
      if (size == contents.size()) contents.resize(2 * size);
      const ssize_t count = Retry([&] { return ::read(file.get(), contents.data() + size, contents.size() - size); });
      if (count < 0) Fail(path, "read", errno);
      if (count == 0) break;
      size += static_cast<std::size_t>(count);
      check_size(size);
    }
    contents.resize(size);
    return contents;
  } catch (const std::bad_alloc&) {
    Fail(path, "read", ENOMEM);
  } catch (const std::length_error&) {
    Fail(path, "read", ENOMEM);
  }
}

void WriteFileAtomically(const std::string& path, std::span<const std::string_view> pieces) {
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) Fail(path, "write", EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    Descriptor file(path, O_WRONLY);
    if (!file.ok()) Fail(path, "write", errno);
    WriteAll(file, path, pieces);
    if (!file.Close()) Fail(path, "write", errno);
    return;
  }
  const std::string target = FollowLinks(path);
  const std::filesystem::path parent = std::filesystem::path(target).parent_path();
  const std::string folder = parent.empty() ? std::string(".") : parent.string();

  TemporaryFile temporary(folder, path);
  if (exists && ::fchmod(temporary.file().get(), old.st_mode & 07777) != 0) {
    Fail(path, "write", errno);
  }
  WriteAll(temporary.file(), path, pieces);
  temporary.RenameTo(target);
  SyncFolder(folder, path);
}

void WriteFileAtomically(const std::string& path, std::string_view contents) {
  WriteFileAtomically(path, std::span(&contents, 1));
}

void MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw IoError(fmt::format("{}: cannot make the folder: {}", path, error.message()));
}

}  // namespace grbm
