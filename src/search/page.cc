// The page of a search, its table and its figures.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cells/table.h"
#include "core/json.h"
#include "core/number.h"
#include "grbm/core/file.h"
#include "grbm/report/figure.h"
#include "grbm/train/run.h"
#include "grbm/train/settings.h"
#include "search/common.h"

namespace grbm {

namespace {

using json = nlohmann::ordered_json;

std::string FolderName(const std::string& folder) { return std::filesystem::path(folder).filename().string(); }

// Means over the seeds.
struct Effort {
  double updates = 0;
  double seconds = 0;
  bool known = false;

  double rate() const { return seconds > 0 ? updates / seconds : 0; }
};

Effort MeanEffort(const TrialState& state) {
  Effort effort;
  double count = 0;
  for (const auto& result : state.results) {
    if (!result) continue;
    effort.updates += static_cast<double>(result->updates);
    effort.seconds += result->seconds;
    ++count;
  }
  if (count == 0) return effort;
  return {effort.updates / count, effort.seconds / count, true};
}

std::string BudgetText(const SearchRung& rung) {
  return rung.seconds > 0 ? fmt::format("{:.3g} minutes of training", rung.seconds / 60)
                          : fmt::format("{} updates", rung.updates);
}

// A value as it stands after --set: a number where the setting, which has this default, takes numbers.
json SettingJson(const Scalar& value, const std::string& text) {
  const std::optional<double> number = NumberIn<double>(text);
  if (std::holds_alternative<bool>(value)) return text == "true";
  if (std::holds_alternative<std::string>(value) || !number) return text;
  return std::holds_alternative<double>(value) ? json(*number) : json(static_cast<std::int64_t>(*number));
}

class SearchPage {
 public:
  SearchPage(const Search& search, const SearchPlan& plan, const std::vector<TrialState>& states)
      : search_(search),
        plan_(plan),
        states_(states),
        order_(RankTrials(states, search.options)),
        shown_(ShownScores(search.options, states)),
        greatest_(GreatestIsBest(search.options)) {}

  std::string Write() const {
    MakeFolder(plan_.out);
    WriteFileAtomically(plan_.out + "/table.csv", Csv());
    std::string text =
        Head() + BestText() + "## All trials\n\n" + Table() + "\nAll numbers: [table.csv](table.csv).\n\n";
    text += DrawSettings() + DrawTime();
    text += fmt::format("## The file\n\n```toml\n{}{}```\n", search_.text, search_.text.ends_with('\n') ? "" : "\n");
    const std::string path = plan_.out + "/index.md";
    WriteFileAtomically(path, text);
    return path;
  }

  std::string Json() const {
    json rows = json::array();
    std::vector<Scalar> defaults;
    for (const Variation& variation : search_.vary) defaults.push_back(FindSettings(variation.name)[0].value);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const Trial& trial = plan_.trials[order_[k]];
      const TrialState& state = states_[order_[k]];
      json row;
      row["rank"] = k + 1;
      for (std::size_t v = 0; v < search_.vary.size(); ++v) {
        row["settings"][search_.vary[v].name] = SettingJson(defaults[v], trial.values[v]);
      }
      row["outcome"] = state.Outcome();
      row["rung"] = state.rung + 1;
      if (const Effort effort = MeanEffort(state); effort.known) {
        row["updates"] = effort.updates;
        row["seconds"] = effort.seconds;
      }
      row["scores"] = json::object();
      for (const std::string& name : shown_) {
        const SeedScores scores = SummarizeSeeds(state, name, greatest_);
        if (std::isnan(scores.mean)) continue;
        row["scores"][name] = {{"mean", scores.mean}, {"low", scores.low}, {"high", scores.high}};
      }
      row["folders"] = trial.folders;
      rows.push_back(row);
    }
    return JsonText(json{{"page", plan_.out + "/index.md"},
                         {"rank_by", search_.options.rank_by},
                         {"best", greatest_ ? "greatest" : "least"},
                         {"trials", rows}});
  }

