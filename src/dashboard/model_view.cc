#include "dashboard/model_view.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <map>

#include "core/json.h"
#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/evaluation.h"
#include "grbm/evaluate/mixing.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/reach.h"
#include "grbm/report/samples.h"
#include "grbm/train/config.h"
#include "store/options_json.h"

namespace grbm {

namespace {

using json = nlohmann::ordered_json;

constexpr Index kChainImages = 36;
constexpr Index kChainPoints = 256;
constexpr Index kFreshImages = 64;
constexpr Index kFilters = 100;
constexpr std::int64_t kFrames = 32;
constexpr double kBinsPerDecade = 50;
constexpr Index kFewVariances = 16;  // which are told one by one

Index Count(const ModelFile& file, Index images) { return file.image_shape.known() ? images : kChainPoints; }

// Into `object`: {image: address} or {points}.
void Put(json& object, const Picture& picture) {
  if (picture.ending == ".png") {
    object["image"] = PngUri(picture.contents);
  } else {
    object["points"] = ParseJson<json>(picture.contents, picture.contents.size(), "picture");
  }
}

// Labels have none.
std::span<const float> Variances(const Model& model) { return model.variance().first(ToSize(model.gaussian_units())); }

// How many variances lie in each bin of log10 σ²; all bins are of one grid, so that runs can be compared.
json VarianceBins(const Model& model) {
  std::map<std::int64_t, std::int64_t> bins;
  for (const float variance : Variances(model)) {
    ++bins[static_cast<std::int64_t>(std::floor(std::log10(double{variance}) * kBinsPerDecade))];
  }
  json counts = json::array();
  for (std::int64_t bin = bins.begin()->first; bin <= bins.rbegin()->first; ++bin) {
    counts.push_back(bins.contains(bin) ? bins[bin] : 0);
  }
  return {{"first", bins.begin()->first}, {"per_decade", kBinsPerDecade}, {"counts", counts}};
}

// Of few units, each; a histogram of two numbers says nothing.
json FewVariances(const ModelFile& file) {
  if (file.model.gaussian_units() > kFewVariances) return json();
  json list = json::array();
  for (const float variance : Variances(file.model)) list.push_back(variance);
  return list;
}

// Images of the weights of hidden units, or in the plane the vectors, each from the mean of the visible units.
json Filters(const ModelFile& file) {
  json filters;
  const Index count = std::min(kFilters, file.model.hidden());
  if (file.image_shape.known()) {
    const GridOptions range{.low = -1, .high = 1};
    const ConstMatrix weights = file.model.W().Rows(0, file.model.gaussian_units());
    Put(filters, DrawPicture(file, NormalizeFilters(weights, count), &range));
  } else if (file.model.gaussian_units() == 2) {
    Matrix ends(count + 1, 2);
    for (Index i = 0; i < 2; ++i) {
      for (Index j = 0; j <= count; ++j) {
        ends(j, i) = file.model.mu()[ToSize(i)] + (j > 0 ? file.model.W().row(i)[ToSize(j - 1)] : 0);
      }
    }
    file.standardization.Invert(ends);
    Put(filters, DrawPicture(file, ends));
  }
  return filters;
}

// A few dozen frames of chains from noise, more of them at the start.
class ChainFrames : public Observer {
 public:
  ChainFrames(const ModelFile& file, const SamplerOptions& options, ThreadPool& pool,
              const EvaluationProgress& progress)
      : file_(file), options_(options), pool_(pool), progress_(progress) {}

  void OnStep(const ChainState& state) override {
    if (progress_) progress_("chain from noise", state.step, options_.steps);
    const auto frames = static_cast<double>(kFrames);
    const auto mark = [&](std::int64_t step) {
      return std::floor(frames * std::log(static_cast<double>(step)) / std::log(static_cast<double>(options_.steps)));
    };
    const bool shown = options_.steps <= kFrames || state.step == options_.steps || state.step == 1 ||
                       mark(state.step) != mark(state.step - 1);
    if (shown) frames_.push_back({state.step, ShowState(file_, options_, state, pool_)});
  }

  // All frames in the range of the last.
  json Draw(Matrix noise) {
    frames_.insert(frames_.begin(), {0, InOwnUnits(file_, std::move(noise))});
    const GridOptions range = ShownRange(file_, frames_.back().second);
    json list = json::array();
    for (const auto& [step, rows] : frames_) {
      json frame = {{"step", step}};
      Put(frame, DrawPicture(file_, rows, &range));
      list.push_back(std::move(frame));
    }
    return list;
  }

