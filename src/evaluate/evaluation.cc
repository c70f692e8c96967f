#include "grbm/evaluate/evaluation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "evaluate/common.h"
#include "evaluate/metrics.h"
#include "grbm/core/error.h"
#include "grbm/core/options.h"
#include "grbm/evaluate/classifier.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/reach.h"

namespace grbm {

namespace {

void CheckFits(const EvaluationRequest& request, const Dataset& data) {
  data.RequireNoGaps("evaluate");
  const Index visible = request.file.model.gaussian_units();
  if (const Index conditions = request.file.model.conditions(); data.conditions() != conditions && !request.given) {
    throw DataError(fmt::format("{}: {} conditions a row, but the model has {}: they must be as many", data.source(),
                                data.conditions(), conditions));
  }
  if (data.visible() != visible) {
    const std::string other = request.given ? fmt::format("{} has {}", request.given->source(), visible)
                                            : fmt::format("the model has {} visible units", visible);
    throw DataError(
        fmt::format("{}: {} values a row, but {}: they must be as many", data.source(), data.visible(), other));
  }
  if (request.given) {
    data.CheckNames(request.given->names().columns, {}, request.given->source());
  } else {
    data.CheckNames(request.file.columns, request.file.condition_columns, "the model");
  }
}

}  // namespace

EvaluationRequest JudgeModel(ModelFile file, const DataOptions& data, ThreadPool& pool) {
  EvaluationRequest request{std::move(file), LoadDataset(data, pool), LoadHeldOut(data, pool)};
  request.classifier = BuiltInClassifier(data);
  return request;
}

EvaluationRequest JudgeRows(Dataset given, Dataset data) {
  EvaluationRequest request{{Model(Parameters(given.visible(), 1))}, std::move(data)};
  request.file.image_shape = request.data.shape();
  request.file.provenance["bits"] = fmt::format("{}", request.data.bits());
  request.samples = given.rows();
  request.given = std::move(given);
  return request;
}

Evaluation::Evaluation(EvaluationRequest request, ThreadPool& pool, EvaluationProgress progress)
    : request_(std::move(request)), pool_(pool), progress_(std::move(progress)), law_(file().law()) {
  CheckFits(request_, request_.data);
  CheckReach(file().model, file().hottest(), "model");
  if (request_.held_out) CheckFits(request_, *request_.held_out);
  if (request_.given) request_.samples = std::min(request_.samples, request_.given->rows());
}

const Matrix& Evaluation::training() {
  if (!training_) training_ = ReadSome(request_.data, request_.rows, request_.seed);
  return *training_;
}

const Matrix& Evaluation::held_out() {
  if (!held_out_) held_out_ = ReadSome(*request_.held_out, request_.rows, request_.seed);
  return *held_out_;
}

Matrix Evaluation::InModelUnits(const Matrix& rows) const {
  Matrix out = rows;
  file().standardization.Apply(out);
  CheckReach(file().model, out, "data");
  return out;
}

const Matrix& Evaluation::samples() {
  if (!samples_ && request_.given) {
    samples_ = request_.given->Read(0, request_.samples);
    ClipToData(file(), *samples_);
  } else if (!samples_) {
    samples_ = RowsTogether(ranks(), request_.samples, request_.data.visible(), [&](Index first, Index count) {
      return DrawSamples(file(), count, EvaluationSeed(request_.seed, EvaluationStream::kSamples), pool_, progress_,
                         static_cast<std::uint32_t>(first));
    });
    CheckFinite(file(), *samples_, "samples");
  }
  return *samples_;
}

std::string Evaluation::SamplesText() {
  if (request_.given) return fmt::format("{} rows of {}", samples().rows(), request_.given->source());
  const SamplerOptions drawn = file().generation();
  std::string text = fmt::format("{} samples from noise, {} steps", samples().rows(), drawn.steps);
  if (drawn.temperature != file().sampler.temperature) text += fmt::format(" at temperature {}", drawn.temperature);
  if (drawn.keep_labels && file().model.label_units() > 0) text += ", each class alike";
  return text;
}

std::string Evaluation::ReferenceText() const {
  return request_.given ? "of " + request_.data.source() : "training rows";
}

const QuickFeatures& Evaluation::quick() {
  if (!quick_) {
    const Index rows = std::min(request_.samples, training().rows());
    quick_.emplace(training().view().Rows(0, rows), file().image_shape, pool_);
  }
  return *quick_;
}

Matrix Evaluation::FirstFeatures(const Matrix& rows) {
  return quick()(rows.view().Rows(0, std::min(request_.samples, rows.rows())), pool_);
}

const Matrix& Evaluation::training_features() {
  if (!training_features_) training_features_ = FirstFeatures(training());
  return *training_features_;
}

const Matrix& Evaluation::held_out_features() {
  if (!held_out_features_) held_out_features_ = FirstFeatures(held_out());
  return *held_out_features_;
}

const Matrix& Evaluation::sample_features() {
  if (!sample_features_) sample_features_ = FirstFeatures(samples());
  return *sample_features_;
}

const FidResult& Evaluation::inception() {
  if (!inception_) {
    const FidOptions options = {
        .tap = request_.tap, .samples = request_.samples, .reference = std::min(request_.rows, request_.data.rows())};
    const ImageSource images =
        request_.given ? DataImages(*request_.given)
                       : ModelImages(file(), EvaluationSeed(request_.seed, EvaluationStream::kSamples), pool_);
    inception_ = ComputeFid(Inception::Load(request_.inception), images, request_.data, options, request_.cache_dir,
                            pool_, progress_, ranks());
  }
  return *inception_;
}

std::string ScoreText(const Score& score) {
  const auto digits = [](double error) {
    return std::clamp(1 - static_cast<int>(std::floor(std::log10(error))), 0, 12);
  };
  if (!std::isnan(score.low)) {
    const int places = digits(std::max(1e-6, (score.high - score.low) / 10));
    return fmt::format("between {:.{}f} and {:.{}f}", score.low, places, score.high, places);
  }
  const auto [value, error] = score.estimate;
  // Rounding is no error.
  if (!(error > 1e-9 * std::abs(value)) || !std::isfinite(error)) return fmt::format("{:.6g}", value);
  if (error >= 1e4) return fmt::format("{:.3g} ± {:.2g}", value, error);
  return fmt::format("{:.{}f} ± {:.{}f}", value, digits(error), error, digits(error));
}

// The table of metrics. What may lack a file comes first.
std::span<const Metric> Metrics() {
  static const Metric kMetrics[] = {kFidMetric,     kKidMetric,          kLikelihoodMetric, kQuickMetric,
                                    kMixingMetric,  kMemorisationMetric, kCoverageMetric,   kMixtureMetric,
                                    kClassesMetric, kBackgroundMetric};
  return kMetrics;
}

namespace {

// Why a metric cannot be had; empty where it can. Samples from noise are of no use without conditions.
std::string WhyNot(const Metric& metric, const Evaluation& evaluation) {
  if (evaluation.file().model.conditions() > 0 && metric.name != kLikelihoodMetric.name) {
    return "the model has conditions: judge it by its likelihood";
  }
  return metric.why_not(evaluation);
}

}  // namespace

std::vector<MetricScores> Evaluate(Evaluation& evaluation, const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Metric& metric : Metrics()) known.push_back(metric.name);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      throw ConfigError(fmt::format("metrics: unknown metric '{}'{}", name, DidYouMean(name, known)));
    }
    const std::string reason = WhyNot(Metrics()[ToSize(found - known.begin())], evaluation);
    if (!reason.empty()) throw ConfigError(fmt::format("metrics: {}: {}", name, reason));
  }
  std::vector<MetricScores> results;
  for (const Metric& metric : Metrics()) {
    const bool asked = std::ranges::find(names, metric.name) != names.end();
    if (names.empty() ? !metric.only_by_name && WhyNot(metric, evaluation).empty() : asked) {
      results.push_back({std::string(metric.name), metric.measure(evaluation)});
    }
  }
  return results;
}

std::string ScoresJson(const std::vector<MetricScores>& metrics) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const MetricScores& metric : metrics) {
    for (const Score& score : metric.scores) {
      nlohmann::ordered_json entry;
      const auto put = [&](const char* key, double value) {
        if (!std::isnan(value)) entry[key] = value;
      };
      put("value", score.estimate.value);
      put("error", score.estimate.error);
      put("low", score.low);
      put("high", score.high);
      if (!score.note.empty()) entry["note"] = score.note;
      object[metric.name][score.name] = entry;
    }
  }
  return JsonText(object);
}

}  // namespace grbm
