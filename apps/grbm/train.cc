// grbm train
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "grbm/core/file.h"
#include "grbm/evaluate/samples.h"
#include "grbm/train/presets.h"
#include "grbm/train/run.h"
#include "job.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "signals.h"
#include "streams.h"

namespace grbm::app {

namespace {

class ShowRun : public RunObserver {
 public:
  explicit ShowRun(const Common& common) : progress_("update", common.quiet || common.json) {}

  void OnStart(const Trainer& trainer, Index data_rows) override {
    progress_.Say(fmt::format(
        "{} rows of {} values, {} hidden units{}", data_rows, trainer.model().visible(), trainer.model().hidden(),
        trainer.updates() > 0 ? fmt::format("; going on after update {}", trainer.updates()) : ""));
    progress_.Start(trainer.updates(), trainer.total_updates());
  }
  void OnUpdate(const UpdateMetrics& m) override {
    last_ = m;
    progress_.Update(m.update,
                     fmt::format("epoch {:.2f}  recon {:.4g}  var {:.3g}  grad {:.3g}  accept {:.2f}", m.epoch,
                                 m.batch.reconstruction, m.mean_variance, m.gradient_norm, m.batch.acceptance));
  }
  void OnWarning(const std::string& text) override { progress_.Warn(text); }
  bool ShouldStop() override { return Interrupted(); }

  const UpdateMetrics& last() const { return last_; }

 private:
  Progress progress_;
  UpdateMetrics last_;
};

// runs/NAME, or runs/NAME-2, ... where that is taken.
std::string FreshFolder(const std::string& preset) {
  const std::string stem = "runs/" + std::filesystem::path(preset).stem().string();
  std::string folder = stem;
  for (int k = 2; Exists(folder); ++k) folder = fmt::format("{}-{}", stem, k);
  return folder;
}

struct Arguments {
  std::string preset;
  std::vector<std::string> assignments;
  std::string out;
  bool resume = false;
  std::string init;
};

RunRequest MakeRequest(const Arguments& a, const Common& common, bool seed_given) {
  if (a.resume && a.out.empty()) throw ConfigError("--resume: say which run with --out DIR");
  if (a.preset.empty() && !a.resume) {
    throw ConfigError("train: say what: a preset ('grbm presets' lists them) or a TOML file");
  }
  RunRequest request;
  if (a.resume && a.preset.empty()) {
    request = ReadRun(a.out);
  } else {
    request.config = LoadPreset(a.preset);
    request.seed = common.seed;
    request.folder = a.out.empty() ? FreshFolder(a.preset) : a.out;
  }
  if (seed_given) request.seed = common.seed;
  request.resume = a.resume;
  request.init = a.init;
  request.command = common.command;
  for (const std::string& assignment : a.assignments) SetOption(request.config, assignment);
  return request;
}

// A picture of what was learned, for models of images.
void WriteSamples(const RunRequest& request, ThreadPool& pool, const std::string& path) {
  const ModelFile file = ReadModel(ModelPath(request.folder));
  if (!file.image_shape.known()) return;
  WriteImages(path, file, {DrawSamples(file, 100, request.seed, pool)}, 10);
}

int Train(const Arguments& arguments, const Common& common, bool seed_given) {
  const RunRequest request = MakeRequest(arguments, common, seed_given);
  Ranks& ranks = JoinJob();
  ThreadPool pool(common.threads > 0 ? common.threads : ThreadsOfRank());
  CatchInterrupts();
  const auto start = std::chrono::steady_clock::now();
  UpdateMetrics last;
  bool finished = false;
  if (ranks.rank() > 0) {
    RunObserver silent;
    TrainRun(request, pool, silent, ranks);
    return 0;
  }
  {
    ShowRun show(common);
    finished = TrainRun(request, pool, show, ranks);
    last = show.last();
  }
  if (!finished) {
    Tell("grbm: stopped after update {}; to go on: grbm train --resume --out {}\n", last.update, request.folder);
    return 130;
  }
  const std::string samples = request.folder + "/samples.png";
  WriteSamples(request, pool, samples);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<std::pair<std::string, Result>> results = {{"model", ModelPath(request.folder)},
                                                         {"metrics", MetricsPath(request.folder)}};
  if (Exists(samples)) results.emplace_back("samples", samples);
  results.emplace_back("seconds", std::round(seconds * 10) / 10);
  PrintResults(common, results);
  return 0;
}

}  // namespace

void AddTrain(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("train", "Train a model");
  const auto arguments = std::make_shared<Arguments>();
  command.AddOption("PRESET", arguments->preset, "A preset, or the path of a TOML file");
  command.AddOption("--set", arguments->assignments, "A setting other than the preset's; may be repeated")
      .SetTypeName("SECTION.KEY=VALUE")
      .OneEach();
  command.AddOption("-o,--out", arguments->out, "The run's folder (default: runs/PRESET)").SetTypeName("DIR");
  command.AddFlag("--resume", arguments->resume, "Go on with the run in --out");
  command
      .AddOption("--init", arguments->init,
                 "A model to start from, its law brought to the units of these data; hidden units it has not are fresh")
      .SetTypeName("MODEL");
  AddThreads(command, common.threads).ShowDefault();
  const Option seed = AddSeed(command, common.seed);
  command.SetFooter(
      "Example: grbm train mnist --set train.epochs=5 --out digits\n"
      "On many machines: mpirun -n 4 grbm train mnist --out digits (docs/scaling.md)");
  command.SetCallback([=, &common, &action] {
    common.shared = true;
    action = [=, &common] { return Train(*arguments, common, seed.given()); };
  });
}

}  // namespace grbm::app
