// grbm sample
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "grbm/core/npz.h"
#include "grbm/evaluate/samples.h"
#include "grbm/sampler/sampler.h"
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

int Sample(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".png", ".npy", ".csv", ".gif"});
  if (a.every > 0 && Ending(a.out) == ".csv")
    throw ConfigError("--every: a table holds the last state alone: write an .npy file");
  std::vector<std::string> assignments = a.assignments;
  if (a.steps > 0) assignments.insert(assignments.begin(), fmt::format("generate.steps={}", a.steps));
  const ModelFile file = OpenModel(a.model, assignments);
  CheckImages(a.out, file);
  const SamplerOptions options = ShownSampler(file);
  const bool gif = Ending(a.out) == ".gif";
  const std::int64_t every = a.every > 0 ? a.every : gif ? std::max<std::int64_t>(1, options.steps / 50) : 0;
  ThreadPool pool(common.threads);
  Sampler sampler(file.model, options, pool, OnUnstable::kAllow);
  WarnUnstable(file);
  Chains chains = NoiseChains(file.model, a.count, common.seed, pool);
  std::vector<Matrix> frames;
  if (gif) {  // it begins with the noise
    frames.push_back(chains.visible);
    file.standardization.Invert(frames.back());
  }
  {
    Frames observer(file, options, every, pool, common.quiet || common.json);
    sampler.Run(chains, {.seed = common.seed}, &observer);
    std::ranges::move(observer.frames, std::back_inserter(frames));
  }
  Matrix last = FinalVisible(file.model, chains, options, pool);
  file.standardization.Invert(last);
  if (every == 0 || options.steps % every != 0) frames.push_back(std::move(last));
  for (const Matrix& frame : frames) CheckFinite(file, frame, "samples");

  if (Ending(a.out) == ".npy" || Ending(a.out) == ".csv") {
    WriteArray(a.out, frames, a.every > 0);
  } else {
    WriteImages(a.out, file, frames, a.columns);
  }
  PrintResults(
      Beside(common, a.out),
      {{"samples", a.out}, {"count", std::int64_t{a.count}}, {"steps", options.steps}, {"final", FinalText(file)}});
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
  AddSet(command, a->assignments);
  command
      .AddOption("-o,--out", a->out,
                 "A picture (.png), an animation (.gif), an array (.npy) or a table (.csv, or - for standard output)")
      .Required();
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter("Example: grbm sample run/model.safetensors -n 64 -o samples.png");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Sample(*a, common); }; });
}

}  // namespace grbm::app
