// The file of a search.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "grbm/core/error.h"
#include "grbm/evaluate/curves.h"
#include "grbm/search/search.h"
#include "grbm/train/presets.h"
#include "train/toml_file.h"

namespace grbm {

namespace {

std::string Text(const Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return fmt::format("{}", std::get<double>(value));
}

// A setting that [set] or [vary] names.
struct Entry {
  std::string name;
  const toml::node* node;
  std::string where;
};

// "section.key" = ..., or section.key = ..., or [set.section] and key = ...; in the order of the file.
std::vector<Entry> Entries(const toml::node& node, const std::string& part, const std::string& source) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    throw ConfigError(
        fmt::format("{}: '{}' is a section: write [{}] and settings below it", SourceLine(source, node), part, part));
  }
  std::vector<Entry> entries;
  const auto add = [&](const std::string& name, const toml::node& value) {
    entries.push_back({name, &value, fmt::format("{}: [{}] {}", SourceLine(source, value), part, name)});
  };
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    const toml::table* section = value.as_table();
    if (name.find('.') != std::string::npos) {
      add(name, value);
    } else if (section != nullptr) {
      for (const auto& [inner, setting] : *section) add(name + "." + std::string(inner.str()), setting);
    } else {
      throw ConfigError(fmt::format("{}: [{}] {}: allowed is \"section.key\", for instance \"train.learning_rate\"",
                                    SourceLine(source, value), part, name));
    }
  }
  std::ranges::stable_sort(entries, {}, [](const Entry& entry) {
    const toml::source_position& at = entry.node->source().begin;
    return std::pair(at.line, at.column);
  });
  // "train.momentum" and [set.train] momentum are one setting.
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (std::ranges::find(entries.begin(), entry, entry->name, &Entry::name) == entry) continue;
    throw ConfigError(fmt::format("{}: it stands there twice: leave one of the two out", entry->where));
  }
  return entries;
}

