// A search for good settings: trials of a grid, or drawn at random, each under the same budget and judged by the same
// scores; bad ones may be given up early.
//
//   <out>/search.toml             what was searched
//   <out>/trials/<name>-<digest>/ a trial with one seed: a run as TrainRun leaves it, and result.json
//   <out>/index.md, table.csv, *.png, *.svg
//
// A trial is known by its settings, its seed and its budget: what is finished is never trained again, also where the file of
// the search has changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/cells/cell.h"
#include "grbm/core/options.h"
#include "grbm/core/parallel.h"
#include "grbm/core/ranks.h"

namespace grbm {

enum class SearchMethod { kGrid, kRandom };
enum class Best { kAuto, kLeast, kGreatest };
enum class DrawScale { kLinear, kLog };

// What stands at the top of a search's file.
struct SearchOptions {
  static constexpr std::int64_t kMostTrials = 1'000'000;

  std::string preset = {};
  SearchMethod method = SearchMethod::kGrid;
  std::int64_t trials = 0;
  std::int64_t seed = 1;
  std::int64_t seeds = 1;
  std::int64_t updates = 0;
  double minutes = 0;
  std::int64_t halving = 0;
  std::int64_t at_once = 0;
  std::int64_t threads = 1;
  std::string metrics = "quick";
  std::string rank_by = {};
  Best best = Best::kAuto;
  std::string show = {};
  std::int64_t samples = 2000;
  std::int64_t rows = 10000;
  std::int64_t chains = 100;
  std::int64_t temperatures = 1000;
  std::int64_t tap = 2048;

  std::vector<Field> Fields();
};

// Where a value is drawn from, if not from a list.
struct DrawRange {
  double low = 0;
  double high = 0;
  DrawScale scale = DrawScale::kLinear;
  bool integer = false;

  std::vector<Field> Fields();
};

// A setting that is varied.
struct Variation {
  std::string name;                 // "section.key"
  std::vector<std::string> values;  // as after "--set section.key="; empty: drawn from the range
  DrawRange range = {};
};

struct Search {
  SearchOptions options;
  std::vector<std::string> settings;  // the same in all trials: "section.key=value"
  std::vector<Variation> vary;
  std::string source;  // the file's path
  std::string text;    // and its contents
};

// Throws ConfigError with `source` and, where there is one, the line.
Search ParseSearch(const std::string& text, const std::string& source);

// One choice of all settings that are varied.
struct Trial {
  std::vector<std::string> values;  // one for each variation
  Cell cell;
  Config config;
  std::string data = {};                  // a digest of its rows
  std::uint64_t updates = 0;              // of the whole run
  std::vector<std::string> folders = {};  // one for each seed
};

// "train.learning_rate=0.01 model.hidden=8".
std::string TrialName(const Search& search, const Trial& trial);

// A stage of the search, after which all but the best are given up; the last is the whole budget.
struct SearchRung {
  std::size_t trials = 0;     // that reach it, where enough are trained
  std::uint64_t updates = 0;  // since the start of a run; 0: by time
  double seconds = 0;         // of training since the start of a run; 0: by updates
};

struct SearchPlan {
  std::string out;
  std::vector<Trial> trials;
  std::vector<SearchRung> rungs;
  std::size_t finished = 0;  // runs that are trained to the end, or have diverged
};

// Looks at the data, because their number decides how long an epoch is.
SearchPlan PlanSearch(const Search& search, const std::string& out, ThreadPool& pool);
// Updates, or seconds of training, of one run at one rung that were not made at the rung before.
double RungWork(const SearchPlan& plan, std::size_t rung);

// What became of a trial.
struct TrialState {
  std::size_t rung = 0;  // the last that it was trained for
  // One for each seed; those of trials that were not run yet are missing.
  std::vector<std::optional<CellResult>> results;
  std::string refused = {};  // settings that contradict each other

  // With every seed.
  bool trained() const;
  // "trained", "trained; quick failed: ...", "diverged at update 7", "refused: ...", "not run yet".
  std::string Outcome() const;
};

// Of one score over a trial's seeds. Where only an interval is known, its worse end counts.
struct SeedScores {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  bool whole = false;  // every seed has it
  std::string text = "—";
};
// name: "metric.score".
SeedScores SummarizeSeeds(const TrialState& state, const std::string& name, bool greatest);

// Whether the greatest value of a score is the best.
bool GreatestIsBest(const SearchOptions& options);
// Numbers of the trials, the best first: trained before others, those of later rungs before those of earlier ones.
std::vector<std::size_t> RankTrials(const std::vector<TrialState>& states, const SearchOptions& options);

// What a search tells, and asks, on the caller's thread. The base class says nothing and never stops.
class SearchObserver {
 public:
  virtual ~SearchObserver() = default;
  virtual void OnRung(std::size_t /*rung*/, std::size_t /*trials*/) {}
  // In updates or seconds of training, over all rungs.
  virtual void OnProgress(double /*done*/, double /*total*/) {}
  // A trial was trained with one seed up to a rung, or will not be.
  virtual void OnResult(const Trial& /*trial*/, std::size_t /*seed*/, const TrialState& /*state*/) {}
  virtual void OnWarning(const std::string& /*text*/) {}
  virtual bool ShouldStop() { return false; }
};

// Trains and judges what is not finished. None where the observer said stop: another call goes on from there. inception: see
// EvaluationRequest. Throws ConfigError where scores that are asked for cannot be had, or where no trial could be run. Other
// processes, ranks among them, may do the same in the same folder: a run is one's at a time, and each begins with its share.
std::optional<std::vector<TrialState>> RunSearch(const Search& search, const SearchPlan& plan,
                                                 const std::string& inception, SearchObserver& observer,
                                                 const Ranks& ranks = OneRank());

// Draws the page, the table and the figures. Returns the path of index.md.
std::string WriteSearchPage(const Search& search, const SearchPlan& plan, const std::vector<TrialState>& states);
// The same table as JSON: the best first.
std::string SearchJson(const Search& search, const SearchPlan& plan, const std::vector<TrialState>& states);

}  // namespace grbm
