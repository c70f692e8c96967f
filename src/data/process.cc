#include "data/process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr std::size_t kKept = 65536;

[[noreturn]] void Fail(const std::string& program, int code) {
  throw IoError(fmt::format("{}: cannot run: {}", program, std::generic_category().message(code)));
}

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string ReadToEnd(int end) {
  std::string output;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(end, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output.append(buffer, static_cast<std::size_t>(count));
    if (output.size() > 2 * kKept) output.erase(0, output.size() - kKept);
  }
  if (output.size() > kKept) output.erase(0, output.size() - kKept);
  return output;
}

}  // namespace

ProcessResult RunProcess(const std::vector<std::string>& arguments, const std::string& folder) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) Fail(arguments[0], errno);
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDERR_FILENO);
  ::posix_spawn_file_actions_addchdir_np(actions.get(), folder.c_str());
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], actions.get(), nullptr, argv.data(), environ);
  ::close(ends[1]);
  ProcessResult result;
  if (error != 0) {
    ::close(ends[0]);
    if (error == ENOENT || error == EACCES) return result;
    Fail(arguments[0], error);
  }
  result.started = true;
  result.output = ReadToEnd(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) Fail(arguments[0], errno);
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace grbm
