// Numbers that are followed during training. The names and meanings are those of the section [evaluate].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grbm/core/options.h"
#include "grbm/core/parallel.h"
#include "grbm/data/dataset.h"
#include "grbm/data/mixture.h"
#include "grbm/evaluate/quick.h"
#include "grbm/store/model_file.h"

namespace grbm {

struct EvaluateOptions {
  std::int64_t every_steps = 0;
  std::string metrics = {};
  std::int64_t samples = 500;

  std::vector<Field> Fields();
  bool operator==(const EvaluateOptions&) const = default;
};

// "a,b" as {"a", "b"}.
std::vector<std::string> SplitList(const std::string& text);

// Of the metrics that runs are measured by as they go on.
std::span<const std::string_view> CurveNames();

// A function of the model, the data and the seed alone: it draws from streams of its own, and changes nothing of
// training.
class Curves {
 public:
  // Throws ConfigError for metrics that are unknown or cannot be had. The pool must outlive the curves.
  Curves(const EvaluateOptions& options, const Dataset& training, const std::optional<Dataset>& held_out,
         const Standardization& standardization, std::uint64_t seed, ThreadPool& pool);

  // Names as they stand in metrics.jsonl, each with its standard error after it; NaN where samples are not finite. All of
  // the law that `grbm evaluate` judges, file.law().
  std::vector<std::pair<std::string, double>> Measure(const ModelFile& file) const;

 private:
  std::vector<std::string> metrics_;
  Index samples_;
  std::uint64_t seed_;
  ThreadPool& pool_;
  std::optional<Mixture> mixture_;  // that the data are of
  Matrix training_;                 // in the model's units
  Matrix held_out_;
  std::optional<QuickFeatures> quick_;
  Matrix features_;
};

}  // namespace grbm
