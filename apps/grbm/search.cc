// grbm search: settings that are tried, and which of them are the best.
#include "grbm/search/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "grbm/core/file.h"
#include "job.h"
#include "output.h"
#include "progress.h"
#include "signals.h"
#include "streams.h"

namespace grbm::app {

namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string file;
  std::string out;
  std::string inception;
  bool dry_run = false;
};

class ShowSearch : public SearchObserver {
 public:
  ShowSearch(const Search& search, const SearchPlan& plan, bool quiet)
      : search_(search), plan_(plan), progress_(search.options.minutes > 0 ? "second" : "update", quiet) {}

  void OnRung(std::size_t rung, std::size_t trials) override {
    if (plan_.rungs.size() == 1) return;
    progress_.Say(fmt::format("rung {} of {}: {} trials", rung + 1, plan_.rungs.size(), trials));
  }
  void OnProgress(double done, double total) override {
    if (!started_) progress_.Start(Whole(done), Whole(total));
    started_ = true;
    if (done_ == Whole(total) && Whole(done) == done_) return;  // all are trained; the last are judged
    done_ = Whole(done);
    progress_.Update(done_, fmt::format("{} runs ended", ended));
  }
  void OnResult(const Trial& trial, std::size_t seed, const TrialState& state) override {
    ++ended;
    TrialState one;
    one.results = {state.results[seed]};
    one.refused = state.refused;
    std::string text = one.Outcome();
    if (one.trained()) {
      text = search_.options.rank_by + " " +
             SummarizeSeeds(one, search_.options.rank_by, GreatestIsBest(search_.options)).text;
    }
    const std::string with = search_.options.seeds > 1
                                 ? fmt::format(", seed {}", search_.options.seed + static_cast<std::int64_t>(seed))
                                 : "";
    progress_.Say(fmt::format("{}{}: {}", TrialName(search_, trial), with, text));
  }
  void OnWarning(const std::string& text) override { progress_.Warn(text); }
  bool ShouldStop() override { return Interrupted(); }

  std::size_t ended = 0;

 private:
  static std::uint64_t Whole(double number) { return static_cast<std::uint64_t>(std::llround(number)); }

  const Search& search_;
  const SearchPlan& plan_;
  Progress progress_;
  bool started_ = false;
  std::uint64_t done_ = 0;
};

// A folder of a search, or one that is still to be filled.
void CheckFolder(const std::string& out) {
  if (!Exists(out)) return;
  if (!IsFolder(out)) throw IoError(fmt::format("--out {}: this is a file: give a folder", out));
  if (Exists(out + "/search.toml") || fs::is_empty(out)) return;
  throw ConfigError(
      fmt::format("--out {}: it holds something else than a search: give an empty folder, or one of a search", out));
}

int DryRun(const Search& search, const SearchPlan& plan, const Common& common) {
  const auto seeds = static_cast<std::size_t>(search.options.seeds);
  const bool timed = search.options.minutes > 0;
  double work = 0;
  nlohmann::ordered_json rungs = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < plan.rungs.size(); ++r) {
    const SearchRung& rung = plan.rungs[r];
    work += RungWork(plan, r) * static_cast<double>(rung.trials * seeds);
    rungs.push_back({{"trials", rung.trials}});
    if (timed) {
      rungs.back()["minutes"] = rung.seconds / 60;
    } else {
      rungs.back()["updates"] = rung.updates;
    }
  }
  if (common.json) {
    nlohmann::ordered_json object = {{"runs", plan.trials.size() * seeds}, {"finished", plan.finished}};
    if (timed) {
      object["minutes"] = work / 60;
    } else {
      object["updates"] = work;
    }
    object["rungs"] = rungs;
    for (const Trial& trial : plan.trials) {
      object["trials"].push_back({{"settings", TrialName(search, trial)}, {"folders", trial.folders}});
    }
    Print("{}\n", JsonText(object));
    return 0;
  }
  for (const Trial& trial : plan.trials) {
    Print("{:>9.3g} operations an update  {}\n", UpdateCost(trial.config), TrialName(search, trial));
  }
  for (const SearchRung& rung : plan.rungs) {
    if (plan.rungs.size() == 1) break;
    Print("{} trials up to {}\n", rung.trials,
          timed ? fmt::format("{:.3g} minutes", rung.seconds / 60) : fmt::format("update {}", rung.updates));
  }
  Print("{} trials, {} runs, {} in all; {} runs are finished\n", plan.trials.size(), plan.trials.size() * seeds,
        timed ? fmt::format("{:.3g} minutes of training", work / 60) : fmt::format("{:.0f} updates", work),
        plan.finished);
  return 0;
}

