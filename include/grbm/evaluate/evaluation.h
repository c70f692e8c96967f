// All judgements of one trained model, by name: `grbm evaluate` as a library.
//
//   Evaluation evaluation({.file = ReadModel(path), .data = data, .held_out = test}, pool);
//   for (const MetricScores& metric : Evaluate(evaluation, {"likelihood", "quick"})) ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/core/ranks.h"
#include "grbm/data/dataset.h"
#include "grbm/data/options.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/evaluate/fid.h"
#include "grbm/evaluate/quick.h"
#include "grbm/store/model_file.h"

namespace grbm {

struct EvaluationRequest {
  ModelFile file;
  Dataset data;  // that the model was trained on, in its own units
  std::optional<Dataset> held_out = {};
  std::optional<Dataset> given = {};  // rows that are judged as if they were the model's samples
  Index samples = 2000;               // drawn from noise, and rows of data they are compared with
  Index rows = 10000;                 // of either data set that are looked at, drawn at random
  Index chains = 100;                 // of annealing
  std::int64_t temperatures = 1000;
  std::string inception = {};   // weights of the Inception network; empty: no Inception distances
  int tap = 2048;               // its features
  std::string classifier = {};  // of Classifier::Load; empty: none
  std::string cache_dir = {};   // keeps the Inception statistics of the data; empty: nothing is kept
  std::uint64_t seed = 1;
  // Who else makes this evaluation: chains and features are made by all, and all have all numbers. Others than rank 0 write no
  // file. nullptr: nobody. They must outlive the evaluation.
  Ranks* ranks = nullptr;
};

// The model with the data that the options name, the held-out ones that go with them, and the classifier of these data
// where one is built in.
EvaluationRequest JudgeModel(ModelFile file, const DataOptions& data, ThreadPool& pool);
// A request to judge rows that did not come from a model: metrics of the model itself cannot be had.
EvaluationRequest JudgeRows(Dataset given, Dataset data);

// What is judged, and what several metrics need: computed once, when first asked for.
class Evaluation {
 public:
  // Throws DataError where data and model do not fit. The pool must outlive the evaluation.
  Evaluation(EvaluationRequest request, ThreadPool& pool, EvaluationProgress progress = {});

  const EvaluationRequest& request() const { return request_; }
  const ModelFile& file() const { return request_.file; }
  ThreadPool& pool() const { return pool_; }
  Ranks& ranks() const { return request_.ranks != nullptr ? *request_.ranks : OneRank(); }
  const EvaluationProgress& progress() const { return progress_; }

  // That of the model file.
  const VisibleLaw& law() const { return law_; }

  // Rows in the data's own units, in random order.
  const Matrix& training();
  const Matrix& held_out();
  // Rows in the model's units.
  Matrix InModelUnits(const Matrix& rows) const;

  const Matrix& samples();
  std::string SamplesText();          // "2000 samples from noise, 20 steps": what they are
  std::string ReferenceText() const;  // "training rows": what they are compared with
  const QuickFeatures& quick();
  // Of as many rows each, or fewer where there are not so many.
  const Matrix& training_features();
  const Matrix& held_out_features();
  const Matrix& sample_features();

  // The samples against the data, on the Inception network.
  const FidResult& inception();

 private:
  Matrix FirstFeatures(const Matrix& rows);

  EvaluationRequest request_;
  ThreadPool& pool_;
  EvaluationProgress progress_;
  VisibleLaw law_;
  std::optional<Matrix> training_, held_out_, samples_, training_features_, held_out_features_, sample_features_;
  std::optional<QuickFeatures> quick_;
  std::optional<FidResult> inception_;
};

// One number, and all that must be said with it.
struct Score {
  std::string name;
  Estimate estimate;
  std::string note = {};
  // Where only an interval can be given, estimate is NaN.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

// "12.34 ± 0.05": two digits of the error decide; "between 1.2 and 1.3" where there is only an interval.
std::string ScoreText(const Score& score);

// One metric is one file, src/evaluate/metric_*.cc, and one line in the table of metrics.cc.
struct Metric {
  std::string_view name;
  std::string_view help;
  // Why it cannot be had here; empty where it can.
  std::string (*why_not)(const Evaluation&);
  std::vector<Score> (*measure)(Evaluation&);
  bool only_by_name = false;  // too slow to be had without asking
};
std::span<const Metric> Metrics();

struct MetricScores {
  std::string name;
  std::vector<Score> scores;
};
// The metrics of these names, in the order of the table; without names, all that can be had. Throws ConfigError for a
// name that is unknown or cannot be had.
std::vector<MetricScores> Evaluate(Evaluation& evaluation, const std::vector<std::string>& names = {});

// {metric: {score: {value, error, low, high, note}}}; what is unknown is left out.
std::string ScoresJson(const std::vector<MetricScores>& metrics);

}  // namespace grbm