 private:
  const SearchOptions& options() const { return search_.options; }

  std::string Head() const {
    std::string text = fmt::format("# Search: {}\n\n", std::filesystem::path(search_.source).filename().string());
    text += fmt::format("{} trials of preset {}, {}, {} of each{}; the {} {} is the best.\n", plan_.trials.size(),
                        options().preset, options().method == SearchMethod::kGrid ? "a grid" : "drawn at random",
                        BudgetText(plan_.rungs.back()),
                        options().seeds > 1 ? fmt::format(" with each of {} seeds", options().seeds) : "",
                        greatest_ ? "greatest" : "least", options().rank_by);
    if (options().minutes > 0) {
      text += "Minutes are those of a machine and of what else it did: another one makes other models of them.\n";
    }
    if (plan_.rungs.size() > 1) {
      text += fmt::format("\nSuccessive halving: the best {} of each rung go on, from where they were.", OneIn());
      for (std::size_t r = 0; r < plan_.rungs.size(); ++r) {
        text += fmt::format(" Rung {}: {} trials, {}.", r + 1, plan_.rungs[r].trials, BudgetText(plan_.rungs[r]));
      }
      text += " A trial's numbers are those of its last rung: compare within a rung only.\n";
    }
    text += fmt::format("\nMade by `grbm search {} --out {}`", ShellWord(search_.source), ShellWord(plan_.out));
    for (const TrialState& state : states_) {
      if (!state.results[0]) continue;
      text += fmt::format(" with grbm {}, CPU target {}; threads of each run: {}", state.results[0]->version,
                          state.results[0]->cpu_target, state.results[0]->threads);
      break;
    }
    return text + ".\n\n";
  }

  std::string OneIn() const { return fmt::format("one in {}", options().halving); }

  std::string BestText() const {
    const Trial& best = plan_.trials[order_[0]];
    const TrialState& state = states_[order_[0]];
    if (!state.trained()) return "No trial was trained.\n\n";
    const SeedScores scores = SummarizeSeeds(state, options().rank_by, greatest_);
    if (std::isnan(scores.mean)) return fmt::format("No trial has {}.\n\n", options().rank_by);
    std::string text =
        fmt::format("## The best\n\n**{}**: {} {}.", TrialName(search_, best), options().rank_by, scores.text);
    if (options().minutes > 0) {
      text += fmt::format(
          " It was stopped after {} of {} updates; to train it on, copy its folder, and give the copy to --resume.",
          state.results[0]->updates, best.updates);
    }
    const std::string fresh = "best";
    text += fmt::format("\n\n```sh\n{}\n", TrainCommand(best.cell, static_cast<std::uint64_t>(options().seed), fresh));
    text += fmt::format("grbm evaluate {} --data {} --metrics {} --samples {} --rows {} --seed {}", ModelPath(fresh),
                        ShellWord(best.config.data.source), options().metrics, options().samples, options().rows,
                        options().seed);
    const SearchOptions defaults;
    if (options().chains != defaults.chains) text += fmt::format(" --chains {}", options().chains);
    if (options().temperatures != defaults.temperatures) {
      text += fmt::format(" --temperatures {}", options().temperatures);
    }
    if (options().tap != defaults.tap) text += fmt::format(" --tap {}", options().tap);
    text += "\n```\n\n";
    return text;
  }