bool IsWhole(Config config, const std::string& name) {
  for (const Config::Section& section : config.Sections()) {
    for (const Field& field : section.fields) {
      if (fmt::format("{}.{}", section.name, field.name) == name) {
        return std::holds_alternative<std::int64_t*>(field.value);
      }
    }
  }
  return false;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& source) : source_(source), table_(ParseToml(text, source)) {
    search_.source = source;
    search_.text = text;
  }

  Search Parse() {
    ReadTop();
    CheckTop();
    ReadBase();
    if (const toml::node* node = table_.get("set")) ReadFixed(*node);
    if (const toml::node* node = table_.get("vary")) ReadVaried(*node);
    if (search_.vary.empty()) {
      throw ConfigError(fmt::format("{}: nothing is varied: write [vary] and settings with lists below it", source_));
    }
    CheckScores();
    return search_;
  }

 private:
  // The line of a key, where it was given.
  std::string At(const std::string& key) const {
    const toml::node* node = table_.get(key);
    return node != nullptr ? SourceLine(source_, *node) : source_;
  }
  [[noreturn]] void Refuse(const std::string& key, const std::string& why) const {
    throw ConfigError(fmt::format("{}: {}: {}", At(key), key, why));
  }

  void ReadTop() {
    std::vector<Field> fields = search_.options.Fields();
    std::string ignored;
    std::vector<Field> known = fields;
    known.push_back({"set", &ignored, ""});
    known.push_back({"vary", &ignored, ""});
    for (const auto& [key, node] : table_) {
      const Field& field = FindField(known, key.str(), SourceLine(source_, node));
      if (field.name == "set" || field.name == "vary") continue;
      Assign(field, ToScalar(node, SourceLine(source_, node), key.str()), SourceLine(source_, node));
    }
  }

  void CheckTop() {
    const SearchOptions& o = search_.options;
    if (o.preset.empty()) Refuse("preset", "what is trained: a preset ('grbm presets' lists them) or a TOML file");
    if (o.updates > 0 && o.minutes > 0) Refuse("minutes", "updates are given, too: allowed is one of the two");
    if (o.updates == 0 && o.minutes == 0) Refuse("updates", "the budget of a trial: give updates or minutes");
    if (o.method == SearchMethod::kRandom && o.trials == 0) Refuse("trials", "how many are drawn: at least 1");
    if (o.method == SearchMethod::kGrid && o.trials > 0) {
      Refuse("trials", "the lists decide how many a grid has: allowed with method = \"random\"");
    }
    if (o.halving == 1)
      Refuse("halving", "one in how many goes on: allowed is 0 (all) or a whole number of at least 2");
  }

  void ReadBase() {
    try {
      base_ = LoadPreset(search_.options.preset);
    } catch (const ConfigError& error) {
      Refuse("preset", error.what());
    }
  }

  // One value of a setting, as after --set.
  std::string Assignment(const Entry& entry, const std::string& value) const {
    const std::string assignment = entry.name + "=" + value;
    Config config = base_;
    SetOption(config, assignment, entry.where);
    return assignment;
  }

  void CheckLength(const Entry& entry) const {
    if (entry.name != "train.epochs" || search_.options.updates == 0) return;
    throw ConfigError(fmt::format("{}: updates = {} says how long a trial is: leave one of the two out", entry.where,
                                  search_.options.updates));
  }

  void ReadFixed(const toml::node& node) {
    for (const Entry& entry : Entries(node, "set", source_)) {
      CheckLength(entry);
      search_.settings.push_back(Assignment(entry, Text(ToScalar(*entry.node, entry.where, "value"))));
    }
  }

  void ReadVaried(const toml::node& node) {
    for (const Entry& entry : Entries(node, "vary", source_)) {
      CheckLength(entry);
      if (entry.name.starts_with("checkpoint.")) {
        throw ConfigError(
            fmt::format("{}: [checkpoint] changes nothing of what is learned: allowed in [set]", entry.where));
      }
      const auto same = [&](const std::string& setting) { return setting.starts_with(entry.name + "="); };
      if (std::ranges::any_of(search_.settings, same)) {
        throw ConfigError(fmt::format("{}: it stands in [set], too: leave one of the two out", entry.where));
      }
      Variation variation{entry.name, {}};
      if (const toml::array* list = entry.node->as_array()) {
        for (const toml::node& value : *list) {
          const std::string text = Text(ToScalar(value, entry.where, "value"));
          Assignment(entry, text);
          variation.values.push_back(text);
        }
        if (list->empty())
          throw ConfigError(fmt::format("{}: the list is empty: give at least one value", entry.where));
      } else if (const toml::table* range = entry.node->as_table()) {
        variation.range = ReadRange(entry, *range);
      } else {
        throw ConfigError(fmt::format("{}: allowed is a list of values{}", entry.where,
                                      search_.options.method == SearchMethod::kRandom ? ", or { low, high, scale }"
                                                                                      : "; one value stands in [set]"));
      }
      search_.vary.push_back(variation);
    }
  }

  DrawRange ReadRange(const Entry& entry, const toml::table& table) const {
    if (search_.options.method == SearchMethod::kGrid) {
      throw ConfigError(
          fmt::format("{}: a grid takes a list of values: ranges are for method = \"random\"", entry.where));
    }
    DrawRange range;
    for (const auto& [key, node] : table) {
      const std::vector<Field> fields = range.Fields();
      Assign(FindField(fields, key.str(), entry.where), ToScalar(node, entry.where, key.str()), entry.where);
    }
    for (const char* key : {"low", "high"}) {
      if (!table.contains(key)) throw ConfigError(fmt::format("{}: {} is missing", entry.where, key));
    }
    if (!(range.low < range.high)) {
      throw ConfigError(
          fmt::format("{}: low = {} and high = {}: allowed is low below high", entry.where, range.low, range.high));
    }
    if (range.scale == DrawScale::kLog && range.low <= 0) {
      throw ConfigError(fmt::format("{}: low = {}: allowed is above 0 where scale = \"log\"", entry.where, range.low));
    }
    range.integer = range.integer || IsWhole(base_, entry.name);
    if (range.integer && std::ceil(range.low) > std::floor(range.high)) {
      throw ConfigError(fmt::format("{}: there is no whole number from {} to {}", entry.where, range.low, range.high));
    }
    for (const double end : {range.low, range.high}) Assignment(entry, fmt::format("{}", end));
    return range;
  }

  void CheckScores() {
    SearchOptions& o = search_.options;
    const std::vector<std::string> metrics = SplitList(o.metrics);
    if (metrics.empty()) Refuse("metrics", "at least one of those of 'grbm evaluate'");
    std::vector<std::string_view> known;
    for (const Metric& metric : Metrics()) known.push_back(metric.name);
    for (const std::string& name : metrics) {
      if (std::ranges::find(known, name) != known.end()) continue;
      const std::string hint = DidYouMean(name, known);
      Refuse("metrics", fmt::format("unknown metric '{}'{}", name,
                                    hint.empty() ? fmt::format(": known are {}", fmt::join(known, ", ")) : hint));
    }
    if (o.rank_by.empty()) {
      if (std::ranges::find(metrics, "quick") == metrics.end()) {
        Refuse("rank_by", "the score that decides, for instance \"likelihood.nats_held_out\"");
      }
      o.rank_by = "quick.frechet";
    }
    CheckScore("rank_by", o.rank_by, metrics);
    for (const std::string& name : SplitList(o.show)) CheckScore("show", name, metrics);
  }

  void CheckScore(const std::string& key, const std::string& name, const std::vector<std::string>& metrics) const {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) {
      Refuse(key, fmt::format("'{}': allowed is metric.score, for instance \"quick.frechet\"", name));
    }
    if (std::ranges::find(metrics, name.substr(0, dot)) == metrics.end()) {
      Refuse(key,
             fmt::format("'{}': allowed are scores of the metrics of this search: {}", name, fmt::join(metrics, ", ")));
    }
  }

  std::string source_;
  toml::table table_;
  Search search_;
  Config base_;
};

}  // namespace

