// Which trials there are, and how far each is trained.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/hash.h"
#include "grbm/core/random.h"
#include "grbm/data/fingerprint.h"
#include "grbm/data/options.h"
#include "grbm/evaluate/curves.h"
#include "grbm/train/run.h"
#include "search/common.h"

namespace grbm {

namespace {

// Every combination; the last setting changes fastest.
std::vector<std::vector<std::string>> Grid(const Search& search) {
  const std::vector<Variation>& vary = search.vary;
  double count = 1;
  for (const Variation& variation : vary) count *= static_cast<double>(variation.values.size());
  if (count > static_cast<double>(SearchOptions::kMostTrials)) {
    throw ConfigError(
        fmt::format("{}: a grid of {:.3g} trials: allowed are at most {}: shorter lists, or method = \"random\"",
                    search.source, count, SearchOptions::kMostTrials));
  }
  std::vector<std::vector<std::string>> all = {{}};
  for (const Variation& variation : vary) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& values : all) {
      for (const std::string& value : variation.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// Four digits are enough to search with, and a person can read them.
std::string DrawValue(const DrawRange& range, double uniform) {
  const bool log = range.scale == DrawScale::kLog;
  const auto between = [&](double low, double high) {
    return log ? low * std::pow(high / low, uniform) : low + (high - low) * uniform;
  };
  if (range.integer) {  // each whole number owns the stretch of 1/2 about it
    const double value = std::round(between(range.low - (log ? 0 : 0.5), range.high + (log ? 0 : 0.5)));
    return fmt::format("{}", std::clamp(value, std::ceil(range.low), std::floor(range.high)));
  }
  const double value = std::stod(fmt::format("{:.4g}", between(range.low, range.high)));
  return fmt::format("{}", std::clamp(value, range.low, range.high));
}

// A draw is a function of the seed, the number of the trial and the name of the setting: more trials or more settings change
// none of the others.
std::vector<std::string> Draw(const Search& search, std::uint64_t number) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const auto seed = static_cast<std::uint64_t>(search.options.seed);
  std::vector<std::string> values;
  for (const Variation& variation : search.vary) {
    Hash name;
    name.Add(variation.name);
    const PhiloxWords words =
        Philox({low(number), high(number), low(name.value()), high(name.value())}, {low(seed), high(seed)});
    const double uniform = UniformDouble(words[0], words[1]);
    if (variation.values.empty()) {
      values.push_back(DrawValue(variation.range, uniform));
    } else {
      values.push_back(
          variation.values[static_cast<std::size_t>(uniform * static_cast<double>(variation.values.size()))]);
    }
  }
  return values;
}

std::vector<std::vector<std::string>> Choices(const Search& search) {
  if (search.options.method == SearchMethod::kGrid) return Grid(search);
  // Lists may have fewer combinations than trials are asked for.
  const auto wanted = static_cast<std::uint64_t>(search.options.trials);
  std::vector<std::vector<std::string>> choices;
  std::set<std::vector<std::string>> known;
  for (std::uint64_t number = 0; choices.size() < wanted && number < 20 * wanted + 100; ++number) {
    const std::vector<std::string> values = Draw(search, number);
    if (known.insert(values).second) choices.push_back(values);
  }
  return choices;
}

// Epochs of which a run makes exactly so many updates.
double EpochsOf(TrainOptions train, std::uint64_t updates, std::uint64_t rows) {
  train.epochs = static_cast<double>(updates) * static_cast<double>(train.batch_size) / static_cast<double>(rows);
  while (TotalUpdates(train, rows) > updates) train.epochs = std::nextafter(train.epochs, 0);
  while (TotalUpdates(train, rows) < updates) train.epochs = std::nextafter(train.epochs, HUGE_VAL);
  return train.epochs;
}

// Successive halving: as many rungs as leave a trial, and an update, at each of their ends.
std::vector<SearchRung> Rungs(const SearchOptions& options, std::size_t trials) {
  const auto divisor = static_cast<std::size_t>(options.halving);
  const auto updates = static_cast<std::uint64_t>(options.updates);
  std::vector<SearchRung> rungs = {{trials}};
  for (std::uint64_t left = updates; divisor > 1 && rungs.back().trials >= divisor; left /= divisor) {
    if (updates > 0 && left < divisor) break;
    rungs.push_back({rungs.back().trials / divisor});
  }
  double share = 1;
  for (std::size_t r = rungs.size(); r-- > 0; share *= static_cast<double>(divisor)) {
    rungs[r].seconds = 60 * options.minutes / share;
    rungs[r].updates = static_cast<std::uint64_t>(std::round(static_cast<double>(updates) / share));
  }
  return rungs;
}

// What, beside settings and seed, a run depends on: where it pauses, and how long it may take.
std::string BudgetText(const std::vector<SearchRung>& rungs) {
  std::string text;
  for (std::size_t r = 0; r < rungs.size(); ++r) {
    if (rungs[r].seconds > 0) text += fmt::format("seconds={}\n", rungs[r].seconds);
    if (rungs[r].seconds == 0 && r + 1 < rungs.size()) text += fmt::format("pause={}\n", rungs[r].updates);
  }
  return text;
}

// The data of each trial: how many rows, and which.
class TrialData {
 public:
  struct Facts {
    std::uint64_t rows;
    std::string digest;
  };

  explicit TrialData(ThreadPool& pool) : pool_(pool) {}

  Facts Find(const DataOptions& options) {
    for (const auto& [known, facts] : facts_) {
      if (known == options) return facts;
    }
    const Dataset data = LoadDataset(options, pool_);
    facts_.emplace_back(options,
                        Facts{static_cast<std::uint64_t>(data.rows()), fmt::format("{:016x}", Fingerprint(data))});
    return facts_.back().second;
  }

 private:
  ThreadPool& pool_;
  std::vector<std::pair<DataOptions, Facts>> facts_;
};

bool IsFinished(const SearchPlan& plan, const std::string& folder) {
  for (std::size_t r = 0; r < plan.rungs.size(); ++r) {
    const std::optional<CellResult> result = ReadResultFile(RungResultPath(plan, folder, r));
    if (result && (!result->trained() || r + 1 == plan.rungs.size())) return true;
  }
  return false;
}

}  // namespace

std::string RungResultPath(const SearchPlan& plan, const std::string& folder, std::size_t rung) {
  return plan.rungs.size() == 1 ? ResultPath(folder) : fmt::format("{}/rungs/{}.json", folder, rung + 1);
}

std::string RungModelPath(const SearchPlan& plan, const std::string& folder, std::size_t rung) {
  return rung + 1 == plan.rungs.size() ? ModelPath(folder) : fmt::format("{}/rungs/{}.safetensors", folder, rung + 1);
}

std::string TrialName(const Search& search, const Trial& trial) {
  std::string name;
  for (std::size_t v = 0; v < search.vary.size(); ++v) {
    name += fmt::format("{}{}={}", v > 0 ? " " : "", search.vary[v].name, trial.values[v]);
  }
  return name;
}

SearchPlan PlanSearch(const Search& search, const std::string& out, ThreadPool& pool) {
  const SearchOptions& options = search.options;
  SearchPlan plan{out, {}, {}};
  TrialData data(pool);
  std::set<std::vector<std::string>> known;
  for (const std::vector<std::string>& values : Choices(search)) {
    Trial trial{values, {options.preset, search.settings, SplitList(options.metrics)}, {}};
    for (std::size_t v = 0; v < values.size(); ++v) {
      trial.cell.settings.push_back(search.vary[v].name + "=" + values[v]);
    }
    trial.config = CellConfig(trial.cell);
    const auto [rows, digest] = data.Find(trial.config.data);
    trial.data = digest;
    if (options.updates > 0) {
      const double epochs = EpochsOf(trial.config.train, static_cast<std::uint64_t>(options.updates), rows);
      trial.cell.settings.push_back(fmt::format("train.epochs={}", epochs));
      trial.config = CellConfig(trial.cell);
    }
    trial.updates = TotalUpdates(trial.config.train, rows);
    if (known.insert(Differences(trial.config, Config())).second) plan.trials.push_back(trial);
  }
  plan.rungs = Rungs(options, plan.trials.size());
  for (Trial& trial : plan.trials) {
    for (std::int64_t k = 0; k < options.seeds; ++k) {
      const std::string name =
          CellName(trial.cell, static_cast<std::uint64_t>(options.seed + k), BudgetText(plan.rungs));
      trial.folders.push_back(out + "/trials/" + name);
      plan.finished += IsFinished(plan, trial.folders.back()) ? 1 : 0;
    }
  }
  return plan;
}

double RungWork(const SearchPlan& plan, std::size_t rung) {
  const auto work = [&](std::size_t r) {
    return plan.rungs[r].seconds > 0 ? plan.rungs[r].seconds : static_cast<double>(plan.rungs[r].updates);
  };
  return work(rung) - (rung > 0 ? work(rung - 1) : 0);
}

}  // namespace grbm
