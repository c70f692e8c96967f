// grbm train
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "grbm/core/file.h"
#include "grbm/evaluate/samples.h"
#include "grbm/train/choose.h"
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
  ShowRun(const Common& common, const RunRequest& request, const std::optional<ChosenSettings>& chosen)
      : progress_("update", common.quiet || common.json), request_(request), chosen_(chosen) {}

  void OnStart(const Trainer& trainer, Index data_rows) override {
    if (chosen_) SayChosen();
    progress_.Say(fmt::format(
        "{} rows of {} values{}{}, {} hidden units{}", data_rows, trainer.model().gaussian_units(),
        trainer.model().label_units() > 0 ? fmt::format(" and {} classes", trainer.model().label_units()) : "",
        trainer.model().conditions() > 0 ? fmt::format(" given {} conditions", trainer.model().conditions()) : "",
        trainer.model().hidden(),
        trainer.updates() > 0 ? fmt::format("; going on after update {}", trainer.updates()) : ""));
    if (trainer.total_updates() < kFewUpdates) {
      progress_.Say(fmt::format("{} updates in all: fewer than {} seldom suffice: more by --set train.epochs=N",
                                trainer.total_updates(), kFewUpdates));
    }
    progress_.Start(trainer.updates(), trainer.total_updates());
  }
  void OnUpdate(const UpdateMetrics& m) override {
    last_ = m;
    progress_.Update(m.update,
                     fmt::format("epoch {:.2f}  recon {:.4g}  var {:.3g}  grad {:.3g}  accept {:.2f}", m.epoch,
                                 m.batch.reconstruction, m.mean_variance, m.gradient_norm, m.batch.acceptance));
  }
  void OnWarning(const std::string& text) override { progress_.Warn(text); }
  void OnNote(const std::string& text) override { progress_.Say(text); }
  bool ShouldStop() override { return Interrupted(); }

  const UpdateMetrics& last() const { return last_; }

 private:
  // What was chosen, in the run's folder, too.
  void SayChosen() {
    const std::string path = request_.folder + "/chosen.toml";
    const std::string toml = chosen_->Toml(request_.config);
    WriteFileAtomically(path, toml);
    for (const std::string& note : chosen_->notes) progress_.Say(note);
    progress_.Say(fmt::format("{}; settings chosen for it, in {}:", chosen_->kind, path));
    std::string_view text = toml;
    text.remove_prefix(text.find('\n') + 1);
    while (text.ends_with('\n')) text.remove_suffix(1);
    progress_.Say(std::string(text));
  }

  Progress progress_;
  const RunRequest& request_;
  const std::optional<ChosenSettings>& chosen_;
  UpdateMetrics last_;
};

// runs/NAME, or runs/NAME-2, ... where that is taken. NAME is that of the preset, or of the data.
std::string FreshFolder(const std::string& preset) {
  std::filesystem::path path = std::filesystem::absolute(preset).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "photos/"
  const std::string stem = "runs/" + path.stem().string();
  std::string folder = stem;
  for (int k = 2; Exists(folder); ++k) folder = fmt::format("{}-{}", stem, k);
  return folder;
}

struct Arguments {
  std::string preset;  // or data
  DataArguments data;
  std::vector<std::string> assignments;
  std::string out;
  bool resume = false;
  std::string init;
};

// A preset's name goes before data of the same name, and before a file or folder.
bool IsData(const std::string& name) {
  const bool preset = std::ranges::find(Presets(), name, &Preset::name) != Presets().end();
  return !preset && !name.ends_with(".toml") && (IsDataName(name) || Exists(name));
}

// What has a file's ending or a folder in its name is no preset, and must be there.
void CheckThere(const std::string& name) {
  if (name.find_first_of("./") == std::string::npos || name.ends_with(".toml") || Exists(name)) return;
  throw ConfigError(fmt::format("train: {}: there is no such file or folder, and no preset of that name", name));
}

// Settings of the data, chosen where they are not given.
ChosenSettings ChooseFor(const Arguments& a, ThreadPool& pool) {
  Config given;
  given.data.source = a.preset;
  for (const std::string& assignment : a.assignments) {
    if (assignment.starts_with("data.")) SetOption(given, assignment);
  }
  return ChooseSettings(given.data, pool);
}

