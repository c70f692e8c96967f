// Runs the trials, several at once, rung by rung; all that must be kept is in their folders.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "cells/run_cell.h"
#include "core/folder_lock.h"
#include "core/hash.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/data/fetch.h"
#include "grbm/data/standardize.h"
#include "grbm/evaluate/inception.h"
#include "grbm/evaluate/samples.h"
#include "search/common.h"

namespace grbm {

namespace {

// Thrown where the observer said stop.
struct Stopped {};

// One run up to one rung.
struct Task {
  std::size_t trial;
  std::size_t seed;
};

// What workers tell the caller's thread.
struct News {
  Task task;
  std::optional<CellResult> result;  // none: refused, or a warning
  std::string refused;
  std::string warning;
};

EvaluationRequest MakeRequest(const SearchOptions& options, const Config& config, const std::string& inception,
                              ModelFile file, ThreadPool& pool) {
  EvaluationRequest request = JudgeModel(std::move(file), config.data, pool);
  request.samples = options.samples;
  request.rows = options.rows;
  request.chains = options.chains;
  request.temperatures = options.temperatures;
  request.inception = inception;
  request.tap = static_cast<int>(options.tap);
  if (!inception.empty()) request.cache_dir = DefaultCacheDir();
  return request;
}

// What scores depend on beside the model and the seed.
std::string JudgedWith(const SearchOptions& o) {
  return fmt::format("samples {}, rows {}, chains {}, temperatures {}, tap {}", o.samples, o.rows, o.chains,
                     o.temperatures, o.tap);
}

// Which score that the search names is not among these of one metric; empty: none.
std::string MissingName(const Search& search, const std::string& metric, const std::vector<Score>& scores) {
  std::vector<std::string_view> known;
  for (const Score& score : scores) known.push_back(score.name);
  if (known.empty() || known[0] == "failed") return "";
  const auto missing = [&](const char* key, const std::string& name) -> std::string {
    const ScoreParts parts = SplitScore(name);
    if (parts.metric != metric || std::ranges::find(known, parts.score) != known.end()) return "";
    const std::string hint = DidYouMean(parts.score, known);
    return fmt::format("{}: {} has no score '{}' here{}", key, metric, parts.score,
                       hint.empty() ? fmt::format(": known are {}", fmt::join(known, ", ")) : hint);
  };
  std::string text = missing("rank_by", search.options.rank_by);
  for (const std::string& name : SplitList(search.options.show)) {
    if (text.empty()) text = missing("show", name);
  }
  return text;
}

void CheckNames(const Search& search, const std::string& metric, const std::vector<Score>& scores) {
  const std::string missing = MissingName(search, metric, scores);
  if (!missing.empty()) throw ConfigError(fmt::format("{}: {}", search.source, missing));
}

// Before hours of training, not after them: a few samples of an untrained model are judged, to see that the scores can be
// had. Those that take long are left to the first trial.
void CheckMetrics(const Search& search, const Trial& trial, const std::string& inception, ThreadPool& pool) {
  constexpr std::int64_t kFew = 128;  // as many as any of them needs
  SearchOptions options = search.options;
  options.samples = std::min(options.samples, kFew);
  options.rows = std::min(options.rows, kFew);
  options.chains = 2;
  options.temperatures = 1;
  const Config& config = trial.config;
  const Dataset data = LoadDataset(config.data, pool);
  ModelFile file{Model::Initial(data.visible(), config.model.hidden, 1, config.model.initial_variance,
                                config.model.variance_floor, 0, data.conditions()),
                 config.sampler, config.generate,
                 ComputeStandardization(data, config.data.standardize, config.data.margin), data.shape()};
  file.conditions = ConditionStandardization(data, config.data.standardize, file.standardization);
  file.history = data.history();
  Evaluation evaluation(MakeRequest(options, config, inception, std::move(file), pool), pool);
  for (const std::string& name : trial.cell.metrics) {
    const auto metric = std::ranges::find(Metrics(), name, &Metric::name);
    const std::string reason = metric->why_not(evaluation);
    if (!reason.empty()) throw ConfigError(fmt::format("{}: metrics: {}: {}", search.source, name, reason));
    if (metric->only_by_name) {
      Inception::Load(inception).CheckTap(static_cast<int>(options.tap));
    } else if (name != "mixing") {
      CheckNames(search, name, MeasureMetric(evaluation, name));
    }
  }
}

// Trials at once are threads of this process, each with a pool of its own. A run's bits do not depend on threads, and it
// shares nothing with the others: a trial that diverges throws within its own thread, one flag stops all of them at their
// next update with a checkpoint, and whatever ends the process, all go on from their checkpoints.
class Runner {
 public:
  Runner(const Search& search, const SearchPlan& plan, const std::string& inception, SearchObserver& observer,
         const Ranks& ranks)
      : search_(search),
        plan_(plan),
        inception_(inception),
        observer_(observer),
        ranks_(ranks),
        states_(plan.trials.size()),
        done_(plan.trials.size() * seeds()) {
    for (TrialState& state : states_) state.results.resize(seeds());
    for (std::size_t r = 0; r < plan.rungs.size(); ++r) total_ += RungWork(plan, r) * Runs(plan.rungs[r].trials);
  }

