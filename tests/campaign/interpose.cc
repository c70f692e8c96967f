// Stands between the program and the system (LD_PRELOAD), counts what it does to files below a folder, and lets one of
// these calls fail, or the program die there.
//
//   GRBM_FAULT_UNDER   the folder; calls that concern other files are not counted
//   GRBM_FAULT_LOG     a file that gets a line for every counted call, before it is made: "write /a/b"
//   GRBM_FAULT         KIND:N:ACTION
//     KIND    open (for writing), write, fsync, rename, close (of what was open for writing), truncate, mkdir, unlink, any
//     N       the n-th call of that kind, from 1; N+ stands for that one and all after it
//     ACTION  the name of an error: the call does nothing and fails with it (close does close)
//             short: a write takes half of its bytes and says so
//             kill, kill-after: the program is killed before or after the call; kill-half: amid a write
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

struct Settings {
  std::string under;
  int log = -1;
  std::string kind;
  long first = 0;
  bool all_after = false;
  std::string action;
  std::atomic<long> count{0};

  Settings() {
    // Programs that this one starts are left alone.
    if (std::string_view(program_invocation_short_name) != "grbm") return;
    if (const char* text = std::getenv("GRBM_FAULT_UNDER")) under = text;
    if (const char* path = std::getenv("GRBM_FAULT_LOG")) {
      log = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    }
    const char* fault = std::getenv("GRBM_FAULT");
    if (fault == nullptr) return;
    const std::string text = fault;
    const std::size_t colon = text.find(':');
    const std::size_t second = text.find(':', colon + 1);
    kind = text.substr(0, colon);
    first = std::strtol(text.c_str() + colon + 1, nullptr, 10);
    all_after = text[second - 1] == '+';
    action = text.substr(second + 1);
  }
};

Settings& settings() {
  static Settings instance;
  return instance;
}

struct ErrorName {
  std::string_view name;
  int code;
};
constexpr ErrorName kErrors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
                                 {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EROFS", EROFS}};

void Die() {
  ::kill(::getpid(), SIGKILL);
  ::pause();
}

// What is to become of a call: nothing, or the action. The file's name decides whether it counts.
std::string_view Decide(std::string_view kind, std::string_view path) {
  Settings& s = settings();
  if (s.under.empty() || path.substr(0, s.under.size()) != s.under) return {};
  if (s.log >= 0) {
    const std::string line = std::string(kind) + " " + std::string(path) + "\n";
    ::syscall(SYS_write, s.log, line.data(), line.size());
  }
  if (s.kind != kind && s.kind != "any") return {};
  const long number = ++s.count;
  if (number != s.first && !(s.all_after && number > s.first)) return {};
  if (s.action == "kill") Die();
  return s.action;
}

// True where the action is an error, which errno then is.
bool Fails(std::string_view action) {
  const auto* found =
      std::find_if(std::begin(kErrors), std::end(kErrors), [&](const auto& e) { return e.name == action; });
  if (found == std::end(kErrors)) return false;
  errno = found->code;
  return true;
}

std::string PathOf(int fd) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const long size = ::syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), path, sizeof(path));
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

// Calls the real function, unless it is to fail.
template <typename Real, typename... Arguments>
int Around(std::string_view kind, std::string_view path, Real* real, Arguments... arguments) {
  const std::string_view action = Decide(kind, path);
  if (Fails(action)) return -1;
  const int result = real(arguments...);
  if (action == "kill-after") Die();
  return result;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool Writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0; }

int OpenAt(int folder, const char* path, int flags, mode_t mode) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode)); };
  if (!Writes(flags)) return real();
  const std::string_view action = Decide("open", path);
  if (Fails(action)) return -1;
  const int result = real();
  if (action == "kill-after") Die();
  return result;
}

mode_t Mode(int flags, va_list& list) { return (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0; }

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = Mode(flags, list);
  va_end(list);
  return OpenAt(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));

ssize_t write(int fd, const void* data, size_t size) {
  const auto real = [&](size_t part) { return static_cast<ssize_t>(::syscall(SYS_write, fd, data, part)); };
  const std::string_view action = Decide("write", PathOf(fd));
  if (Fails(action)) return -1;
  if (action == "kill-half") {
    real(size / 2);
    Die();
  }
  const ssize_t result = real(action == "short" ? (size + 1) / 2 : size);
  if (action == "kill-after") Die();
  return result;
}

int fsync(int fd) { return Around("fsync", PathOf(fd), Real<int(int)>("fsync"), fd); }

int fdatasync(int fd) { return Around("fsync", PathOf(fd), Real<int(int)>("fdatasync"), fd); }

int rename(const char* from, const char* to) {
  return Around("rename", to, Real<int(const char*, const char*)>("rename"), from, to);
}

int close(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  const bool counts = flags != -1 && (flags & O_ACCMODE) != O_RDONLY;
  const std::string_view action = counts ? Decide("close", PathOf(fd)) : std::string_view();
  const int result = static_cast<int>(::syscall(SYS_close, fd));
  if (action == "kill-after") Die();
  return Fails(action) ? -1 : result;
}

int ftruncate(int fd, off_t size) {
  return Around("truncate", PathOf(fd), Real<int(int, off_t)>("ftruncate"), fd, size);
}

int ftruncate64(int fd, off64_t size) {
  return Around("truncate", PathOf(fd), Real<int(int, off64_t)>("ftruncate64"), fd, size);
}

int mkdir(const char* path, mode_t mode) {
  return Around("mkdir", path, Real<int(const char*, mode_t)>("mkdir"), path, mode);
}

int unlink(const char* path) { return Around("unlink", path, Real<int(const char*)>("unlink"), path); }

int remove(const char* path) { return Around("unlink", path, Real<int(const char*)>("remove"), path); }

}  // extern "C"
