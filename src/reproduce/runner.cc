// Trains and judges cells, one after the other; all that must be kept is in their folders.
#include <algorithm>
#include <chrono>

#include "cells/run_cell.h"
#include "core/folder_lock.h"
#include "grbm/core/file.h"
#include "grbm/data/fetch.h"
#include "grbm/evaluate/inception.h"
#include "grbm/evaluate/samples.h"
#include "grbm/train/run.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Passes on what training a cell tells.
class WatchCell : public CellObserver {
 public:
  WatchCell(ReproduceObserver& observer, std::function<double(double)> seconds_left)
      : observer_(observer), seconds_left_(std::move(seconds_left)) {}

  void OnUpdate(std::uint64_t updates, std::uint64_t total, double /*seconds*/) override {
    const double done = static_cast<double>(updates) / static_cast<double>(total);
    observer_.OnProgress("update", static_cast<Index>(updates), static_cast<Index>(total), seconds_left_(done));
  }
  void OnWarning(const std::string& text) override { observer_.OnWarning(text); }
  bool ShouldStop() override { return observer_.ShouldStop(); }

 private:
  ReproduceObserver& observer_;
  std::function<double(double)> seconds_left_;
};

// Thrown where the observer says stop.
struct Stopped {};

class Runner {
 public:
  Runner(const std::vector<PlannedCell>& cells, const ReproduceOptions& options, ThreadPool& pool,
         ReproduceObserver& observer)
      : cells_(cells), options_(options), pool_(pool), observer_(observer) {
    for (const PlannedCell& cell : cells) cost_ += cell.finished ? 0 : cell.cost;
  }

  // Step 1. What no other process is at. Step 2. What others were at: done by now, or left behind.
  bool Run(const Ranks& ranks) {
    CheckWeights();
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      if (!cells_[k].finished) order.push_back(k);
    }
    const RankShare own = ShareOfRank(ranks.rank(), ranks.count(), std::ssize(order));
    std::ranges::rotate(order, order.begin() + own.first);
    try {
      std::vector<std::size_t> busy;
      for (const std::size_t k : order) {
        if (!RunNumber(k, /*wait=*/false)) busy.push_back(k);
      }
      for (const std::size_t k : busy) RunNumber(k, /*wait=*/true);
    } catch (const Stopped&) {
      return false;
    }
    return true;
  }

 private:
  // Before hours of training, not after them.
  void CheckWeights() const {
    const auto needed = [](const PlannedCell& cell) { return !cell.finished && HasMetric(cell.cell, "fid"); };
    if (options_.inception.empty() || std::ranges::none_of(cells_, needed)) return;
    Inception::Load(options_.inception).CheckTap(FidTap(options_));
  }

  // A cell belongs to one process at a time. False where it is another's, and is not to be waited for.
  bool RunNumber(std::size_t k, bool wait) {
    const PlannedCell& cell = cells_[k];
    if (observer_.ShouldStop()) throw Stopped{};
    MakeFolder(cell.folder);
    FolderLock lock(cell.folder + "/lock");
    if (!wait && !lock.Try()) return false;
    if (wait && !lock.Wait([&] { return observer_.ShouldStop(); })) throw Stopped{};
    if (!IsFinished(cell, options_)) {
      observer_.OnCell(cell, k + 1, cells_.size());
      RunCell(cell);
    }
    done_ += cell.cost;
    return true;
  }

  void RunCell(const PlannedCell& cell) {
    std::optional<CellResult> result = ReadResult(cell.folder);
    if (!result) {
      result = Train(cell);
      WriteResultFile(ResultPath(cell.folder), *result);
    }
    if (result->trained()) {
      for (const std::string& metric : cell.cell.metrics) {
        if (result->metrics.contains(metric) || !CanMeasure(metric)) continue;
        result->metrics[metric] = Measure(cell, metric);
        WriteResultFile(ResultPath(cell.folder), *result);
      }
    }
    observer_.OnResult(cell, *result);
  }

  bool CanMeasure(const std::string& metric) const { return metric != "fid" || !options_.inception.empty(); }

  CellResult Train(const PlannedCell& cell) {
    WatchCell watch(observer_, [&](double share) { return SecondsLeft(cell.cost * share); });
    const auto result = TrainCell({cell.config, cell.seed, cell.folder}, pool_, watch);
    if (!result) throw Stopped{};
    return *result;
  }

  std::vector<Score> Measure(const PlannedCell& cell, const std::string& metric) {
    const bool fid = metric == "fid";
    EvaluationRequest request = JudgeModel(ReadModel(ModelPath(cell.folder)), cell.config.data, pool_);
    request.samples = fid ? FidSamples(options_.scale) : SampleCount(options_.scale);
    if (fid) {
      request.rows = FidRows(options_.scale);
      request.inception = options_.inception;
      request.tap = FidTap(options_);
      request.cache_dir = DefaultCacheDir();
    }
    request.seed = cell.seed;
    const double left = SecondsLeft(cell.cost);
    Evaluation evaluation(std::move(request), pool_, [&](std::string_view part, Index done, Index total) {
      if (observer_.ShouldStop()) throw Stopped{};
      observer_.OnProgress(part, done, total, left);
    });
    return MeasureMetric(evaluation, metric);
  }

  // Of all cells, when so much of the present one is done.
  double SecondsLeft(double present) const {
    const double done = done_ + present;
    return done > 0 ? Since(start_) * (cost_ - done) / done : std::numeric_limits<double>::quiet_NaN();
  }

  const std::vector<PlannedCell>& cells_;
  const ReproduceOptions& options_;
  ThreadPool& pool_;
  ReproduceObserver& observer_;
  Clock::time_point start_ = Clock::now();
  double cost_ = 0;
  double done_ = 0;
};

}  // namespace

bool IsFinished(const PlannedCell& cell, const ReproduceOptions& options) {
  const std::optional<CellResult> result = ReadResult(cell.folder);
  if (!result) return false;
  return !result->trained() || std::ranges::all_of(cell.cell.metrics, [&](const std::string& metric) {
    return result->metrics.contains(metric) || (metric == "fid" && options.inception.empty());
  });
}

bool RunCells(const std::vector<PlannedCell>& cells, const ReproduceOptions& options, ThreadPool& pool,
              ReproduceObserver& observer, const Ranks& ranks) {
  return Runner(cells, options, pool, observer).Run(ranks);
}

}  // namespace grbm
