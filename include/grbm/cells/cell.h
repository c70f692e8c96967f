// Cells: models that are trained and judged, each in a folder of its own that is known by its settings.
//
//   <name>-<digest>/               a run as TrainRun leaves it
//   <name>-<digest>/result.json    what became of it
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grbm/evaluate/evaluation.h"
#include "grbm/train/config.h"

namespace grbm {

// One model to be trained and judged.
struct Cell {
  std::string preset;
  std::vector<std::string> settings;  // "section.key=value", as after --set
  std::vector<std::string> metrics;   // of Evaluate
};

// What became of a cell.
struct CellResult {
  std::string outcome;  // "trained", or "diverged"
  std::string message;  // how it diverged
  std::uint64_t updates = 0;
  double seconds = 0;  // of training, over all its sessions
  int threads = 0;
  std::string cpu_target;
  std::string version;
  std::string judged_with = {};  // what else the scores depend on, where that can change
  std::string model = {};        // digests of the model that was judged and of the data, where these can change
  std::string data = {};
  // By metric. One that could not be measured has a single score "failed", whose note says why.
  std::map<std::string, std::vector<Score>> metrics = {};

  bool trained() const { return outcome == "trained"; }
  // None where the metric or the score is missing.
  const Score* Find(const std::string& metric, const std::string& score) const;
};

// "a.b=1" and others; where two name the same setting the later one stands.
std::vector<std::string> Merge(std::vector<std::string> settings, const std::vector<std::string>& others);

// Settings of a cell; and the name of its folder, a function of its settings, its seed and whatever else tells it apart.
Config CellConfig(const Cell& cell);
std::string CellName(const Cell& cell, std::uint64_t seed, const std::string& more = {});

// result.json of a folder; none before the cell is trained. Throws DataError where it is something else.
std::string ResultPath(const std::string& folder);
std::optional<CellResult> ReadResult(const std::string& folder);
// The same of any file.
std::optional<CellResult> ReadResultFile(const std::string& path);
void WriteResultFile(const std::string& path, const CellResult& result);

// A word that the shell takes as it is.
std::string ShellWord(const std::string& word);
// As one types it to train the cell again.
std::string TrainCommand(const Cell& cell, std::uint64_t seed, const std::string& folder);

// Floating-point operations of one update, roughly; and how many updates a run makes, where its data were not looked at.
double UpdateCost(const Config& config);
std::uint64_t EstimatedUpdates(const Config& config);

}  // namespace grbm