  std::optional<std::vector<TrialState>> Run() {
    std::vector<std::size_t> alive(plan_.trials.size());
    for (std::size_t k = 0; k < alive.size(); ++k) alive[k] = k;
    for (rung_ = 0; rung_ < plan_.rungs.size(); ++rung_) {
      observer_.OnRung(rung_, alive.size());
      if (!RunRung(alive)) return std::nullopt;
      if (rung_ + 1 < plan_.rungs.size()) alive = Best(plan_.rungs[rung_ + 1].trials);
      earlier_ += RungWork(plan_, rung_) * Runs(plan_.rungs[rung_].trials);
    }
    return states_;
  }

 private:
  std::size_t seeds() const { return static_cast<std::size_t>(search_.options.seeds); }
  double Runs(std::size_t trials) const { return static_cast<double>(trials * seeds()); }
  std::size_t Number(const Task& task) const { return task.trial * seeds() + task.seed; }

  // The best of those that were trained up to this rung.
  std::vector<std::size_t> Best(std::size_t count) const {
    std::vector<std::size_t> best;
    for (const std::size_t k : RankTrials(states_, search_.options)) {
      if (best.size() < count && states_[k].trained() && states_[k].rung == rung_) best.push_back(k);
    }
    return best;
  }

  bool RunRung(const std::vector<std::size_t>& alive) {
    std::vector<Task> tasks;
    for (const std::size_t trial : alive) {
      states_[trial].rung = rung_;
      for (std::size_t seed = 0; seed < seeds(); ++seed) tasks.push_back({trial, seed});
    }
    const RankShare own = ShareOfRank(ranks_.rank(), ranks_.count(), std::ssize(tasks));
    std::ranges::rotate(tasks, tasks.begin() + own.first);
    for (std::atomic<double>& share : done_) share = 0;
    busy_.clear();
    next_ = 0;
    working_ = 0;
    const std::size_t workers = std::min(AtOnce(), tasks.size());
    if (workers == 0) return !observer_.ShouldStop();
    std::vector<std::jthread> threads;
    working_ = workers;
    try {
      for (std::size_t k = 0; k < workers; ++k) threads.emplace_back([&] { Work(tasks); });
      Listen();
    } catch (...) {
      stop_ = true;
      threads.clear();  // they are joined
      throw;
    }
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
    return !stop_;
  }

  std::size_t AtOnce() const {
    if (search_.options.at_once > 0) return static_cast<std::size_t>(search_.options.at_once);
    const auto cores = static_cast<std::size_t>(std::max(1u, std::thread::hardware_concurrency()));
    return std::max<std::size_t>(1, cores / static_cast<std::size_t>(search_.options.threads));
  }

