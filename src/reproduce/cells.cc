// Cells: their settings, names, cost, and the commands that make them again.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/reproduce/reproduce.h"
#include "grbm/train/presets.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 70;

// FNV-1a.
std::uint64_t Digest(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

// mnist-method-gibbs-epochs-2.5: the preset and what differs from it.
std::string ReadableName(const Cell& cell, const Config& config) {
  std::string name = cell.preset;
  for (const std::string& difference : Differences(config, LoadPreset(cell.preset))) {
    if (!difference.starts_with("data.")) name += "-" + difference.substr(difference.find('.') + 1);
  }
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '-';
  }
  return name.substr(0, kLongestName);
}

Index CountFiles(const std::string& folder) {
  std::error_code error;
  return static_cast<Index>(std::distance(fs::directory_iterator(folder, error), fs::directory_iterator()));
}

Index EstimatedRows(const DataOptions& data) {
  if (data.subset > 0) return data.subset;
  if (data.source == "mnist" || data.source == "fashion-mnist") return 60000;
  return IsFolder(data.source) ? CountFiles(data.source) : 1000;
}

Index EstimatedVisible(const DataOptions& data) {
  if (data.source.starts_with("gmm-")) return 2;
  return data.resize > 0 ? Index{3 * data.resize * data.resize} : 784;
}

// Products of one update, see docs/performance.md; hidden units cost something without any visible one.
double UpdateCost(const Config& config) {
  const auto number = [](auto n) { return static_cast<double>(n); };
  const bool langevin = config.sampler.method == Method::kLangevin;
  return (langevin ? 2.0 : 1.0) * 2 * number(config.train.batch_size) *
         number((EstimatedVisible(config.data) + 64) * config.model.hidden) * (3 * number(config.sampler.steps) + 5);
}

// A word that the shell takes as it is.
std::string Quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._-=/,+:@%").find(c) != std::string::npos;
  };
  if (std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Config CellConfig(const Cell& cell) {
  Config config = LoadPreset(cell.preset);
  for (const std::string& setting : cell.settings) SetOption(config, setting);
  return config;
}

std::string CellFolder(const ReproduceOptions& options, const Cell& cell) {
  const Config config = CellConfig(cell);
  std::string text = fmt::format("seed={}\n", options.seed);
  for (const std::string& difference : Differences(config, Config())) text += difference + "\n";
  return fmt::format("{}/cells/{}-{:016x}", options.out, ReadableName(cell, config), Digest(text));
}

std::string TrainCommand(const Cell& cell, const ReproduceOptions& options, const std::string& folder) {
  std::string command = "grbm train " + cell.preset;
  for (const std::string& setting : cell.settings) command += " --set " + Quoted(setting);
  return command + fmt::format(" --seed {} --out {}", options.seed, Quoted(folder));
}

std::string EvaluateCommand(const Cell& cell, const ReproduceOptions& options, const std::string& folder) {
  std::string metrics;
  for (const std::string& metric : cell.metrics) {
    if (metric != "fid") metrics += (metrics.empty() ? "" : ",") + metric;
  }
  const std::string judge = fmt::format("grbm evaluate {} --data {} --seed {}", Quoted(ModelPath(folder)),
                                        Quoted(CellConfig(cell).data.source), options.seed);
  std::string command = fmt::format("{} --metrics {} --samples {}", judge, metrics, SampleCount(options.scale));
  if (HasMetric(cell, "fid")) {
    command += fmt::format("\n{} --metrics fid --samples {} --rows {} --tap {}", judge, FidSamples(options.scale),
                           FidRows(options.scale), FidTap(options));
  }
  return command;
}

std::vector<PlannedCell> PlanCells(const std::vector<const Experiment*>& experiments, const ReproduceOptions& options) {
  std::vector<PlannedCell> cells;
  for (const Experiment* experiment : experiments) {
    for (const Row& row : experiment->rows(options)) {
      const std::string folder = CellFolder(options, row.cell);
      auto found = std::ranges::find(cells, folder, &PlannedCell::folder);
      if (found == cells.end()) {
        PlannedCell planned{row.cell, CellConfig(row.cell), folder};
        const double updates = planned.config.train.epochs * static_cast<double>(EstimatedRows(planned.config.data)) /
                               static_cast<double>(planned.config.train.batch_size);
        planned.updates = static_cast<std::uint64_t>(std::max(1.0, std::round(updates)));
        cells.push_back(planned);
        continue;
      }
      for (const std::string& metric : row.cell.metrics) {
        if (!HasMetric(found->cell, metric)) found->cell.metrics.push_back(metric);
      }
    }
  }
  for (PlannedCell& planned : cells) {
    planned.cost = static_cast<double>(planned.updates) * UpdateCost(planned.config);
    if (HasMetric(planned.cell, "fid") && !options.inception.empty()) {
      planned.cost += kFidCost * static_cast<double>(FidSamples(options.scale));
    }
    planned.finished = IsFinished(planned, options);
  }
  return cells;
}

}  // namespace grbm
