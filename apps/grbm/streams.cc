#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "grbm/core/error.h"

namespace grbm::app {

namespace {

[[noreturn]] void Fail() {
  throw IoError(fmt::format("standard output: cannot write: {}", std::generic_category().message(errno)));
}

}  // namespace

void OpenStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // It takes the lowest free number, which is this one.
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
}

void PrintText(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) Fail();
}

void FlushOutput() {
  if (std::fflush(stdout) != 0) Fail();
}

void CloseOutput() {
  FlushOutput();
  if (::close(STDOUT_FILENO) != 0 && errno != EINTR) Fail();
}

void TellText(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace grbm::app
