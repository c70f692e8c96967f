// grbm sample
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "grbm/core/npz.h"
#include "grbm/evaluate/samples.h"
#include "grbm/sampler/sampler.h"
#include "job.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "streams.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string model;
  Index count = 0;
  std::int64_t steps = 0;
  std::int64_t every = 0;
  std::vector<std::string> assignments;
  std::string label;
  std::string given;
  std::int64_t frames = 0;
  std::string out;
  int columns = 0;
};

// Keeps what is shown of every n-th state, in the data's own units, and moves the bar.
class Frames : public Observer {
 public:
  Frames(const ModelFile& file, const SamplerOptions& options, std::int64_t every, ThreadPool& pool, bool quiet)
      : file_(file), options_(options), every_(every), pool_(pool), progress_("step", quiet) {
    progress_.Start(0, static_cast<std::uint64_t>(options.steps));
  }

  void OnStep(const ChainState& state) override {
    progress_.Update(static_cast<std::uint64_t>(state.step), "");
    if (every_ == 0 || state.step % every_ != 0) return;
    frames.push_back(ShowState(file_, options_, state, pool_));
  }

  std::vector<Matrix> frames;

 private:
  const ModelFile& file_;
  SamplerOptions options_;
  std::int64_t every_;
  ThreadPool& pool_;
  Progress progress_;
};

void WriteArray(const std::string& path, const ModelFile& file, const std::vector<Matrix>& frames, bool several) {
  if (!several) {
    WriteRows(path, frames.back(), file.columns);
    return;
  }
  std::vector<float> all;
  for (const Matrix& frame : frames) all.insert(all.end(), frame.values().begin(), frame.values().end());
  WriteNpy(path, MakeTensor("", {static_cast<Index>(frames.size()), frames[0].rows(), frames[0].cols()}, all));
}

// Every frame of chains from noise, in the data's own units; the last is of their end. Ranks have each a share of the chains, and
// then all of them.
std::vector<Matrix> DrawFrames(const ModelFile& file, const Arguments& a, std::int64_t every, std::uint32_t first,
                               const Common& common, ThreadPool& pool, Ranks& ranks) {
  const SamplerOptions options = ShownSampler(file);
  Sampler sampler(file.model, options, pool, OnUnstable::kAllow);
  const RankShare share = ShareOfRank(ranks.rank(), ranks.count(), a.count);
  Chains chains =
      NoiseChains(file.model, share.count, common.seed, pool, first + static_cast<std::uint32_t>(share.first));
  std::vector<Matrix> frames;
  if (Ending(a.out) == ".gif") frames.push_back(InOwnUnits(file, chains.visible));  // it begins with the noise
  {
    Frames observer(file, options, every, pool, common.quiet || common.json || ranks.rank() > 0);
    sampler.Run(chains, {.seed = common.seed}, &observer);
    std::ranges::move(observer.frames, std::back_inserter(frames));
  }
  Matrix last = InOwnUnits(file, FinalVisible(file.model, chains, options, pool));
  if (every == 0 || options.steps % every != 0) frames.push_back(std::move(last));
  for (Matrix& frame : frames) frame = GatherRows(ranks, std::move(frame), a.count);
  for (const Matrix& frame : frames) CheckFinite(file, frame, "samples");
  return frames;
}

// Rows of the second below those of the first, frame by frame.
void AddBelow(std::vector<Matrix>& frames, const std::vector<Matrix>& below) {
  for (std::size_t k = 0; k < frames.size(); ++k) {
    Matrix both(frames[k].rows() + below[k].rows(), frames[k].cols());
    CopyRows(frames[k], both.view().Rows(0, frames[k].rows()));
    CopyRows(below[k], both.view().Rows(frames[k].rows(), below[k].rows()));
    frames[k] = std::move(both);
  }
}

