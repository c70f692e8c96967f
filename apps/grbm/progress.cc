#include "progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "streams.h"

namespace grbm::app {

namespace {

// Columns of the terminal that standard error is, as far as it is known.
std::size_t TerminalWidth() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
  return 80;
}

}  // namespace

std::string Duration(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 99.5 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

Progress::Progress(std::string unit, bool quiet)
    : unit_(std::move(unit)), quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (bar_shown_) Tell("\n");
}

void Progress::Start(std::uint64_t done, std::uint64_t total) {
  first_ = done;
  total_ = total;
  start_ = shown_ = Clock::now();
}

void Progress::ClearBar() {
  if (bar_shown_) Tell("\r\033[K");
  bar_shown_ = false;
}

void Progress::Update(std::uint64_t done, const std::string& details) {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const double since = std::chrono::duration<double>(now - shown_).count();
  const bool last = done >= total_;
  if (!last && since < (terminal_ ? 0.1 : 10.0)) return;
  shown_ = now;
  const double seconds = std::max(1e-9, std::chrono::duration<double>(now - start_).count());
  const double rate = static_cast<double>(done - first_) / seconds;
  const double left = static_cast<double>(total_ - std::min(done, total_)) / std::max(rate, 1e-9);
  const std::string text =
      fmt::format("{} {}/{}  {:.3g}/s  {} left  {}", unit_, done, total_, rate, Duration(left), details);
  if (!terminal_) {
    Tell("{}\n", text);
    return;
  }
  constexpr std::uint64_t kWidth = 20;
  const std::uint64_t filled = total_ == 0 ? kWidth : std::min(kWidth, done * kWidth / total_);
  const std::string bar = fmt::format("[{:#<{}}{: <{}}] {}", "", filled, "", kWidth - filled, text);
  // A line that is too long would be broken, and could not be drawn again. What is cut is the end, which says least.
  Tell("\r\033[K{}", bar.substr(0, TerminalWidth() - 1));
  bar_shown_ = true;
}

void Progress::Warn(const std::string& text) {
  ClearBar();
  Tell("grbm: warning: {}\n", text);
}

void Progress::Say(const std::string& line) {
  if (quiet_) return;
  ClearBar();
  Tell("{}\n", line);
}

}  // namespace grbm::app
