#include "grbm/core/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <vector>

#include "core/descriptor.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

// What a pipe may deliver; files have a size of their own.
constexpr std::uint64_t kMaxStream = std::uint64_t{1} << 30;

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
    FailIo(path, "write", errno);
  }
  ~TemporaryFile() {
    if (!renamed_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const Descriptor& file() const { return file_; }
  void RenameTo(const std::string& target) {
    if (Retry([&] { return ::fsync(file_.get()); }) != 0 || !file_.Close()) {
      FailIo(path_, "write", errno);
    }
    if (::rename(name_.c_str(), target.c_str()) != 0) FailIo(path_, "write", errno);
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
    FailIo(path, "flush the folder of", errno);
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
  if (!file.ok()) FailIo(path, "open", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) FailIo(path, "read", errno);
  if (S_ISDIR(info.st_mode)) FailIo(path, "read", EISDIR);
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
    FailIo(path, "read", errno);
  }
  try {
    // One byte more than the file should have: its end then shows without another buffer.
    std::string contents(regular ? expected + 1 : 65536, '\0');
    std::size_t size = 0;
    for (;;) {
      if (size == contents.size()) contents.resize(2 * size);
      const ssize_t count = Retry([&] { return ::read(file.get(), contents.data() + size, contents.size() - size); });
      if (count < 0) FailIo(path, "read", errno);
      if (count == 0) break;
      size += static_cast<std::size_t>(count);
      check_size(size);
    }
    contents.resize(size);
    return contents;
  } catch (const std::bad_alloc&) {
    FailIo(path, "read", ENOMEM);
  } catch (const std::length_error&) {
    FailIo(path, "read", ENOMEM);
  }
}

void WriteFileAtomically(const std::string& path, std::span<const std::string_view> pieces) {
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) FailIo(path, "write", EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    Descriptor file(path, O_WRONLY);
    if (!file.ok()) FailIo(path, "write", errno);
    WriteAll(file, path, pieces);
    if (!file.Close()) FailIo(path, "write", errno);
    return;
  }
  const std::string target = FollowLinks(path);
  const std::filesystem::path parent = std::filesystem::path(target).parent_path();
  const std::string folder = parent.empty() ? std::string(".") : parent.string();

  TemporaryFile temporary(folder, path);
  if (exists && ::fchmod(temporary.file().get(), old.st_mode & 07777) != 0) {
    FailIo(path, "write", errno);
  }
  WriteAll(temporary.file(), path, pieces);
  temporary.RenameTo(target);
  SyncFolder(folder, path);
}

void WriteFileAtomically(const std::string& path, std::string_view contents) {
  WriteFileAtomically(path, std::span(&contents, 1));
}

static std::filesystem::file_status StatusOf(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::status_known(status)) return status;
  throw IoError(fmt::format("{}: cannot be looked at: {}", path, error.message()));
}

bool Exists(const std::string& path) { return std::filesystem::exists(StatusOf(path)); }
bool IsFolder(const std::string& path) { return std::filesystem::is_directory(StatusOf(path)); }

void MakeFolder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  // The folders that will be new: each is on the disk only when the one that holds it is.
  std::vector<fs::path> made;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error); folder = folder.parent_path()) {
    made.push_back(folder);
  }
  fs::create_directories(path, error);
  if (error) throw IoError(fmt::format("{}: cannot make the folder: {}", path, error.message()));
  for (const fs::path& folder : made) {
    const fs::path parent = folder.parent_path();
    SyncFolder(parent.empty() ? "." : parent.string(), path);
  }
}

}  // namespace grbm