// The conditions in a file, in the model's units: of a history one row, the last frames of it.
Matrix ReadConditions(const ModelFile& file, const std::string& path) {
  const auto refuse = [&](Index has, const char* what, Index wanted) {
    throw DataError(fmt::format("--given {}: {} {}, but the model has {}: {} needed", path, has, what, wanted,
                                file.history > 0 && what[0] == 'r' ? "at least as many are" : "as many are"));
  };
  DataOptions options = ModelData(file, path);
  const std::string condition = std::exchange(options.condition, {});
  options.history = 0;
  options.subset = 0;
  options.held_out.clear();
  options.split = "all";
  options.gaps = Gaps::kRefuse;
  if (file.history == 0) {
    // Columns by their names, where they had some; otherwise all.
    const bool table = Ending(path) == ".csv" || Ending(path) == ".tsv";
    const bool names = condition.find_first_not_of("0123456789-, ") != std::string::npos;
    options.columns = table && names ? condition : "";
    options.label.clear();
    options.weight.clear();
    const Dataset data = LoadDataset(options);
    data.CheckNames(file.condition_columns, {}, "the model's conditions");
    if (data.visible() != file.model.conditions()) refuse(data.visible(), "columns", file.model.conditions());
    Matrix conditions = data.ReadAll();
    file.conditions.Apply(conditions);
    return conditions;
  }
  const Dataset data = LoadDataset(options);
  data.CheckNames(file.columns, {}, "the model");
  if (data.visible() != file.model.visible()) refuse(data.visible(), "columns", file.model.visible());
  if (data.rows() < file.history) refuse(data.rows(), "rows", file.history);
  Matrix frames = data.Read(data.rows() - file.history, file.history);
  file.standardization.Apply(frames);
  Matrix conditions(1, file.model.conditions());
  std::ranges::copy(frames.values(), conditions.values().begin());
  return conditions;
}

// Samples given the conditions of a file, `count` of each row; or series, each sample of which is history of the next. In the
// data's own units: those of a row, or of a series, one after the other.
Matrix DrawGivenRows(const ModelFile& file, const Arguments& a, const Common& common, ThreadPool& pool, Ranks& ranks) {
  const SamplerOptions options = ShownSampler(file);
  const Matrix given = ReadConditions(file, a.given);
  const Index count = given.rows() * a.count;
  const RankShare share = ShareOfRank(ranks.rank(), ranks.count(), count);
  Matrix conditions(share.count, given.cols());
  for (Index r = 0; r < share.count; ++r) {
    std::ranges::copy(given.row((share.first + r) / a.count), conditions.row(r).begin());
  }
  Matrix rows(count * a.frames, file.model.visible());
  Progress progress("frame", common.quiet || common.json || ranks.rank() > 0 || a.frames == 1);
  progress.Start(0, static_cast<std::uint64_t>(a.frames));
  const auto keep = [&](Index f, Matrix frame) {
    file.standardization.Invert(frame);
    frame = GatherRows(ranks, std::move(frame), count);
    for (Index r = 0; r < count; ++r) std::ranges::copy(frame.row(r), rows.row(r * a.frames + f).begin());
    progress.Update(static_cast<std::uint64_t>(f + 1), "");
  };
  DrawGiven(file, options, std::move(conditions), a.frames, common.seed, static_cast<std::uint32_t>(share.first), pool,
            keep);
  CheckFinite(file, rows, "samples");
  return rows;
}

void CheckGiven(const Arguments& a, const ModelFile& file) {
  if (file.model.conditions() == 0) {
    if (!a.given.empty()) throw ConfigError(fmt::format("--given: {} has no conditions", a.model));
    if (a.frames > 0) throw ConfigError(fmt::format("--frames: {} has no history", a.model));
    return;
  }
  if (a.given.empty()) {
    throw ConfigError(fmt::format("{}: a model with conditions: give them by --given FILE, {}", a.model,
                                  file.history > 0
                                      ? fmt::format("whose last {} rows a series goes on from", file.history)
                                      : fmt::format("of {} columns", file.model.conditions())));
  }
  if (file.history == 0 && a.frames > 0) throw ConfigError(fmt::format("--frames: {} has no history", a.model));
  if (a.every > 0 || Ending(a.out) == ".gif") {
    throw ConfigError("--given: the last states alone are written: leave --every out, and write no .gif file");
  }
}

