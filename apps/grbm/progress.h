// Nothing that a person waits for is silent: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace grbm::app {

// "12 s", "3 min", ...
std::string Duration(double seconds);

class Progress {
 public:
  // `unit` is what is counted: "update". Shows nothing if quiet.
  Progress(std::string unit, bool quiet);
  // Ends the line of the bar.
  ~Progress();

  void Start(std::uint64_t done, std::uint64_t total);
  // At most ten times a second on a terminal, every ten seconds elsewhere. `details` follow the rate and the time left.
  void Update(std::uint64_t done, const std::string& details);
  // A line of its own, above the bar.
  void Say(const std::string& line);
  // The same of a warning, which is shown even if quiet.
  void Warn(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  void ClearBar();

  std::string unit_;
  bool quiet_;
  bool terminal_;
  bool bar_shown_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t total_ = 0;
  Clock::time_point start_;
  Clock::time_point shown_;
};

// One bar per part of the work.
class Bars {
 public:
  explicit Bars(bool quiet) : quiet_(quiet) {}

  void Show(std::string_view part, std::int64_t done, std::int64_t total) {
    if (part != part_ || done < last_) {
      part_ = part;
      progress_ = std::make_unique<Progress>(part_, quiet_);
      progress_->Start(0, static_cast<std::uint64_t>(total));
    }
    last_ = done;
    progress_->Update(static_cast<std::uint64_t>(done), "");
    if (done == total) part_.clear();
  }

 private:
  bool quiet_;
  std::string part_;
  std::int64_t last_ = 0;
  std::unique_ptr<Progress> progress_;
};

}  // namespace grbm::app