RunRequest MakeRequest(const Arguments& a, const Common& common, bool seed_given, std::optional<ChosenSettings>& chosen,
                       ThreadPool& pool) {
  if (a.resume && a.out.empty()) throw ConfigError("--resume: say which run with --out DIR");
  if (a.preset.empty() && !a.resume) {
    throw ConfigError("train: say what: data (a file or folder), a preset ('grbm presets' lists them) or a TOML file");
  }
  RunRequest request;
  if (a.resume && a.preset.empty()) {
    request = ReadRun(a.out);
  } else {
    CheckThere(a.preset);
    if (IsData(a.preset)) chosen = ChooseFor(a, pool);
    request.config = chosen ? chosen->config : LoadPreset(a.preset);
    request.seed = common.seed;
    request.folder = a.out.empty() ? FreshFolder(a.preset) : a.out;
  }
  if (seed_given) request.seed = common.seed;
  request.resume = a.resume;
  request.init = a.init.empty() ? "" : ModelFileAt(a.init);
  request.command = common.command;
  for (const std::string& assignment : a.assignments) SetOption(request.config, assignment);
  return request;
}

// A picture of what was learned, for models of images.
void WriteSamples(const RunRequest& request, ThreadPool& pool, const std::string& path) {
  const ModelFile file = ReadModel(ModelPath(request.folder));
  if (!file.image_shape.known() || file.model.conditions() > 0) return;
  WriteImages(path, file, {DrawSamples(file, 100, request.seed, pool)}, 10);
}

// The options that are short for settings come first, so that --set decides.
Arguments WithData(Arguments a) {
  std::vector<std::string> settings;
  for (const auto& [key, value] : {std::pair("columns", a.data.columns), std::pair("label", a.data.label),
                                   std::pair("key", a.data.key), std::pair("held_out", a.data.held_out)}) {
    if (!value.empty()) settings.push_back(fmt::format("data.{}={}", key, value));
  }
  a.assignments.insert(a.assignments.begin(), settings.begin(), settings.end());
  return a;
}

int Train(const Arguments& arguments, const Common& common, bool seed_given) {
  Ranks& ranks = JoinJob();
  ThreadPool pool(ThreadsOfRank(common.threads));
  std::optional<ChosenSettings> chosen;
  const RunRequest request = MakeRequest(WithData(arguments), common, seed_given, chosen, pool);
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
    ShowRun show(common, request, chosen);
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
  Results results = {{"model", ModelPath(request.folder)}, {"metrics", MetricsPath(request.folder)}};
  if (Exists(samples)) results.emplace_back("samples", samples);
  results.emplace_back("seconds", std::round(seconds * 10) / 10);
  PrintResults(common, results);
  return 0;
}

}  // namespace

void AddTrain(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("train", "Train a model");
  const auto arguments = std::make_shared<Arguments>();
  command.AddOption(
      "WHAT", arguments->preset,
      "Data of yours: a file or folder, for which settings are chosen; a preset; or a TOML file of settings");
  command.AddOption("--set", arguments->assignments, "A setting other than the preset's; may be repeated")
      .SetTypeName("SECTION.KEY=VALUE")
      .OneEach();
  command.AddOption("-o,--out", arguments->out, "The run's folder (default: runs/NAME of the data or preset)")
      .SetTypeName("DIR");
  command.AddOption("--columns", arguments->data.columns, "The same as --set data.columns=LIST").SetTypeName("LIST");
  command.AddOption("--label", arguments->data.label, "The same as --set data.label=COLUMN").SetTypeName("COLUMN");
  command.AddOption("--key", arguments->data.key, "The same as --set data.key=NAME").SetTypeName("NAME");
  command.AddOption("--held-out", arguments->data.held_out, "The same as --set data.held_out=SHARE, or =PATH")
      .SetTypeName("SHARE|PATH");
  command.AddFlag(
      "--resume", arguments->resume,
      "Go on with the run in --out; with --set train.epochs=N for longer than it was to be, finished or not");
  command
      .AddOption("--init", arguments->init,
                 "A model to start from, its law brought to the units of these data; hidden units it has not are fresh")
      .SetTypeName("MODEL");
  AddThreads(command, common.threads).ShowDefault();
  const Option seed = AddSeed(command, common.seed);
  command.SetFooter(
      "Example: grbm train table.csv\n"
      "         grbm train mnist --set train.epochs=5 --out digits\n"
      "On many machines: mpirun -n 4 grbm train mnist --out digits (docs/scaling.md)");
  command.SetCallback([=, &common, &action] {
    common.shared = true;
    action = [=, &common] { return Train(*arguments, common, seed.given()); };
  });
}

}  // namespace grbm::app
