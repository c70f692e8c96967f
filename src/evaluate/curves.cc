#include "grbm/evaluate/curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "grbm/evaluate/mixture.h"
#include "grbm/evaluate/pseudo.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/energy.h"

namespace grbm {

namespace {

constexpr Index kPseudoRows = 100;
constexpr Index kPseudoUnits = 4;

}  // namespace

std::vector<Field> EvaluateOptions::Fields() {
  return {
      {"every_steps", &every_steps, "updates between evaluations, written to metrics.jsonl; 0: never", {.min = 0}},
      {"metrics", &metrics,
       "which, separated by commas: quick, gap, pseudo, and kl of the mixtures; empty: the first three that can be "
       "had"},
      {"samples",
       &samples,
       "samples from noise, and rows of data they are compared with",
       {.min = 20, .max = 1e7},
       "2000"},
  };
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::span<const std::string_view> CurveNames() {
  static constexpr std::string_view kNames[] = {"quick", "gap", "pseudo", "kl"};
  return kNames;
}

Curves::Curves(const EvaluateOptions& options, const Dataset& training, const std::optional<Dataset>& held_out,
               const Standardization& standardization, std::uint64_t seed, ThreadPool& pool)
    : metrics_(SplitList(options.metrics)),
      samples_(Index{options.samples}),
      seed_(seed),
      pool_(pool),
      mixture_(FindMixture(training.source())) {
  for (const std::string& name : metrics_) {
    if (std::ranges::find(CurveNames(), name) == CurveNames().end()) {
      throw ConfigError(fmt::format("evaluate: metrics: unknown metric '{}'{}: allowed are quick, gap, pseudo and kl",
                                    name, DidYouMean(name, CurveNames())));
    }
    if (name == "gap" && !held_out) {
      throw ConfigError(
          "evaluate: metrics: gap needs held-out data, which only the public data sets and mixtures have");
    }
    if (name == "kl" && !mixture_) {
      throw ConfigError("evaluate: metrics: kl needs data whose density is known: gmm-iso or gmm-aniso");
    }
  }
  if (metrics_.empty()) {
    metrics_ = {"quick", "pseudo"};
    if (held_out) metrics_.insert(metrics_.begin() + 1, "gap");
  }
  const auto read = [&](const Dataset& data) {
    data.RequireNoGaps("evaluate: every_steps");
    return ReadSome(data, samples_, seed_);
  };
  training_ = read(training);
  if (training_.rows() < 20) {
    throw ConfigError(fmt::format("evaluate: every_steps = {}: {} rows of data are too few: at least 20 are needed",
                                  options.every_steps, training_.rows()));
  }
  quick_.emplace(training_, training.shape(), pool);
  features_ = (*quick_)(training_, pool);
  standardization.Apply(training_);
  if (held_out) {
    held_out_ = read(*held_out);
    standardization.Apply(held_out_);
  }
}

std::vector<std::pair<std::string, double>> Curves::Measure(const ModelFile& file) const {
  const VisibleLaw law = file.law();
  std::vector<std::pair<std::string, double>> values;
  for (const std::string& name : metrics_) {
    const std::string label = name == "gap"      ? "free_energy_gap"
                              : name == "pseudo" ? "pseudo_likelihood"
                              : name == "kl"     ? "kl_data_model"
                                                 : "quick_distance";
    Estimate estimate;
    try {
      if (name == "gap") {
        estimate = FreeEnergyGap(law, training_, held_out_, pool_);
      } else if (name == "pseudo") {
        const Index rows = std::min(kPseudoRows, training_.rows());
        estimate = PseudoLikelihood(law, training_.view().Rows(0, rows), kPseudoUnits, seed_, pool_);
      } else if (name == "kl") {
        const Quadrature density(law);
        estimate = {KlDivergence(*mixture_, DensityInOwnUnits(density, file.standardization)), 0};
      } else {
        const Matrix samples = DrawSamples(file, samples_, EvaluationSeed(seed_, EvaluationStream::kSamples), pool_);
        estimate = QuickDistances(features_, (*quick_)(samples, pool_)).frechet;
      }
    } catch (
        const NumericError&) {  // chains that diverged, densities that floats cannot tell: no reason to stop training
      estimate = {};
    }
    values.emplace_back(label, estimate.value);
    values.emplace_back(label + "_error", estimate.error);
  }
  return values;
}

}  // namespace grbm
