// Nothing that a person waits for is silent: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

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

}  // namespace grbm::app