std::vector<Field> SearchOptions::Fields() {
  const Range natural = {.min = 0, .max = 1e15};
  return {
      {"preset", &preset, "what is trained: a preset or a TOML file"},
      {"method", MakeChoice(method, {"grid", "random"}),
       "all combinations of the lists, or draws from lists and ranges"},
      {"trials", &trials, "random: how many", {.min = 0, .max = kMostTrials}},
      {"seed", &seed, "seed of the draws, and of the first run of each trial", natural},
      {"seeds", &seeds, "runs of each trial, with seeds that count up from seed", {.min = 1, .max = 1e4}},
      {"updates", &updates, "updates of each trial", natural},
      {"minutes", &minutes, "or: minutes of training of each trial", {.min = 0, .max = 1e7}},
      {"halving", &halving, "0, or: one trial in so many goes on from each rung to the next", {.min = 0, .max = 1e4}},
      {"at_once", &at_once, "runs at once; 0: as many as there are cores for", {.min = 0, .max = 4096}},
      {"threads", &threads, "threads of each run", {.min = 1, .max = 4096}},
      {"metrics", &metrics, "of grbm evaluate, separated by commas"},
      {"rank_by", &rank_by, "the score that decides: metric.score"},
      {"best", MakeChoice(best, {"auto", "least", "greatest"}), "which value of it is the best"},
      {"show", &show, "scores that are shown and drawn, separated by commas"},
      {"samples", &samples, "of grbm evaluate", {.min = 2, .max = 1e7}},
      {"rows", &rows, "of grbm evaluate", {.min = 2, .max = 1e8}},
      {"chains", &chains, "of grbm evaluate", {.min = 2, .max = 1e7}},
      {"temperatures", &temperatures, "of grbm evaluate", {.min = 1, .max = 1e8}},
      {"tap", &tap, "of grbm evaluate", {.min = 1, .max = 2048}},
  };
}

std::vector<Field> DrawRange::Fields() {
  return {{"low", &low, "the least value"},
          {"high", &high, "the greatest value"},
          {"scale", MakeChoice(scale, {"linear", "log"}), "whether values or their logarithms are drawn evenly"},
          {"integer", &integer, "whole numbers only"}};
}

Search ParseSearch(const std::string& text, const std::string& source) { return Parser(text, source).Parse(); }

}  // namespace grbm
