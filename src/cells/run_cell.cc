#include "cells/run_cell.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/version.h"
#include "grbm/model/backend.h"

namespace grbm {

namespace {

using Clock = std::chrono::steady_clock;

// Seconds of training up to the last checkpoint.
std::string SecondsPath(const std::string& folder) { return folder + "/seconds.txt"; }

double ReadSeconds(const std::string& folder) {
  const std::string path = SecondsPath(folder);
  return Exists(path) ? std::strtod(ReadFile(path).c_str(), nullptr) : 0;
}

// Passes on what a run tells, and keeps the time.
class WatchRun : public RunObserver {
 public:
  WatchRun(const CellRun& run, CellObserver& observer)
      : run_(run), observer_(observer), earlier_(ReadSeconds(run.folder)), time_over_(earlier_ >= run.most_seconds) {}

  void OnStart(const Trainer& trainer, Index /*data_rows*/) override {
    updates_ = trainer.updates();
    total_ = trainer.total_updates();
    start_ = Clock::now();
  }
  void OnUpdate(const UpdateMetrics& metrics) override {
    updates_ = metrics.update;
    observer_.OnUpdate(updates_, total_, seconds());
  }
  void OnCheckpoint(const std::string& /*path*/) override {
    WriteFileAtomically(SecondsPath(run_.folder), fmt::format("{:.3f}\n", seconds()));
  }
  void OnWarning(const std::string& text) override { observer_.OnWarning(text); }
  bool ShouldStop() override {
    time_over_ = seconds() >= run_.most_seconds;
    return time_over_ || observer_.ShouldStop();
  }

  std::uint64_t updates() const { return updates_; }
  double seconds() const { return earlier_ + std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Of earlier sessions, or at the last update.
  bool time_over() const { return time_over_; }

 private:
  const CellRun& run_;
  CellObserver& observer_;
  std::uint64_t updates_ = 0;
  std::uint64_t total_ = 1;
  double earlier_;
  bool time_over_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::optional<CellResult> TrainCell(const CellRun& run, ThreadPool& pool, CellObserver& observer) {
  WatchRun watch(run, observer);
  CellResult result;
  try {
    // Where the time was over before, no update is made: the run is as it was left.
    const std::uint64_t pause = watch.time_over() ? 1 : run.pause_after;
    const bool done = TrainRun({run.config, run.seed, run.folder, /*resume=*/true, pause}, pool, watch);
    const bool paused = pause > 0 && watch.updates() >= pause;
    if (!done && !paused && !watch.time_over()) return std::nullopt;
    result.outcome = "trained";
  } catch (const NumericError& error) {  // a result, too
    result.outcome = "diverged";
    result.message = error.what();
  }
  result.updates = watch.updates();
  result.seconds = std::round(1000 * watch.seconds()) / 1000;
  result.threads = pool.threads();
  result.cpu_target = CpuTarget();
  result.version = Version();
  return result;
}

std::vector<Score> MeasureMetric(Evaluation& evaluation, const std::string& metric) {
  try {
    const auto finite = [](float x) { return std::isfinite(x); };
    const bool draws = evaluation.file().model.conditions() == 0;  // with conditions none are drawn
    if (draws && !std::ranges::all_of(evaluation.samples().values(), finite)) {
      throw NumericError("samples are not finite");
    }
    return Evaluate(evaluation, {metric}).front().scores;
  } catch (const Error& error) {
    return {{"failed", {}, error.what()}};
  }
}

}  // namespace grbm
