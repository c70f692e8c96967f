// The training loop, one update at a time: whoever calls it decides about progress, checkpoints and when to stop.
#pragma once

#include <cstdint>
#include <functional>

#include "grbm/core/parallel.h"
#include "grbm/model/model.h"
#include "grbm/sampler/options.h"
#include "grbm/train/contrastive.h"
#include "grbm/train/optimizer.h"
#include "grbm/train/options.h"

namespace grbm {

// One update's numbers. All of them are functions of the settings, the data and the seed: no times.
struct UpdateMetrics {
  std::uint64_t update = 0;  // 1 after the first
  double epoch = 0;
  double learning_rate = 0;
  double step_size = 0;
  double gradient_norm = 0;  // before clipping
  double mean_variance = 0;
  double min_log_var = 0;
  double max_log_var = 0;
  BatchReport batch;
};

// The best model so far, where a run stops early.
struct BestState {
  std::uint64_t updates = 0;  // after which it was measured
  double measured = 0;        // on held-out rows: the lower, the better
  Parameters parameters;
};

// Everything that training changes, and with the settings all that a resumed run needs.
struct TrainState {
  std::uint64_t updates = 0;  // made so far
  Parameters parameters;
  std::vector<Parameters> moments;  // of the optimiser
  std::optional<Chains> chains;     // of persistent contrastive divergence
  std::optional<Offsets> offsets;   // of the centred gradient
  std::optional<Parameters> average = {};
  // Where missing values are drawn on from: the hidden states of all rows with gaps, each in words of 64 units.
  std::optional<BasicMatrix<std::uint64_t>> gaps = {};
  std::optional<BestState> best = {};  // of the run: a trainer has none
};

// How many updates a run of so many rows makes.
std::uint64_t TotalUpdates(const TrainOptions& train, std::uint64_t rows);

class Trainer {
 public:
  // Writes rows of data, in the model's units, for an update: out is batch_size × visible, with conditions behind the values
  // where there are any; with several ranks, the rows of the batch from first_row() on.
  using ReadBatch = std::function<void(std::uint64_t update, MutableMatrix out)>;

  struct Setup {
    ModelOptions model;
    SamplerOptions sampler;
    TrainOptions train;
    std::uint64_t seed = 1;
    Index visible = 0;
    std::uint64_t rows = 0;  // of the data set: an epoch
    double noise = 0;        // the variance of what is added to the data
    // Of the data, by Gaussian unit, for UnitScale::kData.
    std::vector<float> mean = {};
    std::vector<float> deviation = {};
    SamplerHooks hooks = {};  // of the chains; what before_step throws ends Update()
    // What to start from, in place of fresh parameters; hidden units that it has not are fresh.
    std::optional<Parameters> start = {};
    // Whoever else trains this model, a part of each batch for each; nullptr: nobody. They must outlive the trainer.
    Ranks* ranks = nullptr;
    // So many of the visible units, the last: each row has one of them 1, and the others 0.
    Index label_units = 0;
    std::vector<double> label_shares = {};  // of the rows, for train.keep_labels
    bool gaps = false;                      // whether values may be missing: NaN
    // Of as many rows with gaps the hidden states are kept, and gap_numbers has which of them are those of an update's batch, of
    // all ranks, in order; -1: a row without gaps. Where there are none, what is missing is drawn from noise at every update.
    Index gap_rows = 0;
    std::function<void(std::uint64_t update, std::span<Index> numbers)> gap_numbers = {};
    Index conditions = 0;  // so many values of each row are given, and shift the biases
  };

  // Throws ConfigError for settings that contradict each other. The pool must outlive the trainer.
  Trainer(const Setup& setup, ReadBatch read, ThreadPool& pool);

  std::uint64_t updates() const { return updates_; }
  std::uint64_t total_updates() const { return total_; }
  bool done() const { return updates_ >= total_; }
  // As the last update left it: what training goes on with.
  const Model& model() const { return model_; }
  // What training is for: the model of the averaged parameters, or the last one where train.average is 0.  [math.md (64)]
  Model Result() const;
  // The row of a batch at which this rank's begin.
  Index first_row() const { return first_row_; }

  // One update. Throws NumericError, with the likely cause and what to change, when numbers leave the finite ones or a
  // variance runs away. Whatever it throws, the model is then as it was before the update, and so is the State(), unless it
  // is a NumericError. `report`: whether all of its metrics are wanted, see Contrastive::Gradient.
  UpdateMetrics Update(bool report = true);

  // With several ranks, each is asked once in every update, and what the first one said goes to all with the gradient.
  void set_ask(std::function<double()> ask) { contrastive_.set_ask(std::move(ask)); }
  double answer() const { return contrastive_.answer(); }

  // With several ranks, all must ask for it.
  TrainState State() const;
  // Goes on from there. Throws DataError where the state does not fit the settings.
  void Restore(TrainState state);

 private:
  // The hidden states of this rank's rows; and back, of all rows of the batch.
  void TakeGapStates();
  void PutGapStates();
  // The estimate of the gradient from the batch, and the means of v and h over it.
  std::vector<float> TakeLabelBiases(Parameters& gradient) const;
  Parameters BatchGradient(const SamplerOptions& sampler, bool report, Offsets& means);

  Setup setup_;
  ReadBatch read_;
  ThreadPool& pool_;
  std::uint64_t total_;
  std::uint64_t updates_ = 0;
  Model model_;
  std::optional<Model> joint_;  // where there are conditions, that with units of them
  Contrastive contrastive_;
  Optimizer optimizer_;
  std::optional<Offsets> offsets_;
  std::optional<Parameters> average_;
  std::optional<BasicMatrix<std::uint64_t>> gap_states_;  // rows with gaps × words
  std::vector<Index> gap_numbers_;                        // of the batch, where there are such states
  Index first_row_;
  Matrix batch_;
  Parameters memory_;  // of the last parameters, for the next gradient
};

}  // namespace grbm
