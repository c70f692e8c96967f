// grbm evaluate: how good a trained model is.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json.h"
#include "grbm/data/fetch.h"
#include "grbm/data/info.h"
#include "grbm/evaluate/classifier.h"
#include "grbm/evaluate/curves.h"
#include "grbm/evaluate/evaluation.h"
#include "grbm/evaluate/samples.h"
#include "job.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "streams.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string model;
  std::string given;
  DataArguments data;
  std::string metrics;
  Index samples = 2000;
  Index rows = 10000;
  Index chains = 100;
  std::int64_t temperatures = 1000;
  std::string inception;
  int tap = 2048;
  std::string classifier;
  std::vector<std::string> assignments;
};

// Rows beside images of pixels that are hardly in their units.
void WarnScale(const Dataset& given, const Dataset& data) {
  if (!data.is_8bit() || given.is_8bit()) return;
  const DataInfo info = Describe(given);
  if (info.max > 1 && info.max < 1000 && info.min > -500) return;
  Tell(
      "grbm: warning: {}: values from {:.4g} to {:.4g}, where those of the data go from 0 to 255: are they in other "
      "units?\n",
      given.source(), info.min, info.max);
}

// A model or rows, and the data, whose options are set.
EvaluationRequest OpenSubject(const Arguments& a, DataOptions& options, ThreadPool& pool, const Ranks& ranks) {
  if (a.model.empty() == a.given.empty()) {
    throw ConfigError("evaluate: what is to be judged is needed, once: MODEL, or --given FILE");
  }
  if (a.given.empty()) {
    EvaluationRequest request{OpenModel(a.model, a.assignments, {.labels = true, .conditions = true}), {}};
    if (ranks.rank() == 0) WarnUnstable(request.file);
    options = GivenData(request.file, a.data);
    request.data = LoadDataset(options, pool);
    return request;
  }
  if (!a.assignments.empty()) throw ConfigError("--set: given rows have no sampler");
  DataOptions rows;
  rows.source = a.given;
  options.source = a.data.source;
  options.split = a.data.split;
  a.data.Put(options);
  EvaluationRequest request = JudgeRows(LoadDataset(rows, pool), LoadDataset(options, pool));
  if (ranks.rank() == 0) WarnScale(*request.given, request.data);
  return request;
}

int EvaluateModel(Arguments a, const Common& common) {
  // Other data to be held out may stand beside any, those that have a part test of their own among them.
  DataOptions share;
  share.held_out = a.data.held_out;
  const std::string other = share.held_out.empty() || HeldOutShare(share) ? "" : std::exchange(a.data.held_out, {});
  Ranks& ranks = JoinJob();
  ThreadPool pool(ThreadsOfRank(common.threads));
  DataOptions options;
  EvaluationRequest request = OpenSubject(a, options, pool, ranks);
  if (!other.empty()) {
    DataOptions held_out = options;
    held_out.subset = 0;
    held_out.source = other;
    held_out.held_out.clear();
    held_out.split = "all";
    request.held_out = LoadDataset(held_out, pool);
  } else {
    request.held_out = LoadHeldOut(options, pool);
  }
  request.samples = a.samples;
  request.rows = a.rows;
  request.chains = a.chains;
  request.temperatures = a.temperatures;
  request.inception = a.inception;
  request.tap = a.tap;
  request.classifier = a.classifier.empty() ? BuiltInClassifier(options) : a.classifier;
  if (!a.inception.empty()) request.cache_dir = DefaultCacheDir();
  request.seed = common.seed;
  request.ranks = &ranks;

  Bars bars(common.quiet || common.json || ranks.rank() > 0);
  Evaluation evaluation(std::move(request), pool,
                        [&](std::string_view part, Index done, Index total) { bars.Show(part, done, total); });
  const std::vector<MetricScores> metrics = Evaluate(evaluation, SplitList(a.metrics));
  if (ranks.rank() > 0) return 0;
  const Model& model = evaluation.file().model;
  const double temperature = evaluation.file().sampler.temperature;
  if (common.json) {
    nlohmann::ordered_json object;
    if (a.given.empty()) {
      object["model"] = a.model;
    } else {
      object["given"] = a.given;
    }
    object["data"] = a.data.source;
    object["visible"] = model.gaussian_units();
    if (a.given.empty()) {
      object["hidden"] = model.hidden();
      object["temperature"] = temperature;
    }
    object["seed"] = common.seed;
    const std::string scores = ScoresJson(metrics);
    object.update(ParseJson<nlohmann::ordered_json>(scores, scores.size(), "scores"));
    Print("{}\n", JsonText(object));
    return 0;
  }
  if (a.given.empty()) {
    Print("{}: {} visible and {} hidden units{}\n", a.model, model.gaussian_units(), model.hidden(),
          temperature == 1 ? "" : fmt::format(", at temperature {}", temperature));
  } else {
    Print("{}: rows of {} values\n", a.given, model.visible());
  }
  PrintScores(metrics);
  return 0;
}

std::string MetricsHelp() {
  std::string text = "Which, separated by commas; without it, all that apply:";
  for (const Metric& metric : Metrics()) text += fmt::format("\n{}: {}", metric.name, metric.help);
  return text;
}

}  // namespace

void AddEvaluate(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("evaluate", "Say how good a model is, each number with its uncertainty");
  const auto a = std::make_shared<Arguments>();
  command.AddOption("MODEL", a->model, "A model file, or a run's folder");
  command.AddOption(
      "--given", a->given,
      "Rows to judge in place of a model's samples, such as another program's: a file like those of data");
  a->data.split = "train";
  AddData(command, a->data, "The data it was trained on");
  command.AddOption("--metrics", a->metrics, MetricsHelp());
  AddNumber<Index>(command, "--samples", a->samples, "Samples from noise, and rows of data they are compared with", 2,
                   10'000'000)
      .ShowDefault();
  AddNumber<Index>(command, "--rows", a->rows, "Rows of each data set to look at, drawn at random", 2, 100'000'000)
      .ShowDefault();
  AddNumber<Index>(command, "--chains", a->chains, "Annealing: how many chains", 2, 10'000'000).ShowDefault();
  AddNumber<std::int64_t>(command, "--temperatures", a->temperatures, "Annealing: in how many steps", 1, 100'000'000)
      .ShowDefault();
  command.AddOption("--inception", a->inception, "fid, kid: weights of the Inception network, see docs/inception.md")
      .SetEnvironment("GRBM_INCEPTION");
  AddNumber<int>(command, "--tap", a->tap, "fid, kid: which of its features: 64, 192, 768 or 2048", 1, 2048)
      .ShowDefault();
  command.AddOption("--classifier", a->classifier,
                    "classes: weights of a classifier, see docs/evaluate.md (default: for mnist the built-in one)");
  AddSet(command, a->assignments);
  AddThreads(command, common.threads);
  AddSeed(command, common.seed);
  command.SetFooter(
      "Example: grbm evaluate run/model.safetensors --data mnist --metrics likelihood,quick\n"
      "On many machines: mpirun -n 4 grbm evaluate run --data mnist --metrics fid (docs/scaling.md)");
  command.SetCallback([=, &common, &action] {
    common.shared = true;
    action = [=, &common] { return EvaluateModel(*a, common); };
  });
}

}  // namespace grbm::app
