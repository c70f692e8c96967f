// Tables of results as Markdown and as CSV.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "grbm/cells/cell.h"

namespace grbm {

std::string MarkdownRow(const std::vector<std::string>& cells);
// The line of names, and the one below it.
std::string MarkdownHeader(const std::vector<std::string>& names);
std::string CsvRow(const std::vector<std::string>& cells);

// "12.3 s", "4.5 min".
std::string MinutesText(double seconds);

// Metric and name of a score.
using ScoreName = std::pair<std::string, std::string>;
// All scores that any of the results has. A result may be missing (nullptr).
std::vector<ScoreName> AllScores(const std::vector<const CellResult*>& results);
// In a table: two columns for each score, its value and its error; empty where a result lacks it.
void AddScoreNames(std::vector<std::string>& row, const std::vector<ScoreName>& scores);
void AddScores(std::vector<std::string>& row, const std::vector<ScoreName>& scores, const CellResult* result);

}  // namespace grbm
