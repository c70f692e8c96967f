// metrics.jsonl and times.jsonl of a run.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/append_file.h"
#include "grbm/train/run.h"
#include "grbm/train/trainer.h"

namespace grbm {

// Named numbers, in order.
using Values = std::vector<std::pair<std::string, double>>;

std::string MetricsLine(const UpdateMetrics& metrics, const Values& curves);

// Which updates get a line: every so many, those that are evaluated or after which a run may stop early, and the last.
struct LogSchedule {
  std::uint64_t log_every = 1;
  std::uint64_t evaluate_every = 0;  // 0: never
  std::uint64_t stop_every = 0;      // 0: never
  std::uint64_t total = 0;

  bool Evaluates(std::uint64_t update) const { return evaluate_every > 0 && update % evaluate_every == 0; }
  bool MayStop(std::uint64_t update) const { return stop_every > 0 && update % stop_every == 0; }
  bool Logs(std::uint64_t update) const {
    return update % log_every == 0 || Evaluates(update) || MayStop(update) || update == total;
  }
};
// rows: of the data, an epoch.
LogSchedule MakeLogSchedule(const Config& config, std::uint64_t rows, std::uint64_t total);

// Cut back to the lines of updates that were made, then appended to, line by line.
class MetricsFile {
 public:
  // Where lines of updates up to `updates` are missing or damaged, the observer is told. Throws IoError, as all of these
  // do; its message says that nothing but the latest updates is lost. `extended`: the schedule was another one before.
  MetricsFile(const std::string& path, std::uint64_t updates, const LogSchedule& schedule, bool extended,
              RunObserver& observer);

  void Write(const std::string& line);
  // Before a checkpoint: what is before one is not made again.
  void Sync();
  void Close();

 private:
  AppendFile file_;
};

// When a run was at work, and how long it took to each of its lines of metrics: in a file of its own, because metrics are the
// same bytes in every run of the same settings. Lines are {update, seconds}, the seconds counted over all parts of the run
// that led to its present state; the first line of each part has {started, command, threads}, too.
class TimesFile {
 public:
  // Cut back to the lines of updates up to `updates`. Throws IoError, as all of these do, with the words of MetricsFile.
  TimesFile(const std::string& path, std::uint64_t updates);

  // Work begins, after `update`. command: where it is known.
  void Start(std::uint64_t update, const std::string& command, int threads);
  // A line, unless the last one is of the same update.
  void Note(std::uint64_t update);
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  struct Kept;
  explicit TimesFile(Kept kept);
  double Seconds() const;

  AppendFile file_;
  double earlier_;  // seconds before this part
  Clock::time_point start_ = Clock::now();
  std::uint64_t last_ = 0;
};

}  // namespace grbm
