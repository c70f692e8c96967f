// grbm distance: two data sets, or models, against each other.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "grbm/core/file.h"
#include "grbm/core/npz.h"
#include "grbm/data/fetch.h"
#include "grbm/evaluate/evaluation.h"
#include "grbm/evaluate/samples.h"
#include "grbm/train/run.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "streams.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string sides[2];
  DataArguments data;
  Index samples = 2000;
  std::string inception;
  int tap = 2048;
};

// A run's folder, or a file of one of the forms of models. An .npz may be data, too: it is a model where it has weights.
bool IsModel(const std::string& path) {
  if (IsDataName(path)) return false;
  if (IsFolder(path)) return Exists(ModelPath(path));
  if (Ending(path) == ".safetensors") return true;
  if (Ending(path) != ".npz" || !Exists(path)) return false;
  const TensorFile archive = ReadNpz(path);
  return std::ranges::find(archive.tensors, "log_var", &Tensor::name) != archive.tensors.end();
}

// seed: of samples, another for each side, or two models would share their noise and seem nearer than they are.
Dataset Side(const std::string& path, const Arguments& a, std::uint64_t seed, ThreadPool& pool, Bars& bars) {
  if (!IsModel(path)) {
    DataOptions options;
    options.source = path;
    options.split = a.data.split;
    a.data.Put(options);
    const Dataset data = LoadDataset(options, pool);
    if (data.rows() < 2) throw DataError(fmt::format("{}: one row: a distance needs two at least", path));
    return data;
  }
  const ModelFile file = OpenModel(path, {}, {.labels = true});
  WarnUnstable(file);
  Matrix samples = DrawSamples(file, a.samples, seed, pool,
                               [&](std::string_view part, Index done, Index total) { bars.Show(part, done, total); });
  CheckFinite(file, samples, "samples");
  return Dataset(std::move(samples), file.image_shape, path)
      .WithNames({.columns = file.columns, .labels = {}, .notes = {}});
}

int Compare(const Arguments& a, const Common& common) {
  ThreadPool pool(common.threads);
  Bars bars(common.quiet || common.json);
  Dataset first = Side(a.sides[0], a, common.seed, pool, bars);
  Dataset second = Side(a.sides[1], a, common.seed + 1, pool, bars);
  second.CheckNames(first.names().columns, {}, a.sides[0]);
  if (first.visible() != second.visible()) {
    throw DataError(fmt::format("{} has rows of {} values, {} of {}: they must be as many", a.sides[0], first.visible(),
                                a.sides[1], second.visible()));
  }
  EvaluationRequest request = JudgeRows(std::move(first), std::move(second));
  request.samples = a.samples;
  request.inception = a.inception;
  request.tap = a.tap;
  request.seed = common.seed;
  std::vector<std::string> names = {"quick"};
  if (!a.inception.empty()) names.insert(names.end(), {"fid", "kid"});
  Evaluation evaluation(std::move(request), pool,
                        [&](std::string_view part, Index done, Index total) { bars.Show(part, done, total); });
  const std::vector<MetricScores> metrics = Evaluate(evaluation, names);
  if (!common.json) {
    Print("{} and {}: rows of {} values\n", a.sides[0], a.sides[1], evaluation.file().model.visible());
    PrintScores(metrics);
    return 0;
  }
  nlohmann::ordered_json object = {{"a", a.sides[0]}, {"b", a.sides[1]}, {"seed", common.seed}};
  const std::string scores = ScoresJson(metrics);
  object.update(ParseJson<nlohmann::ordered_json>(scores, scores.size(), "scores"));
  Print("{}\n", JsonText(object));
  return 0;
}

}  // namespace

void AddDistance(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("distance", "Compare two data sets or models: nothing is trained");
  const auto a = std::make_shared<Arguments>();
  a->data.split = "all";
  command.AddOption("A", a->sides[0], "Data (a path or a name), or a model, of which samples are drawn").Required();
  command.AddOption("B", a->sides[1], "The same: what A is compared with").Required();
  AddDataDetails(command, a->data);
  AddNumber<Index>(command, "--samples", a->samples, "Samples of a model, and rows that are compared, at most", 2,
                   10'000'000)
      .ShowDefault();
  command
      .AddOption("--inception", a->inception,
                 "Also fid and kid: weights of the Inception network, see docs/inception.md")
      .SetEnvironment("GRBM_INCEPTION");
  AddNumber<int>(command, "--tap", a->tap, "fid, kid: which of its features: 64, 192, 768 or 2048", 1, 2048)
      .ShowDefault();
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter("Example: grbm distance runs/photos photos/");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Compare(*a, common); }; });
}

}  // namespace grbm::app
