// grbm sample
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>

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
  Index count = 64;
  std::int64_t steps = 0;
  std::int64_t every = 0;
  std::vector<std::string> assignments;
  std::string label;
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

void WriteArray(const std::string& path, const std::vector<Matrix>& frames, bool several) {
  if (!several) {
    WriteRows(path, frames.back());
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

int Sample(const Arguments& a, const Common& common) {
  Ranks& ranks = JoinJob();
  CheckOutput(a.out, {".png", ".npy", ".csv", ".gif"});
  if (a.every > 0 && Ending(a.out) == ".csv")
    throw ConfigError("--every: a table holds the last state alone: write an .npy file");
  std::vector<std::string> assignments = a.assignments;
  if (a.steps > 0) assignments.insert(assignments.begin(), fmt::format("generate.steps={}", a.steps));
  const ModelFile file = OpenModel(a.model, assignments, OfLabels::kTake);
  CheckImages(a.out, file);
  const SamplerOptions options = ShownSampler(file);
  const bool gif = Ending(a.out) == ".gif";
  const std::int64_t every = a.every > 0 ? a.every : gif ? std::max<std::int64_t>(1, options.steps / 50) : 0;
  ThreadPool pool(ThreadsOfRank(common.threads));
  if (ranks.rank() == 0) WarnUnstable(file);
  const bool all = a.label == "all" && !file.classes.empty();
  std::vector<Matrix> frames;
  if (a.label.empty()) {
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
    WriteArray(a.out, frames, a.every > 0);
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
  AddNumber<Index>(command, "-n,--count", a->count, "How many samples", 1, 100'000'000).ShowDefault();
  AddNumber<std::int64_t>(command, "--steps", a->steps, "Steps of the chains (default: the model's)", 1, 1'000'000'000);
  AddNumber<std::int64_t>(command, "--every", a->every,
                          ".npy and .gif: keep the state after every so many steps; a .gif begins with the noise", 1,
                          1'000'000'000);
  AddNumber<int>(command, "--columns", a->columns, "Images per row of the picture; 0: nearly square", 0, 10000);
  command
      .AddOption("--label", a->label,
                 "Of a model with labels, samples of this class; all: so many of each, each class in a row of its own")
      .SetTypeName("CLASS");
  AddSet(command, a->assignments);
  command
      .AddOption("-o,--out", a->out,
                 "A picture (.png), an animation (.gif), an array (.npy) or a table (.csv, or - for standard output)")
      .Required();
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter(
      "Example: grbm sample run/model.safetensors -n 64 -o samples.png\n"
      "On many machines: mpirun -n 4 grbm sample run -n 50000 -o samples.npy (docs/scaling.md)");
  command.SetCallback([=, &common, &action] {
    common.shared = true;
    action = [=, &common] { return Sample(*a, common); };
  });
}

}  // namespace grbm::app