  std::string Table() const {
    std::vector<std::string> header = {"rank"};
    for (const Variation& variation : search_.vary) header.push_back(variation.name);
    for (const std::string& name : shown_) header.push_back(name);
    header.insert(header.end(), {"outcome", "updates", "training", "updates/s", "run"});
    std::string table = MarkdownHeader(header);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const Trial& trial = plan_.trials[order_[k]];
      const TrialState& state = states_[order_[k]];
      std::vector<std::string> row = {std::to_string(k + 1)};
      row.insert(row.end(), trial.values.begin(), trial.values.end());
      for (const std::string& name : shown_) row.push_back(SummarizeSeeds(state, name, greatest_).text);
      const bool given_up = state.trained() && state.rung + 1 < plan_.rungs.size();
      row.push_back(given_up ? fmt::format("given up at rung {}", state.rung + 1) : state.Outcome());
      const Effort effort = MeanEffort(state);
      row.push_back(effort.known ? fmt::format("{:.0f}", effort.updates) : "—");
      row.push_back(effort.known ? MinutesText(effort.seconds) : "—");
      row.push_back(effort.known && effort.seconds > 0 ? fmt::format("{:.3g}", effort.rate()) : "—");
      std::string links;
      for (const std::string& folder : trial.folders) {
        const std::string name = FolderName(folder);
        links += fmt::format("{}[{}](trials/{})", links.empty() ? "" : " ", name.substr(name.rfind('-') + 1), name);
      }
      row.push_back(links);
      table += MarkdownRow(row);
    }
    return table;
  }

