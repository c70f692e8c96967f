// The paper's tables and figures, and its claims, as experiments that can be run again.
//
// An experiment is a list of cells, each a training run in a folder of its own with a result.json beside it, and a page
// that is drawn from the finished ones at any time. A cell is known by its settings: experiments that need the same run
// share it.
//
//   <out>/cells/<name>-<digest>/   a run as TrainRun leaves it, and result.json
//   <out>/<experiment>/            index.md, table.csv, figures
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/cells/cell.h"
#include "grbm/core/parallel.h"
#include "grbm/core/ranks.h"

namespace grbm {

// quick: seconds, to see that everything works. small: minutes on two cores. paper: the paper's own settings.
enum class Scale { kQuick, kSmall, kPaper };
std::string_view ScaleName(Scale scale);
// Throws ConfigError for another word.
Scale ParseScale(const std::string& word);

struct ReproduceOptions {
  Scale scale = Scale::kSmall;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;  // so many of every cell: seed, seed + 1, ...
  std::string only = {};    // cells of rows that have this in their names; empty: all
  std::string out = "reproduce";
  std::string faces = {};      // the folder of CelebA's JPEG files
  std::string inception = {};  // weights of the Inception network; empty: no Inception distances
};

// One line of an experiment's table.
struct Row {
  std::vector<std::string> labels;
  std::string published;  // what the paper reports; empty: nothing
  Cell cell;
};

class Page;

// One experiment is one file of src/reproduce and one line in the table of experiments.cc.
struct Experiment {
  std::string_view name;
  std::string_view summary;
  std::vector<Row> (*rows)(const ReproduceOptions&);
  void (*render)(Page&);
  bool faces = false;  // needs ReproduceOptions::faces
};
std::span<const Experiment> Experiments();
// The one of that name; of "all", all that can be run with these options. Throws ConfigError for a name that is unknown or
// needs faces where none are given.
std::vector<const Experiment*> FindExperiments(const std::string& name, const ReproduceOptions& options);

struct PlannedCell {
  Cell cell;
  std::uint64_t seed = 1;
  std::string name;  // of the first row that needs it
  Config config;
  std::string folder;
  std::uint64_t updates = 0;
  double cost = 0;  // floating-point operations, roughly
  bool finished = false;
};

std::string CellFolder(const ReproduceOptions& options, const Cell& cell, std::uint64_t seed);
// As one types it to judge the cell again.
std::string EvaluateCommand(const Cell& cell, const ReproduceOptions& options, std::uint64_t seed,
                            const std::string& folder);

// What a run of cells tells, and asks. The base class says nothing and never stops.
class ReproduceObserver {
 public:
  virtual ~ReproduceObserver() = default;
  virtual void OnCell(const PlannedCell& /*cell*/, std::size_t /*number*/, std::size_t /*count*/) {}
  // seconds_left: until all cells are done; NaN while unknown.
  virtual void OnProgress(std::string_view /*part*/, Index /*done*/, Index /*total*/, double /*seconds_left*/) {}
  virtual void OnResult(const PlannedCell& /*cell*/, const CellResult& /*result*/) {}
  virtual void OnWarning(const std::string& /*text*/) {}
  virtual bool ShouldStop() { return false; }
};

// The cells of these experiments, each once, in order; all of a seed before those of the next. Throws ConfigError where no row
// has options.only in its name.
std::vector<PlannedCell> PlanCells(const std::vector<const Experiment*>& experiments, const ReproduceOptions& options);
// Trains and judges those that are not finished; false where the observer said stop: another call goes on from there. Other
// processes, ranks among them, may do the same in the same folder: a cell is run by one of them, and each begins with its share.
bool RunCells(const std::vector<PlannedCell>& cells, const ReproduceOptions& options, ThreadPool& pool,
              ReproduceObserver& observer, const Ranks& ranks = OneRank());
// Draws an experiment's page from the cells that are finished. Returns the path of its index.md.
std::string RenderPage(const Experiment& experiment, const ReproduceOptions& options, ThreadPool& pool);

}  // namespace grbm
