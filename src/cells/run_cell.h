// Trains and judges one cell; all that must be kept is in its folder.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "grbm/cells/cell.h"
#include "grbm/core/parallel.h"
#include "grbm/evaluate/evaluation.h"
#include "grbm/train/run.h"

namespace grbm {

struct CellRun {
  Config config;
  std::uint64_t seed = 1;
  std::string folder;
  std::uint64_t pause_after = 0;  // see RunRequest
  // Of training, over all sessions: the run pauses after the update that exceeds them.
  double most_seconds = std::numeric_limits<double>::infinity();
};

// What training a cell tells, and asks. The base class says nothing and never stops.
class CellObserver {
 public:
  virtual ~CellObserver() = default;
  // updates: done and in all. seconds: of training, over all sessions.
  virtual void OnUpdate(std::uint64_t /*updates*/, std::uint64_t /*total*/, double /*seconds*/) {}
  virtual void OnWarning(const std::string& /*text*/) {}
  virtual bool ShouldStop() { return false; }
};

// Begins or goes on. To the end of the run or to its pause; numbers that diverge are a result, too. None where the observer
// said stop: another call goes on from there.
std::optional<CellResult> TrainCell(const CellRun& run, ThreadPool& pool, CellObserver& observer);

// The metric's scores; one score "failed", whose note says why, where it cannot be had.
std::vector<Score> MeasureMetric(Evaluation& evaluation, const std::string& metric);

}  // namespace grbm
