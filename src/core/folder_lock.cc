#include "core/folder_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <thread>

namespace grbm {

namespace {

constexpr std::size_t kMaxName = 300;

}  // namespace

FolderLock::FolderLock(std::string path) : path_(std::move(path)) {}

FolderLock::~FolderLock() {
  // A name that is no longer true; one that stays does no harm.
  if (held_ && ::ftruncate(file_.get(), 0) != 0) return;
}

bool FolderLock::Try() {
  if (!file_.ok() && !file_.Open(path_, O_RDWR | O_CREAT)) FailIo(path_, "write", errno);
  if (Retry([&] { return ::flock(file_.get(), LOCK_EX | LOCK_NB); }) != 0 && errno == EWOULDBLOCK) return false;
  held_ = true;
  WriteName();
  return true;
}

bool FolderLock::Wait(const std::function<bool()>& stop) {
  while (!Try()) {
    if (stop()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

void FolderLock::WriteName() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const std::string name = fmt::format("process {} on {} since {:%Y-%m-%d %H:%M:%S} UTC\n", ::getpid(), host.data(),
                                       fmt::gmtime(std::time(nullptr)));
  if (::ftruncate(file_.get(), 0) != 0) FailIo(path_, "write", errno);
  const std::string_view text = name;
  WriteAll(file_, path_, std::span(&text, 1));
}

std::string FolderLock::Holder() const {
  // One that has only just taken it is still writing its name.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::string name(kMaxName, '\0');
  const ssize_t size = Retry([&] { return ::pread(file_.get(), name.data(), name.size(), 0); });
  name.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  name.resize(std::min(name.find('\n'), name.size()));
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  return name.empty() || !std::ranges::all_of(name, plain) ? "another process" : name;
}

}  // namespace grbm
