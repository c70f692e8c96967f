// Which trial is better.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "grbm/evaluate/curves.h"
#include "search/common.h"

namespace grbm {

namespace {

// Of each metric, the score that is shown where nobody asked for another; the first that a trial has.
constexpr std::pair<std::string_view, std::string_view> kMainScores[] = {{"quick", "frechet"},
                                                                         {"classes", "frechet"},
                                                                         {"background", "frame"},
                                                                         {"likelihood", "nats_held_out"},
                                                                         {"likelihood", "nats_training"},
                                                                         {"coverage", "coverage"},
                                                                         {"mixture", "kl_data_model"},
                                                                         {"memorisation", "nearer_to_training"},
                                                                         {"fid", "fid"},
                                                                         {"kid", "kid"},
                                                                         {"mixing", "energy_autocorrelation_time"}};

// Scores that are better the greater they are: log-likelihoods, shares of what is covered, effective draws.
bool IsGain(const std::string& score) {
  const auto starts = [&](std::string_view word) { return score.starts_with(word); };
  return starts("nats_") || starts("precision") || starts("recall") || starts("coverage") || starts("sure") ||
         starts("rarest") || score == "acceptance" || score.ends_with("_ess");
}

// The worse end of an interval where there is no estimate.
double Value(const Score& score, bool greatest) {
  if (std::isnan(score.low)) return score.estimate.value;
  return greatest ? score.low : score.high;
}

const Score* FindScore(const std::optional<CellResult>& result, const ScoreParts& name) {
  return result && result->trained() ? result->Find(name.metric, name.score) : nullptr;
}

// "; quick failed: why", of the first metric that a seed lacks; empty: none.
std::string FailedScores(const std::vector<std::optional<CellResult>>& results) {
  for (const auto& result : results) {
    for (const auto& [metric, scores] : result->metrics) {
      if (const Score* failed = result->Find(metric, "failed")) {
        return fmt::format("; {} failed: {}", metric, failed->note);
      }
    }
  }
  return "";
}

}  // namespace

ScoreParts SplitScore(const std::string& name) {
  const std::size_t dot = name.find('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

bool TrialState::trained() const {
  return refused.empty() && !results.empty() &&
         std::ranges::all_of(results, [](const auto& result) { return result && result->trained(); });
}

std::string TrialState::Outcome() const {
  if (!refused.empty()) return "refused: " + refused;
  std::size_t diverged = 0;
  std::uint64_t update = 0;
  for (const auto& result : results) {
    if (!result) return "not run yet";
    if (result->trained()) continue;
    update = diverged++ == 0 ? result->updates + 1 : std::min(update, result->updates + 1);
  }
  if (diverged == 0) return "trained" + FailedScores(results);
  const std::string text = fmt::format("diverged at update {}", update);
  if (results.size() == 1) return text;
  return fmt::format("{} of {} seeds diverged, {}at update {}", diverged, results.size(),
                     diverged > 1 ? "the first " : "", update);
}

SeedScores SummarizeSeeds(const TrialState& state, const std::string& name, bool greatest) {
  SeedScores all;
  double sum = 0;
  int count = 0;
  const Score* last = nullptr;
  for (const auto& result : state.results) {
    const Score* score = FindScore(result, SplitScore(name));
    const double value = score != nullptr ? Value(*score, greatest) : std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(value)) continue;
    last = score;
    sum += value;
    ++count;
    all.low = std::fmin(all.low, value);
    all.high = std::fmax(all.high, value);
  }
  all.whole = count == static_cast<int>(state.results.size());
  if (count == 0) return all;
  all.mean = sum / count;
  all.text = state.results.size() == 1 ? ScoreText(*last)
                                       : fmt::format("{:.4g} ({:.4g} to {:.4g})", all.mean, all.low, all.high);
  return all;
}

bool GreatestIsBest(const SearchOptions& options) {
  if (options.best != Best::kAuto) return options.best == Best::kGreatest;
  return IsGain(SplitScore(options.rank_by).score);
}

std::vector<std::size_t> RankTrials(const std::vector<TrialState>& states, const SearchOptions& options) {
  const bool greatest = GreatestIsBest(options);
  using Key = std::tuple<bool, std::size_t, bool, double, std::size_t>;
  std::vector<Key> keys;
  for (std::size_t k = 0; k < states.size(); ++k) {
    const SeedScores scores = SummarizeSeeds(states[k], options.rank_by, greatest);
    const double loss = std::isnan(scores.mean) ? HUGE_VAL : greatest ? -scores.mean : scores.mean;
    keys.emplace_back(!states[k].trained(), std::numeric_limits<std::size_t>::max() - states[k].rung, !scores.whole,
                      loss, k);
  }
  std::ranges::sort(keys);
  std::vector<std::size_t> order;
  for (const Key& key : keys) order.push_back(std::get<4>(key));
  return order;
}

std::vector<std::string> ShownScores(const SearchOptions& options, const std::vector<TrialState>& states) {
  std::vector<std::string> shown = {options.rank_by};
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(shown, name) == shown.end()) shown.push_back(name);
  };
  for (const std::string& name : SplitList(options.show)) add(name);
  if (!options.show.empty()) return shown;
  for (const std::string& metric : SplitList(options.metrics)) {
    if (metric == SplitScore(options.rank_by).metric) continue;
    for (const auto& [name, score] : kMainScores) {
      const ScoreParts parts = {std::string(name), std::string(score)};
      const auto has = [&](const auto& result) { return FindScore(result, parts) != nullptr; };
      if (name != metric || std::ranges::none_of(states, [&](const TrialState& state) {
            return std::ranges::any_of(state.results, has);
          })) {
        continue;
      }
      add(parts.metric + "." + parts.score);
      break;
    }
  }
  return shown;
}

}  // namespace grbm
