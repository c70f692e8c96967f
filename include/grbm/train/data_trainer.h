// Training on a data set as a configuration says: its standardisation, its batches, and the model that comes of them. The
// loop is the caller's; TrainRun (run.h) is one, in a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/data/batches.h"
#include "grbm/data/dataset.h"
#include "grbm/data/standardization.h"
#include "grbm/store/model_file.h"
#include "grbm/train/config.h"
#include "grbm/train/trainer.h"

namespace grbm {

// What training takes from the data as a whole.
struct DataStatistics {
  Standardization standardization;
  Standardization units;  // see UnitStatistics; empty unless train.unit_scale asks for it
  Standardization conditions = {};
  std::vector<std::string> classes = {};  // of the labels, where the model has them

  bool operator==(const DataStatistics&) const = default;
};
DataStatistics ComputeStatistics(const Config& config, const Dataset& data);

class DataTrainer {
 public:
  // Rows are standardised batch by batch: there is never a second copy of the data. Without `statistics`, those of the
  // data. With `init` it starts from that model's law, brought to the units of the data; hidden units that the model has
  // not are fresh. `ranks`: see Trainer::Setup. Throws ConfigError for settings that cannot work, DataError where the model does not fit. The pool must
  // outlive it.
  DataTrainer(const Config& config, Dataset data, std::uint64_t seed, ThreadPool& pool, const SamplerHooks& hooks = {},
              std::optional<DataStatistics> statistics = {}, const std::optional<ModelFile>& init = {},
              Ranks* ranks = nullptr);
  DataTrainer(const DataTrainer&) = delete;
  DataTrainer& operator=(const DataTrainer&) = delete;

  const Dataset& data() const { return data_; }
  const DataStatistics& statistics() const { return statistics_; }
  Trainer& trainer() { return trainer_; }
  const Trainer& trainer() const { return trainer_; }

  // The trainer's Result() as it is now, with the sampler by which samples are drawn.
  ModelFile File() const;

 private:
  // Throws DataError where a model that starts from `init` could not be one of the data.
  void CheckInit(const ModelFile& init) const;
  Trainer::Setup MakeSetup(const SamplerHooks& hooks, const std::optional<ModelFile>& init, Ranks* ranks) const;
  void Read(std::uint64_t update, MutableMatrix out);

  Config config_;
  Dataset data_;
  DataStatistics statistics_;
  std::vector<Index> gap_numbers_;  // of each row, among those with gaps; -1: without; empty: none has any
  std::vector<Index> labels_;       // the class of each row
  std::uint64_t seed_;
  BatchStream batches_;
  std::vector<Index> rows_;  // of a batch
  Trainer trainer_;
};

}  // namespace grbm
