// Trains and judges cells; all that must be kept is in their folders.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/folder_lock.h"
#include "core/json.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/version.h"
#include "grbm/data/fetch.h"
#include "grbm/evaluate/inception.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/backend.h"
#include "grbm/train/run.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::string ResultPath(const std::string& folder) { return folder + "/result.json"; }
// Seconds of training up to the last checkpoint.
std::string SecondsPath(const std::string& folder) { return folder + "/seconds.txt"; }

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

json Number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double Number(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

void WriteResult(const std::string& folder, const CellResult& result) {
  json object;
  object["outcome"] = result.outcome;
  if (!result.message.empty()) object["message"] = result.message;
  object["updates"] = result.updates;
  object["seconds"] = std::round(10 * result.seconds) / 10;
  object["threads"] = result.threads;
  object["cpu_target"] = result.cpu_target;
  object["version"] = result.version;
  object["metrics"] = json::object();
  for (const auto& [metric, scores] : result.metrics) {
    json& entry = object["metrics"][metric];
    for (const Score& s : scores) {
      entry[s.name] = {{"value", Number(s.estimate.value)}, {"error", Number(s.estimate.error)}, {"note", s.note}};
    }
  }
  WriteFileAtomically(ResultPath(folder), JsonText(object, 2) + "\n");
}

// Passes on what a run tells, and keeps the time.
class WatchRun : public RunObserver {
 public:
  WatchRun(const std::string& folder, ReproduceObserver& observer, std::function<double(double)> seconds_left)
      : folder_(folder), observer_(observer), seconds_left_(std::move(seconds_left)) {
    if (Exists(SecondsPath(folder))) earlier_ = std::strtod(ReadFile(SecondsPath(folder)).c_str(), nullptr);
  }

  void OnStart(const Trainer& trainer, Index /*data_rows*/) override {
    updates_ = trainer.updates();
    total_ = trainer.total_updates();
    start_ = Clock::now();
  }
  void OnUpdate(const UpdateMetrics& metrics) override {
    updates_ = metrics.update;
    const double done = static_cast<double>(updates_) / static_cast<double>(total_);
    observer_.OnProgress("update", static_cast<Index>(updates_), static_cast<Index>(total_), seconds_left_(done));
  }
  void OnCheckpoint(const std::string& /*path*/) override {
    WriteFileAtomically(SecondsPath(folder_), fmt::format("{:.3f}\n", seconds()));
  }
  void OnWarning(const std::string& text) override { observer_.OnWarning(text); }
  bool ShouldStop() override { return observer_.ShouldStop(); }

  std::uint64_t updates() const { return updates_; }
  double seconds() const { return earlier_ + Since(start_); }

 private:
  std::string folder_;
  ReproduceObserver& observer_;
  std::function<double(double)> seconds_left_;
  std::uint64_t updates_ = 0;
  std::uint64_t total_ = 1;
  double earlier_ = 0;
  Clock::time_point start_ = Clock::now();
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

  bool Run() {
    CheckWeights();
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      const PlannedCell& cell = cells_[k];
      if (cell.finished) continue;
      if (observer_.ShouldStop()) return false;
      observer_.OnCell(cell, k + 1, cells_.size());
      try {
        RunCell(cell);
      } catch (const Stopped&) {
        return false;
      }
      done_ += cell.cost;
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

  void RunCell(const PlannedCell& cell) {
    // A cell belongs to one process at a time; others that need it wait.
    MakeFolder(cell.folder);
    FolderLock lock(cell.folder + "/lock");
    if (!lock.Wait([&] { return observer_.ShouldStop(); })) throw Stopped{};
    std::optional<CellResult> result = ReadResult(cell.folder);
    if (!result) {
      result = Train(cell);
      WriteResult(cell.folder, *result);
    }
    if (result->trained()) {
      for (const std::string& metric : cell.cell.metrics) {
        if (result->metrics.contains(metric) || !CanMeasure(metric)) continue;
        result->metrics[metric] = Measure(cell, metric);
        WriteResult(cell.folder, *result);
      }
    }
    observer_.OnResult(cell, *result);
  }

  bool CanMeasure(const std::string& metric) const { return metric != "fid" || !options_.inception.empty(); }

  CellResult Train(const PlannedCell& cell) {
    WatchRun watch(cell.folder, observer_, [&](double share) { return SecondsLeft(cell.cost * share); });
    CellResult result;
    try {
      const bool done = TrainRun({cell.config, options_.seed, cell.folder, /*resume=*/true}, pool_, watch);
      if (!done) throw Stopped{};
      result.outcome = "trained";
    } catch (const NumericError& error) {  // a result, too
      result.outcome = "diverged";
      result.message = error.what();
    }
    result.updates = watch.updates();
    result.seconds = watch.seconds();
    result.threads = pool_.threads();
    result.cpu_target = CpuTarget();
    result.version = Version();
    return result;
  }

  std::vector<Score> Measure(const PlannedCell& cell, const std::string& metric) {
    const bool fid = metric == "fid";
    EvaluationRequest request{ReadModel(ModelPath(cell.folder)), LoadDataset(cell.config.data, pool_),
                              LoadHeldOut(cell.config.data, pool_)};
    request.samples = fid ? FidSamples(options_.scale) : SampleCount(options_.scale);
    if (fid) {
      request.rows = FidRows(options_.scale);
      request.inception = options_.inception;
      request.tap = FidTap(options_);
      request.cache_dir = DefaultCacheDir();
    }
    request.seed = options_.seed;
    const double left = SecondsLeft(cell.cost);
    Evaluation evaluation(std::move(request), pool_, [&](std::string_view part, Index done, Index total) {
      if (observer_.ShouldStop()) throw Stopped{};
      observer_.OnProgress(part, done, total, left);
    });
    try {
      const auto finite = [](float x) { return std::isfinite(x); };
      if (!std::ranges::all_of(evaluation.samples().values(), finite)) throw NumericError("samples are not finite");
      return Evaluate(evaluation, {metric}).front().scores;
    } catch (const Error& error) {
      return {{"failed", {}, error.what()}};
    }
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

const Score* CellResult::Find(const std::string& metric, const std::string& score) const {
  const auto found = metrics.find(metric);
  if (found == metrics.end()) return nullptr;
  const auto one = std::ranges::find(found->second, score, &Score::name);
  return one == found->second.end() ? nullptr : &*one;
}

std::optional<CellResult> ReadResult(const std::string& folder) {
  if (!Exists(ResultPath(folder))) return std::nullopt;
  CellResult result;
  try {
    const json object =
        ParseJson<json>(ReadFile(ResultPath(folder), {.max_bytes = 1 << 20}), 1 << 20, ResultPath(folder));
    result.outcome = object.at("outcome");
    result.message = object.value("message", "");
    result.updates = object.at("updates");
    result.seconds = object.at("seconds");
    result.threads = object.at("threads");
    result.cpu_target = object.at("cpu_target");
    result.version = object.at("version");
    for (const auto& [metric, scores] : object.at("metrics").items()) {
      for (const auto& [name, score] : scores.items()) {
        result.metrics[metric].push_back(
            {name, {Number(score.at("value")), Number(score.at("error"))}, score.at("note").get<std::string>()});
      }
    }
  } catch (const json::exception& error) {
    throw DataError(fmt::format("{}: not a result: remove it, and the cell is judged again", ResultPath(folder)));
  }
  return result;
}

bool IsFinished(const PlannedCell& cell, const ReproduceOptions& options) {
  const std::optional<CellResult> result = ReadResult(cell.folder);
  if (!result) return false;
  return !result->trained() || std::ranges::all_of(cell.cell.metrics, [&](const std::string& metric) {
    return result->metrics.contains(metric) || (metric == "fid" && options.inception.empty());
  });
}

bool RunCells(const std::vector<PlannedCell>& cells, const ReproduceOptions& options, ThreadPool& pool,
              ReproduceObserver& observer) {
  return Runner(cells, options, pool, observer).Run();
}

}  // namespace grbm
