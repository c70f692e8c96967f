#include "cells/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace grbm {

namespace {

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? std::string("\\|") : std::string(1, c);
    line += " |";
  }
  return line + "\n";
}

std::string MarkdownHeader(const std::vector<std::string>& names) {
  return MarkdownRow(names) + MarkdownRow(std::vector<std::string>(names.size(), "---"));
}

std::string CsvRow(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t k = 0; k < cells.size(); ++k) line += (k == 0 ? "" : ",") + CsvField(cells[k]);
  return line + "\n";
}

std::string MinutesText(double seconds) {
  return seconds < 100 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.1f} min", seconds / 60);
}

std::vector<ScoreName> AllScores(const std::vector<const CellResult*>& results) {
  std::vector<ScoreName> all;
  for (const CellResult* result : results) {
    if (result == nullptr) continue;
    for (const auto& [metric, scores] : result->metrics) {
      for (const Score& score : scores) {
        const ScoreName name = {metric, score.name};
        if (std::ranges::find(all, name) == all.end()) all.push_back(name);
      }
    }
  }
  return all;
}

void AddScoreNames(std::vector<std::string>& row, const std::vector<ScoreName>& scores) {
  for (const auto& [metric, score] : scores) {
    row.insert(row.end(), {metric + "." + score, metric + "." + score + ".error"});
  }
}

void AddScores(std::vector<std::string>& row, const std::vector<ScoreName>& scores, const CellResult* result) {
  const auto number = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : std::string(); };
  for (const auto& [metric, name] : scores) {
    const Score* score = result != nullptr ? result->Find(metric, name) : nullptr;
    row.push_back(score != nullptr ? number(score->estimate.value) : "");
    row.push_back(score != nullptr ? number(score->estimate.error) : "");
  }
}

}  // namespace grbm
