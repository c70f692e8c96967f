// When a run has learned what it can: a measure of held-out rows, once an epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "grbm/core/parallel.h"
#include "grbm/data/dataset.h"
#include "grbm/store/model_file.h"
#include "grbm/train/data_trainer.h"

namespace grbm {

class EarlyStop {
 public:
  // Reads held-out rows, kRows at most, drawn by the seed. The pool must outlive it.
  // Throws ConfigError where nothing is held out, DataError where values are missing or a class is not one of the training data's.
  EarlyStop(const TrainOptions& options, const std::optional<Dataset>& held_out, const DataStatistics& statistics,
            std::uint64_t seed, ThreadPool& pool);

  // Of the name of a measure its value, for metrics.
  std::pair<std::string, double> Measure(const ModelFile& file) const;
  // Keeps the model after so many updates, where it is the best so far.
  void See(const Model& model, std::uint64_t updates, double measured);
  // Whether so many updates, of which an epoch has `epoch`, have been made since the best that patience is at its end.
  bool Ended(std::uint64_t updates, std::uint64_t epoch) const;

  const std::optional<BestState>& best() const { return best_; }
  void set_best(std::optional<BestState> best) { best_ = std::move(best); }

 private:
  static constexpr Index kRows = 1000;

  TrainOptions options_;
  std::uint64_t seed_;
  ThreadPool& pool_;
  Matrix rows_;                 // in the model's units
  std::vector<Index> classes_;  // of these rows, where they are measured
  std::optional<BestState> best_;
};

}  // namespace grbm