  // One line for each run.
  std::string Csv() const {
    std::vector<const CellResult*> results;
    for (const TrialState& state : states_) {
      for (const auto& result : state.results) results.push_back(result ? &*result : nullptr);
    }
    const std::vector<ScoreName> scores = AllScores(results);
    std::vector<std::string> names = {"rank"};
    for (const Variation& variation : search_.vary) names.push_back(variation.name);
    names.insert(names.end(), {"seed", "outcome", "rung", "updates", "seconds", "run"});
    AddScoreNames(names, scores);
    std::string csv = CsvRow(names);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const Trial& trial = plan_.trials[order_[k]];
      const TrialState& state = states_[order_[k]];
      for (std::size_t s = 0; s < trial.folders.size(); ++s) {
        const CellResult* result = state.results[s] ? &*state.results[s] : nullptr;
        std::vector<std::string> row = {std::to_string(k + 1)};
        row.insert(row.end(), trial.values.begin(), trial.values.end());
        row.push_back(std::to_string(options().seed + static_cast<std::int64_t>(s)));
        row.push_back(result != nullptr ? result->outcome : state.refused.empty() ? "not run" : "refused");
        row.push_back(std::to_string(state.rung + 1));
        row.push_back(result != nullptr ? std::to_string(result->updates) : "");
        row.push_back(result != nullptr ? fmt::format("{:.1f}", result->seconds) : "");
        row.push_back(FolderName(trial.folders[s]));
        AddScores(row, scores, result);
        csv += CsvRow(row);
      }
    }
    return csv;
  }

  // What all trials have in common, and so can be compared: their results at the first rung.
  std::vector<TrialState> FirstRung() const {
    std::vector<TrialState> first = states_;
    for (std::size_t k = 0; plan_.rungs.size() > 1 && k < first.size(); ++k) {
      first[k].rung = 0;
      for (std::size_t s = 0; s < first[k].results.size(); ++s) {
        first[k].results[s] = ReadResultFile(RungResultPath(plan_, plan_.trials[k].folders[s], 0));
      }
    }
    return first;
  }

  // Where the values of a setting lie on an axis: numbers are themselves, words are counted.
  std::vector<double> Places(std::size_t variation, Axis& axis) const {
    std::vector<double> places;
    std::vector<std::string> words;
    bool numbers = true;
    for (const Trial& trial : plan_.trials) {
      const std::string& text = trial.values[variation];
      const std::optional<double> number = NumberIn<double>(text);
      numbers = numbers && number;
      places.push_back(number.value_or(0));
      if (std::ranges::find(words, text) == words.end()) words.push_back(text);
    }
    axis.label = search_.vary[variation].name;
    if (numbers) {
      const auto [low, high] = std::ranges::minmax(places);
      const Variation& vary = search_.vary[variation];
      axis.log = low > 0 && (vary.values.empty() ? vary.range.scale == DrawScale::kLog : high >= 10 * low);
      return places;
    }
    axis.label += ":";
    for (std::size_t w = 0; w < words.size(); ++w) axis.label += fmt::format(" {} {}", w + 1, words[w]);
    axis.low = 0.5;
    axis.high = static_cast<double>(words.size()) + 0.5;
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto found = std::ranges::find(words, plan_.trials[k].values[variation]);
      places[k] = static_cast<double>(found - words.begin() + 1);
    }
    return places;
  }

  // A point for each run that has the score, so that a score has a panel for every x or for none. places: where trials lie on
  // x, above 0 if that is logarithmic (Places), or nothing: seconds of training.
  std::optional<ScatterPanel> Scatter(const std::vector<TrialState>& states, const std::string& name, Axis x,
                                      const std::vector<double>& places) const {
    ScatterPanel panel;
    std::vector<std::pair<double, double>> points;
    bool log = true;
    double low = HUGE_VAL;
    double high = 0;
    for (std::size_t k = 0; k < states.size(); ++k) {
      for (const auto& result : states[k].results) {
        TrialState one;
        one.results = {result};
        const double y = SummarizeSeeds(one, name, greatest_).mean;
        const double place = places.empty() ? (result ? result->seconds : 0) : places[k];
        if (!(std::abs(y) < double{std::numeric_limits<float>::max()})) continue;  // NaN, too
        points.emplace_back(place, y);
        log = log && y > 0;
        low = std::min(low, y);
        high = std::max(high, y);
      }
    }
    if (points.empty()) return std::nullopt;
    panel.x = std::move(x);
    panel.y = {.label = name, .low = 0, .high = 0, .log = log && high >= 20 * low};
    panel.radius = 3;
    panel.points = Matrix(static_cast<Index>(points.size()), 2);
    for (std::size_t k = 0; k < points.size(); ++k) {
      panel.points(static_cast<Index>(k), 0) = static_cast<float>(points[k].first);
      panel.points(static_cast<Index>(k), 1) = static_cast<float>(points[k].second);
    }
    return panel;
  }

  std::string Draw(const std::string& name, const Figure& figure, const std::string& description) const {
    if (figure.panels.empty()) return "";
    for (const char* ending : {".png", ".svg"}) WriteFigure(plan_.out + "/" + name + ending, figure);
    return fmt::format("![{}]({}.png)\n\n([SVG]({}.svg))\n\n", description, name, name);
  }

  std::string DrawSettings() const {
    const std::vector<TrialState> states = FirstRung();
    Figure figure;
    figure.columns = static_cast<int>(search_.vary.size());
    for (const std::string& name : shown_) {
      std::vector<Panel> row;
      for (std::size_t v = 0; v < search_.vary.size(); ++v) {
        Axis axis;
        const std::vector<double> places = Places(v, axis);
        if (const auto panel = Scatter(states, name, axis, places)) row.push_back(*panel);
      }
      figure.panels.insert(figure.panels.end(), row.begin(), row.end());
    }
    const std::string text = Draw("settings", figure, "scores against settings");
    if (text.empty()) return "";
    return fmt::format("## Scores against settings\n\nA point is a run{}; those that diverged are not shown.\n\n{}",
                       plan_.rungs.size() > 1 ? fmt::format(" at rung 1, {}", BudgetText(plan_.rungs[0])) : "", text);
  }

  std::string DrawTime() const {
    Figure figure;
    for (const std::string& name : shown_) {
      if (const auto panel = Scatter(states_, name, {.label = "seconds of training"}, {}))
        figure.panels.push_back(*panel);
    }
    const std::string text = Draw("time", figure, "scores against seconds of training");
    return text.empty() ? "" : "## Scores against time\n\n" + text;
  }

  const Search& search_;
  const SearchPlan& plan_;
  const std::vector<TrialState>& states_;
  std::vector<std::size_t> order_;
  std::vector<std::string> shown_;
  bool greatest_;
};

}  // namespace

std::string WriteSearchPage(const Search& search, const SearchPlan& plan, const std::vector<TrialState>& states) {
  return SearchPage(search, plan, states).Write();
}

std::string SearchJson(const Search& search, const SearchPlan& plan, const std::vector<TrialState>& states) {
  return SearchPage(search, plan, states).Json();
}

}  // namespace grbm
