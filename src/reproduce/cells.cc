// The cells of experiments, and the commands that judge them again.
#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/error.h"
#include "grbm/reproduce/reproduce.h"
#include "reproduce/experiment.h"

namespace grbm {

std::string CellFolder(const ReproduceOptions& options, const Cell& cell, std::uint64_t seed) {
  return options.out + "/cells/" + CellName(cell, seed);
}

std::string EvaluateCommand(const Cell& cell, const ReproduceOptions& options, std::uint64_t seed,
                            const std::string& folder) {
  std::string metrics;
  for (const std::string& metric : cell.metrics) {
    if (metric != "fid") metrics += (metrics.empty() ? "" : ",") + metric;
  }
  const std::string judge = fmt::format("grbm evaluate {} --data {} --seed {}", ShellWord(ModelPath(folder)),
                                        ShellWord(CellConfig(cell).data.source), seed);
  std::string command = fmt::format("{} --metrics {} --samples {}", judge, metrics, SampleCount(options.scale));
  if (HasMetric(cell, "fid")) {
    command += fmt::format("\n{} --metrics fid --samples {} --rows {} --tap {}", judge, FidSamples(options.scale),
                           FidRows(options.scale), FidTap(options));
  }
  return command;
}

std::vector<PlannedCell> PlanCells(const std::vector<const Experiment*>& experiments, const ReproduceOptions& options) {
  std::vector<PlannedCell> cells;
  const auto add = [&](const Row& row, std::uint64_t seed) {
    const std::string folder = CellFolder(options, row.cell, seed);
    auto found = std::ranges::find(cells, folder, &PlannedCell::folder);
    if (found == cells.end()) {
      const Config config = CellConfig(row.cell);
      cells.push_back({row.cell, seed, RowName(row), config, folder, EstimatedUpdates(config)});
      return;
    }
    for (const std::string& metric : row.cell.metrics) {
      if (!HasMetric(found->cell, metric)) found->cell.metrics.push_back(metric);
    }
  };
  for (std::uint64_t k = 0; k < options.seeds; ++k) {
    const std::uint64_t seed = options.seed + k;
    for (const Experiment* experiment : experiments) {
      for (const Row& row : experiment->rows(options)) {
        // As --dry-run lists it, so that "Gibbs, seed" is that row alone.
        const std::string listed = fmt::format("{}, seed {}", RowName(row), seed);
        if (listed.find(options.only) != std::string::npos) add(row, seed);
      }
    }
  }
  if (cells.empty()) {
    throw ConfigError(fmt::format("--only {}: no row has this in its name: --dry-run without it lists the names of all",
                                  options.only));
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