  // On the caller's thread, until all workers have ended.
  void Listen() {
    bool working = true;
    while (working) {
      std::vector<News> news;
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return !news_.empty() || working_ == 0; });
        news.swap(news_);
        working = working_ > 0;
      }
      for (const News& item : news) Tell(item);
      double done = earlier_;
      for (const std::atomic<double>& share : done_) done += share * RungWork(plan_, rung_);
      observer_.OnProgress(done, total_);
      if (observer_.ShouldStop()) stop_ = true;
    }
  }

  void Tell(const News& news) {
    const Trial& trial = plan_.trials[news.task.trial];
    if (!news.warning.empty()) {
      observer_.OnWarning(fmt::format("{}: {}", TrialName(search_, trial), news.warning));
      return;
    }
    TrialState& state = states_[news.task.trial];
    state.refused = news.refused;
    state.results[news.task.seed] = news.result;
    if (news.result) CheckScores(trial, *news.result);
    observer_.OnResult(trial, news.task.seed, state);
  }

  // A name that no metric has is an error, at the first result that could have it. Later ones may lack what the first has: a
  // likelihood that is exact has no bounds.
  void CheckScores(const Trial& trial, const CellResult& result) {
    for (const auto& [metric, scores] : result.metrics) {
      if (!names_checked_) {
        CheckNames(search_, metric, scores);
      } else if (const std::string missing = MissingName(search_, metric, scores); !missing.empty()) {
        observer_.OnWarning(fmt::format("{}: {}", TrialName(search_, trial), missing));
      }
    }
    names_checked_ = names_checked_ || result.trained();
  }

  void Post(News news) {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
    changed_.notify_one();
  }

  // On a thread of its own: task after task.
  void Work(const std::vector<Task>& tasks) {
    try {
      ThreadPool pool(static_cast<int>(search_.options.threads));
      const auto run = [&](const Task& task, bool wait) {
        std::optional<News> news = RunTask(task, wait, pool);
        if (!news) return false;
        Post(*std::move(news));
        done_[Number(task)] = 1;
        return true;
      };
      // Step 1. What no other process is at.
      for (std::size_t k = next_++; k < tasks.size() && !stop_; k = next_++) {
        if (run(tasks[k], /*wait=*/false)) continue;
        const std::lock_guard lock(mutex_);
        busy_.push_back(tasks[k]);
      }
      // Step 2. What others were at: done by now, or left behind.
      while (const std::optional<Task> task = NextBusy()) run(*task, /*wait=*/true);
    } catch (const Stopped&) {
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop_ = true;
    }
    const std::lock_guard lock(mutex_);
    --working_;
    changed_.notify_one();
  }

  class Watch : public CellObserver {
   public:
    Watch(Runner& runner, const Task& task) : runner_(runner), task_(task) {}

    void OnUpdate(std::uint64_t updates, std::uint64_t /*total*/, double seconds) override {
      const SearchPlan& plan = runner_.plan_;
      const std::size_t rung = runner_.rung_;
      const SearchRung& now = plan.rungs[rung];
      const double left =
          now.seconds > 0 ? now.seconds - seconds : static_cast<double>(now.updates) - static_cast<double>(updates);
      runner_.done_[runner_.Number(task_)] = std::clamp(1 - left / RungWork(plan, rung), 0.0, 1.0);
    }
    void OnWarning(const std::string& text) override { runner_.Post({task_, {}, {}, text}); }
    bool ShouldStop() override { return runner_.stop_; }

   private:
    Runner& runner_;
    const Task& task_;
  };

  std::optional<Task> NextBusy() {
    const std::lock_guard lock(mutex_);
    if (busy_.empty() || stop_) return std::nullopt;
    const Task task = busy_.back();
    busy_.pop_back();
    return task;
  }

  // A run belongs to one process at a time. None where it is another's, and is not to be waited for.
  std::optional<News> RunTask(const Task& task, bool wait, ThreadPool& pool) {
    const Trial& trial = plan_.trials[task.trial];
    const std::string& folder = trial.folders[task.seed];
    const std::string path = RungResultPath(plan_, folder, rung_);
    const auto read = [&] {
      std::optional<CellResult> found = ReadResultFile(path);
      if (found && !found->data.empty() && found->data != trial.data) {
        throw DataError(
            fmt::format("{}: the data are no longer those of the run in {}: put them back, or give another --out",
                        trial.config.data.source, folder));
      }
      return found;
    };
    std::optional<CellResult> result = read();
    if (result && (!result->trained() || Missing(trial, *result).empty())) return News{task, std::move(result), {}, {}};
    MakeFolder(folder);
    FolderLock lock(folder + "/lock");
    if (!wait && !lock.Try()) return std::nullopt;
    if (wait && !lock.Wait([&] { return stop_.load(); })) throw Stopped{};
    result = read();
    if (!result) {
      try {
        result = Train(task, pool);
      } catch (const ConfigError& error) {  // of settings that contradict each other: a row of the table
        return News{task, {}, error.what(), {}};
      } catch (const std::bad_alloc&) {
        return News{task, {}, "it needs more memory than there is", {}};
      }
      Keep(*result, folder);
    }
    try {
      if (result->trained() && Judge(task, *result, pool)) Keep(*result, folder);
    } catch (const NumericError& error) {  // finite to the last update, and too far out to be judged
      result->outcome = "diverged";
      result->message = error.what();
      Keep(*result, folder);
    }
    return News{task, std::move(result), {}, {}};
  }

  CellResult Train(const Task& task, ThreadPool& pool) {
    const Trial& trial = plan_.trials[task.trial];
    const std::string& folder = trial.folders[task.seed];
    const SearchRung& rung = plan_.rungs[rung_];
    CellRun run{trial.config, Seed(task), folder};
    if (rung.seconds > 0) run.most_seconds = rung.seconds;
    if (rung.updates > 0) run.pause_after = rung.updates;
    Watch watch(*this, task);
    std::optional<CellResult> result = TrainCell(run, pool, watch);
    if (!result) throw Stopped{};
    if (rung.updates > 0 && result->trained() && result->updates > rung.updates) {
      throw DataError(
          fmt::format("{}: {} is lost, and the run has gone on to update {}: remove the folder {}, and it starts anew",
                      search_.source, RungResultPath(plan_, folder, rung_), result->updates, folder));
    }
    // The run goes on from here, but may be judged by other scores later.
    if (result->trained()) {
      const std::string model = ReadFile(ModelPath(folder));
      if (const std::string kept = RungModelPath(plan_, folder, rung_); kept != ModelPath(folder)) {
        MakeFolder(folder + "/rungs");
        WriteFileAtomically(kept, model);
      }
      result->model = Digest(model);
    }
    result->data = trial.data;
    return *result;
  }

  std::uint64_t Seed(const Task& task) const {
    return static_cast<std::uint64_t>(search_.options.seed) + static_cast<std::uint64_t>(task.seed);
  }

  // result.json is that of the last rung so far. The rung's own comes after it: what it has is never done again, whatever
  // ends the process between the two.
  void Keep(const CellResult& result, const std::string& folder) const {
    const std::string path = RungResultPath(plan_, folder, rung_);
    if (path != ResultPath(folder)) {
      const bool last = rung_ + 1 == plan_.rungs.size();
      MakeFolder(folder + "/rungs");
      if (last || !Exists(RungResultPath(plan_, folder, rung_ + 1))) WriteResultFile(ResultPath(folder), result);
    }
    WriteResultFile(path, result);
  }

  // The metrics that a result lacks, or has of other numbers of samples.
  std::vector<std::string> Missing(const Trial& trial, const CellResult& result) const {
    if (result.judged_with != JudgedWith(search_.options)) return trial.cell.metrics;
    std::vector<std::string> missing;
    for (const std::string& metric : trial.cell.metrics) {
      if (!result.metrics.contains(metric)) missing.push_back(metric);
    }
    return missing;
  }

  // Measures what is missing; false where nothing was.
  bool Judge(const Task& task, CellResult& result, ThreadPool& pool) {
    const Trial& trial = plan_.trials[task.trial];
    const std::vector<std::string> missing = Missing(trial, result);
    if (missing.empty()) return false;
    if (result.judged_with != JudgedWith(search_.options)) result.metrics.clear();
    result.judged_with = JudgedWith(search_.options);
    const std::string path = RungModelPath(plan_, trial.folders[task.seed], rung_);
    std::string model = ReadFile(path);
    if (!result.model.empty() && result.model != Digest(model)) {
      throw DataError(
          fmt::format("{}: not the model that the search trained to update {}: put it back, or remove the folder {}, "
                      "and the run starts anew",
                      path, result.updates, trial.folders[task.seed]));
    }
    EvaluationRequest request =
        MakeRequest(search_.options, trial.config, inception_, ParseModel(std::move(model), path), pool);
    request.seed = Seed(task);
    Evaluation evaluation(std::move(request), pool, [&](std::string_view, Index, Index) {
      if (stop_) throw Stopped{};
    });
    for (const std::string& metric : missing) {
      if (stop_) throw Stopped{};
      result.metrics[metric] = MeasureMetric(evaluation, metric);
    }
    return true;
  }

  const Search& search_;
  const SearchPlan& plan_;
  const std::string& inception_;
  SearchObserver& observer_;
  const Ranks& ranks_;
  std::vector<TrialState> states_;
  std::size_t rung_ = 0;
  double total_ = 0;
  bool names_checked_ = false;             // of scores, by a first result
  double earlier_ = 0;                     // work of the rungs before
  std::vector<std::atomic<double>> done_;  // of each run: the share of this rung

  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<News> news_;
  std::vector<Task> busy_;  // that another process was at
  std::size_t working_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::optional<std::vector<TrialState>> RunSearch(const Search& search, const SearchPlan& plan,
                                                 const std::string& inception, SearchObserver& observer,
                                                 const Ranks& ranks) {
  {
    ThreadPool pool(static_cast<int>(search.options.threads));
    CheckMetrics(search, plan.trials.at(0), inception, pool);
  }
  auto states = Runner(search, plan, inception, observer, ranks).Run();
  if (states && std::ranges::none_of(*states, [](const TrialState& state) { return state.refused.empty(); })) {
    throw ConfigError(fmt::format("{}: no trial can be run: {}", search.source, states->front().refused));
  }
  return states;
}

}  // namespace grbm