 private:
  const ModelFile& file_;
  SamplerOptions options_;
  ThreadPool& pool_;
  const EvaluationProgress& progress_;
  std::vector<std::pair<std::int64_t, Matrix>> frames_;
};

json DescribeChain(const ModelFile& file, std::uint64_t seed, ThreadPool& pool, const EvaluationProgress& progress) {
  if (!ShowsSamples(file)) return json::array();
  SamplerOptions options = ShownSampler(file);
  options.steps = std::min(options.steps, kMaxShownSteps);
  const std::uint64_t part = EvaluationSeed(seed, EvaluationStream::kPictures);
  Chains chains = NoiseChains(file.model, Count(file, kChainImages), part, pool);
  ChainFrames frames(file, options, pool, progress);
  Matrix noise = chains.visible;
  Sampler(file.model, options, pool, OnUnstable::kAllow).Run(chains, {.seed = part}, &frames);
  return frames.Draw(std::move(noise));
}

json ToJson(const Diagnostics& d) {
  return {{"rhat", d.rhat},
          {"ess_bulk", d.ess_bulk},
          {"ess_tail", d.ess_tail},
          {"autocorrelation_time", d.autocorrelation_time}};
}

json MeasureMixingJson(Evaluation& evaluation) {
  const MixingOptions options{.chains = 16, .steps = 400, .seed = evaluation.request().seed};
  const Mixing mixing = MeasureMixing(evaluation.file(), evaluation.InModelUnits(evaluation.training()), options,
                                      evaluation.pool(), evaluation.progress());
  json energies = json::array();
  for (Index r = 0; r < mixing.energies.rows(); ++r) {
    json trace = json::array();
    for (const double energy : mixing.energies.row(r)) trace.push_back(std::round(energy * 1000) / 1000);
    energies.push_back(std::move(trace));
  }
  return {{"chains", options.chains},
          {"steps", options.steps},
          {"acceptance", mixing.acceptance},
          {"energy", ToJson(mixing.energy)},
          {"activity", ToJson(mixing.activity)},
          {"energies", energies}};
}

}  // namespace

json DescribeModel(const ModelFile& file, std::uint64_t seed, ThreadPool& pool, const EvaluationProgress& progress) {
  CheckReach(file.model, file.hottest(), "model");
  json described = {{"visible", file.model.gaussian_units()}, {"hidden", file.model.hidden()}};
  const auto updates = file.provenance.find("updates");
  if (updates != file.provenance.end()) described["updates"] = updates->second;
  SamplerOptions sampler = file.generation();
  described["sampler"] = OptionsToJson(sampler.Fields());
  described["shown"] = ShowsSamples(file);
  described["mean_variance"] = file.model.mean_variance();
  described["variances"] = VarianceBins(file.model);
  described["few_variances"] = FewVariances(file);
  described["filters"] = Filters(file);
  described["chain"] = DescribeChain(file, seed, pool, progress);
  if (ShowsSamples(file) && sampler.steps > kMaxShownSteps) {
    described["chain_note"] =
        fmt::format("{} steps, the most that are shown; the model's sampler takes {}", kMaxShownSteps, sampler.steps);
  }
  return described;
}

json MeasureModel(const ModelFile& file, std::uint64_t seed, ThreadPool& pool, const EvaluationProgress& progress) {
  try {
    const auto config = file.provenance.find("config");
    if (config == file.provenance.end()) throw DataError("the model does not say which data it was trained on");
    const DataOptions options = ParseConfig(config->second, "the model's settings").data;
    EvaluationRequest request = JudgeModel(file, options, pool);
    request.seed = seed;  // all else as `grbm evaluate` has it: the same numbers
    request.file.generate.steps = std::min(file.generation().steps, kMaxShownSteps);  // the scores say how many
    Evaluation evaluation(std::move(request), pool, progress);
    json measured = json::object();
    if (file.classes.empty()) measured["mixing"] = MeasureMixingJson(evaluation);
    const std::string scores = ScoresJson(Evaluate(evaluation, {"quick"}));
    measured["scores"] = ParseJson<json>(scores, scores.size(), "scores");
    return measured;
  } catch (const Error& error) {
    return {{"note", error.what()}};
  }
}

std::vector<Field> FreshOptions::Fields() {
  return {
      {"steps", &steps, "steps of the chains", {.min = 1, .max = kMaxShownSteps}},
      {"temperature", &temperature, "of the sampler", {.min = 0.01, .max = 100}},
      {"seed", &seed, "of all random numbers", {.min = 0}},
  };
}

json DrawFresh(const ModelFile& file, const FreshOptions& options, ThreadPool& pool,
               const EvaluationProgress& progress) {
  FreshOptions checked = options;
  CheckFields(checked.Fields(), "samples");
  if (!ShowsSamples(file)) {
    throw ConfigError("samples: the model's rows are neither images nor points of the plane, or need conditions");
  }
  ModelFile asked = file;
  asked.generate.steps = options.steps;
  asked.generate.temperature = options.temperature;
  CheckReach(file.model, asked.hottest(), "samples");
  const auto start = std::chrono::steady_clock::now();
  json fresh = json::object();
  const auto seed = static_cast<std::uint64_t>(options.seed);
  Put(fresh, DrawPicture(file, DrawShown(asked, Count(file, kFreshImages), seed, pool, progress)));
  fresh["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return fresh;
}

}  // namespace grbm