int Sample(Arguments a, const Common& common) {
  Ranks& ranks = JoinJob();
  if (a.count == 0) a.count = a.given.empty() ? 64 : 1;
  CheckOutput(a.out, {".png", ".npy", ".csv", ".gif"});
  CheckApart(a.out, {a.model, a.given});
  if (a.every > 0 && Ending(a.out) == ".csv")
    throw ConfigError("--every: a table holds the last state alone: write an .npy file");
  if (a.every > 0 && Ending(a.out) == ".png")
    throw ConfigError("--every: a picture shows the last state alone: write a .gif or .npy file");
  if (a.columns > 0 && Ending(a.out) != ".png" && Ending(a.out) != ".gif")
    throw ConfigError("--columns: images per row of a picture: leave it out, or write a .png or .gif file");
  std::vector<std::string> assignments = a.assignments;
  if (a.steps > 0) assignments.insert(assignments.begin(), fmt::format("generate.steps={}", a.steps));
  const ModelFile file = OpenModel(a.model, assignments, {.labels = true, .conditions = true});
  CheckGiven(a, file);
  CheckImages(a.out, file);
  const SamplerOptions options = ShownSampler(file);
  const bool gif = Ending(a.out) == ".gif";
  const std::int64_t every = a.every > 0 ? a.every : gif ? std::max<std::int64_t>(1, options.steps / 50) : 0;
  ThreadPool pool(ThreadsOfRank(common.threads));
  if (ranks.rank() == 0) WarnUnstable(file);
  const bool all = a.label == "all" && !file.classes.empty();
  std::vector<Matrix> frames;
  if (!a.given.empty()) {
    a.frames = std::max<std::int64_t>(a.frames, 1);
    frames.push_back(DrawGivenRows(file, a, common, pool, ranks));
  } else if (a.label.empty()) {
    frames = DrawFrames(file, a, every, 0, common, pool, ranks);
  } else {
    std::uint32_t first = 0;
    for (const std::string& name : all ? file.classes : std::vector<std::string>{a.label}) {
      std::vector<Matrix> drawn = DrawFrames(file.Given(name, "--label " + name), a, every, first, common, pool, ranks);
      if (frames.empty()) {
        frames = std::move(drawn);
      } else {
        AddBelow(frames, drawn);
      }
      first += static_cast<std::uint32_t>(a.count);
    }
  }
  if (ranks.rank() > 0) return 0;

  if (Ending(a.out) == ".npy" || Ending(a.out) == ".csv") {
    WriteArray(a.out, file, frames, a.every > 0);
  } else {
    WriteImages(a.out, file, frames, a.columns == 0 && all ? static_cast<int>(a.count) : a.columns);
  }
  PrintResults(Beside(common, a.out), {{"samples", a.out},
                                       {"count", std::int64_t{frames.back().rows()}},
                                       {"steps", options.steps},
                                       {"final", FinalText(file)}});
  return 0;
}

}  // namespace

void AddSample(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("sample", "Draw samples from noise");
  const auto a = std::make_shared<Arguments>();
  command.AddOption("MODEL", a->model, "A model file, or a run's folder").Required();
  AddNumber<Index>(command, "-n,--count", a->count,
                   "How many samples (default: 64); with --given, of each row of it, or how many series (default: 1)",
                   1, 100'000'000);
  AddNumber<std::int64_t>(command, "--steps", a->steps, "Steps of the chains (default: the model's)", 1, 1'000'000'000);
  AddNumber<std::int64_t>(command, "--every", a->every,
                          ".npy and .gif: keep the state after every so many steps; a .gif begins with the noise", 1,
                          1'000'000'000);
  AddNumber<int>(command, "--columns", a->columns, "Images per row of the picture; 0: nearly square", 0, 10000);
  command
      .AddOption("--label", a->label,
                 "Of a model with labels, samples of this class; all: so many of each, each class in a row of its own")
      .SetTypeName("CLASS");
  command
      .AddOption("--given", a->given,
                 "Of a model with conditions, a file of them, in their own units: a table or array with a row for each "
                 "sample; of one with a history, the rows that a series goes on from")
      .SetTypeName("FILE");
  AddNumber<std::int64_t>(command, "--frames", a->frames,
                          "Of a model with a history: how many rows a series has, each drawn given those before", 1,
                          100'000'000);
  AddSet(command, a->assignments);
  command
      .AddOption("-o,--out", a->out,
                 "A picture (.png), an animation (.gif), an array (.npy) or a table (.csv, or - for standard output)")
      .Required();
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter(
      "Example: grbm sample run/model.safetensors -n 64 -o samples.png\n"
      "Given conditions: grbm sample run --given conditions.csv -o samples.csv (docs/conditions.md)\n"
      "On many machines: mpirun -n 4 grbm sample run -n 50000 -o samples.npy (docs/scaling.md)");
  command.SetCallback([=, &common, &action] {
    common.shared = true;
    action = [=, &common] { return Sample(*a, common); };
  });
}

}  // namespace grbm::app
