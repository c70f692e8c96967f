// grbm reproduce: the paper's tables, figures and claims, run again.
#include "grbm/reproduce/reproduce.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "grbm/core/file.h"
#include "job.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "signals.h"
#include "streams.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string name;
  std::string scale = "small";
  ReproduceOptions options;
  bool list = false;
  bool dry_run = false;
  bool render = false;
};

class ShowCells : public ReproduceObserver {
 public:
  explicit ShowCells(bool quiet) : quiet_(quiet) {}

  void OnCell(const PlannedCell& cell, std::size_t number, std::size_t count) override {
    place = fmt::format("cell {} of {}", number, count);
    progress_ = std::make_unique<Progress>(place, quiet_);
    progress_->Say(fmt::format("{}: {}", place, std::filesystem::path(cell.folder).filename().string()));
    part_.clear();
  }
  void OnProgress(std::string_view part, Index done, Index total, double seconds_left) override {
    if (part != part_ || done < last_) {
      part_ = part;
      progress_ = std::make_unique<Progress>(fmt::format("{}: {}", place, part), quiet_);
      progress_->Start(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
    }
    last_ = done;
    progress_->Update(static_cast<std::uint64_t>(done),
                      std::isnan(seconds_left) ? "" : fmt::format("all cells: {} left", Duration(seconds_left)));
  }
  void OnResult(const PlannedCell&, const CellResult& result) override {
    if (!result.trained())
      progress_->Say(fmt::format("{}: {} after {} updates", place, result.outcome, result.updates));
    progress_.reset();
  }
  void OnWarning(const std::string& text) override { progress_->Warn(text); }
  bool ShouldStop() override { return Interrupted(); }

  std::string place = "no cell";

 private:
  bool quiet_;
  std::unique_ptr<Progress> progress_;
  std::string part_;
  Index last_ = 0;
};

int List(const Common& common) {
  nlohmann::ordered_json names;
  for (const Experiment& experiment : Experiments()) names[std::string(experiment.name)] = experiment.summary;
  names["all"] = "all of them, those with faces only where --data gives them";
  if (common.json) {
    Print("{}\n", JsonText(names));
  } else {
    for (const auto& [name, summary] : names.items()) Print("{:16} {}\n", name, summary.get<std::string>());
  }
  return 0;
}

int DryRun(const std::vector<PlannedCell>& cells, const Common& common) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  double cost = 0;
  for (const PlannedCell& cell : cells) {
    cost += cell.finished ? 0 : cell.cost;
    list.push_back({{"cell", std::filesystem::path(cell.folder).filename().string()},
                    {"row", cell.name},
                    {"seed", cell.seed},
                    {"finished", cell.finished},
                    {"updates", cell.updates},
                    {"hidden", cell.config.model.hidden},
                    {"steps", cell.config.sampler.steps},
                    {"operations", cell.cost}});
  }
  if (common.json) {
    Print("{}\n", JsonText(nlohmann::ordered_json{{"cells", list}, {"operations_left", cost}}));
    return 0;
  }
  for (const PlannedCell& cell : cells) {
    Print("{:>9} updates  {:>6} hidden  {:>4} steps  {:>9.3g} operations  {}{}  {}, seed {}\n", cell.updates,
          cell.config.model.hidden, cell.config.sampler.steps, cell.cost,
          std::filesystem::path(cell.folder).filename().string(), cell.finished ? " (finished)" : "", cell.name,
          cell.seed);
  }
  Print("{} cells, {:.3g} operations left\n", cells.size(), cost);
  return 0;
}

int Reproduce(Arguments a, const Common& common) {
  const Ranks& ranks = JoinJob();
  const bool first_rank = ranks.rank() == 0;
  if (a.list) return first_rank ? List(common) : 0;
  if (a.name.empty()) throw ConfigError("reproduce: say what: 'grbm reproduce --list' lists the names");
  a.options.scale = ParseScale(a.scale);
  a.options.seed = common.seed;
  const std::vector<const Experiment*> experiments = FindExperiments(a.name, a.options);
  if (Exists(a.options.out) && !IsFolder(a.options.out)) {
    throw IoError(fmt::format("--out {}: this is a file: give a folder", a.options.out));
  }
  const std::vector<PlannedCell> cells = PlanCells(experiments, a.options);
  if (a.dry_run) return first_rank ? DryRun(cells, common) : 0;
  ThreadPool pool(ThreadsOfRank(common.threads));
  if (!a.render) {
    CatchInterrupts();
    ShowCells show(common.quiet || common.json || !first_rank);
    if (!RunCells(cells, a.options, pool, show, ranks)) {
      if (first_rank)
        Tell("grbm: stopped in {}; to go on, give the same command again: finished cells are kept\n", show.place);
      return 130;
    }
  }
  if (!first_rank) return 0;
  Results results;
  for (const Experiment* experiment : experiments) {
    results.emplace_back(std::string(experiment->name), RenderPage(*experiment, a.options, pool));
  }
  PrintResults(common, results);
  return 0;
}

}  // namespace

void AddReproduce(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("reproduce", "Run the paper's experiments again: tables, figures and claims");
  const auto a = std::make_shared<Arguments>();
  std::string names = "What: all, or";
  for (const Experiment& experiment : Experiments())
    names += fmt::format("\n{}: {}", experiment.name, experiment.summary);
  command.AddOption("NAME", a->name, names);
  command.AddFlag("--list", a->list, "List the names");
  command
      .AddOption("--scale", a->scale,
                 "quick: seconds; small: minutes; paper: the paper's own settings, hours (gmm) to weeks (digits)")
      .ShowDefault();
  command.AddOption("-o,--out", a->options.out, "Where pages and cells go").SetTypeName("DIR").ShowDefault();
  command.AddFlag("--dry-run", a->dry_run, "List the cells and what they cost; train nothing");
  command.AddFlag("--render", a->render, "Draw the pages from the cells that are finished; train nothing");
  command
      .AddOption("--only", a->options.only, "Train only cells of rows with this in their names, which --dry-run lists")
      .SetTypeName("TEXT");
  AddNumber<std::uint64_t>(command, "--seeds", a->options.seeds,
                           "So many of every cell: of this seed and the next ones", 1, 1000)
      .ShowDefault();
  command.AddOption("--data", a->options.faces, "celeba32, celeba2k64: the folder of CelebA's JPEG files")
      .SetTypeName("DIR");
  command.AddOption("--inception", a->options.inception, "Weights of the Inception network, see docs/inception.md")
      .SetEnvironment("GRBM_INCEPTION");
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter(
      "Example: grbm reproduce gmm --scale small\n"
      "On many machines, a cell on each: mpirun -n 4 grbm reproduce gmm --scale small (docs/scaling.md)");
  command.SetCallback([=, &common, &action] {
    common.shared = true;
    action = [=, &common] { return Reproduce(*a, common); };
  });
}

}  // namespace grbm::app