int RunTrials(Arguments a, const Common& common) {
  Ranks& ranks = JoinJob();
  const bool first_rank = ranks.rank() == 0;
  Search search = ParseSearch(ReadFile(a.file, {.max_bytes = 1 << 20}), a.file);
  if (a.out.empty()) a.out = "search/" + fs::path(a.file).stem().string();
  if (first_rank) CheckFolder(a.out);
  SearchPlan plan;
  {
    ThreadPool pool(1);
    plan = PlanSearch(search, a.out, pool);
  }
  if (const auto trials = std::ssize(plan.trials); first_rank && trials < search.options.trials && !common.quiet) {
    Tell("grbm: {}: {} trials of {} that are asked for: the lists have no more\n", a.file, trials,
         search.options.trials);
  }
  if (a.dry_run) return first_rank ? DryRun(search, plan, common) : 0;
  if (const std::int64_t cores = ThreadsOfRank(); cores > 0 && search.options.at_once == 0) {
    search.options.at_once = std::max<std::int64_t>(1, cores / search.options.threads);
  }
  CatchInterrupts();
  FromFirst(ranks, [&] {  // before others fill the folder
    MakeFolder(a.out);
    WriteFileAtomically(a.out + "/search.toml", search.text);
    return std::string();
  });
  std::optional<std::vector<TrialState>> states;
  {
    ShowSearch show(search, plan, common.quiet || common.json || !first_rank);
    states = RunSearch(search, plan, a.inception, show, ranks);
  }
  if (!states) {
    if (first_rank) Tell("grbm: stopped; to go on, give the same command again: what is finished is kept\n");
    return 130;
  }
  if (!first_rank) return 0;
  const std::string page = WriteSearchPage(search, plan, *states);
  if (common.json) {
    Print("{}\n", SearchJson(search, plan, *states));
    return 0;
  }
  const std::size_t best = RankTrials(*states, search.options)[0];
  Results results = {{"page", page}};
  const SeedScores scores = SummarizeSeeds((*states)[best], search.options.rank_by, GreatestIsBest(search.options));
  if ((*states)[best].trained() && !std::isnan(scores.mean)) {
    results.emplace_back("best", TrialName(search, plan.trials[best]));
    results.emplace_back(search.options.rank_by, scores.text);
    results.emplace_back("run", plan.trials[best].folders[0]);
  } else {
    results.emplace_back("best", (*states)[best].trained() ? fmt::format("no trial has {}", search.options.rank_by)
                                                           : std::string("no trial was trained"));
  }
  PrintResults(common, results);
  return 0;
}

}  // namespace

void AddSearch(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("search", "Try settings, in a grid or at random, and rank them");
  const auto a = std::make_shared<Arguments>();
  SearchOptions options;
  std::string keys = "A TOML file; its keys, and settings below [set] and [vary], see docs/search.md:";
  for (const Field& field : options.Fields()) keys += fmt::format("\n{}: {}", field.name, field.help);
  command.AddOption("FILE", a->file, keys).Required();
  command.AddOption("-o,--out", a->out, "Where trials and the page go (default: search/FILE)").SetTypeName("DIR");
  command.AddFlag("--dry-run", a->dry_run, "Print the trials and what they cost; train nothing");
  command.AddOption("--inception", a->inception, "fid, kid: weights of the Inception network, see docs/inception.md")
      .SetEnvironment("GRBM_INCEPTION");
  command.SetFooter(
      "Example: grbm search rates.toml --out rates\n"
      "On many machines: mpirun -n 4 grbm search rates.toml --out rates (docs/scaling.md)");
  command.SetCallback([=, &common, &action] {
    common.shared = true;
    action = [=, &common] { return RunTrials(*a, common); };
  });
}

}  // namespace grbm::app
