// Contrastive divergence: one estimate of the gradient of the negative log-likelihood from one batch.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grbm/core/ranks.h"
#include "grbm/model/gradient.h"
#include "grbm/sampler/sampler.h"
#include "grbm/train/centring.h"
#include "grbm/train/options.h"

namespace grbm {

class Engine;
class BatchSplit;
class DiscriminativeSums;
class StateSums;
struct Exchanged;
struct GradientScale;

// What one update saw, beside the gradient.
struct BatchReport {
  double acceptance = 1;       // share of the chains' moves that were accepted
  double hidden_activity = 0;  // mean of the hidden units on the data
  // Mean of (v - E[v | h])² on the data, with h ~ p(h | v); per visible unit; where it is not asked for, that of the last
  // update for which it was; measured by the first in any case.
  double reconstruction = std::numeric_limits<double>::quiet_NaN();
  Index unstable_units = 0;  // see CheckStability
  double variety = 1;        // how much the chains' hidden units differ at their end, as a share of the data's
};

// The rows of a batch that are a rank's: the first, and how many.
std::pair<Index, Index> RowsOfRank(const Ranks& ranks, Index visible, Index hidden, Index batch);

// The paper's algorithms 3 and 4 (chains from noise), classic contrastive divergence (from the data) and persistent
// contrastive divergence (from where they were left, a share of them from noise).                     [math.md (31)]
class Contrastive {
 public:
  // The pool and the ranks must outlive it.
  // noise: the variance of what is added to the data.
  Contrastive(const TrainOptions& options, std::uint64_t seed, ThreadPool& pool, double noise = 0,
              SamplerHooks hooks = {}, Ranks& ranks = OneRank());
  ~Contrastive();

  // The mean of ∂E/∂θ over the data less its mean over the chains (of ∂Ẽ/∂θ where there are no hidden states), divided
  // by the temperature where the chains have a law: an estimate of the gradient of that law's negative log-likelihood; with
  // options.discriminative, and so much of the gradient of -log p(y | v) of the labels. Of a model with condition units, chain r
  // has the conditions of row r.
  // data: rows × visible, in the model's units, NaN where a value is missing; with several ranks, the rows that are this one's (RowsOfRank). `update` is the number of the update: with the seed it fixes every draw.
  // The result may be put into the memory of parameters that are no longer needed. `report`: whether all of report() is
  // wanted, the reconstruction, too, which is one product more. Where a hook throws, the chains of pcd are as they were.
  Parameters Gradient(const Model& model, SamplerOptions sampler, ConstMatrix data, std::uint64_t update,
                      Parameters memory = {}, bool report = true);

  const BatchReport& report() const { return report_; }
  // Of a model with condition units, the gradient in A at constant weights of these units: Gaussian × condition units.
  //                                                                                                     [math.md (82)]
  std::span<const double> shift_gradient() const { return shift_gradient_; }
  // The means of v and h over the data of the last gradient.
  const Offsets& data_means() const { return data_means_; }

  // With several ranks, each is asked once in every gradient, when sums are exchanged; answer(): what the first one said.
  void set_ask(std::function<double()> ask) { ask_ = std::move(ask); }
  double answer() const { return answer_; }

  // The share of each class in the data: needed where chains keep theirs.
  void set_label_shares(std::span<const double> shares);

  // The hidden states, one for each of this rank's rows, from which the next gradient goes on to draw what the rows lack; none:
  // it starts from noise.
  void set_gap_states(std::optional<BitMatrix> hidden) { gap_states_ = std::move(hidden); }
  // Where the last gradient ended, of the rows of all ranks, which must all ask for it; none where it started from noise.
  std::optional<BitMatrix> GapStates() const;

  // The chains that pcd goes on with; none before the first update. They are taken out of where they run.
  std::optional<Chains> chains() const;
  void set_chains(std::optional<Chains> chains);

 private:
  struct Crew;

  void Muster(const Model& model, const SamplerOptions& sampler, Index rows);
  void ForCrews(const std::function<void(Crew&)>& body);
  // All chains, of all ranks; and back.
  Chains Collect(const Model& model) const;
  void Distribute(const Chains& chains);

  void AddData(const Model& model, const SamplerOptions& sampler, ConstMatrix data, std::uint64_t update);
  // Sums that the gradient needs of each of this rank's pieces beside StateSums, and how many; of most models none.
  std::size_t OtherSize(const Model& model) const;
  std::vector<double> OtherSums(const Model& model, ConstMatrix data) const;
  void StartChains(std::uint64_t update);
  // Where chains keep their class: in the gradient in its bias what is expected of it given the data stands in place of theirs.
  //                                                                                                     [math.md (77)]
  void AddExpectedLabels(const Model& model, double counted);
  std::vector<double> LogWeights(const Model& model, const SamplerOptions& sampler, double now, double next,
                                 const Chains& chains);
  void Cool(const Model& model, const SamplerOptions& sampler, std::uint64_t first_step);
  void RunCrews(const Model& model, const SamplerOptions& sampler, std::uint64_t first_step);
  // The gradient from the sums of all pieces, and the report.
  void AddUp(const Model& model, ConstMatrix data, const GradientScale& scale, std::int64_t steps, bool report,
             Parameters& gradient);
  void Report(const Model& model, const Exchanged& all, std::int64_t steps, bool report);

  TrainOptions options_;
  std::uint64_t seed_;
  ThreadPool& pool_;
  double noise_;
  SamplerHooks hooks_;
  Ranks& ranks_;
  Law law_;
  std::unique_ptr<BatchSplit> split_;  // of the batch
  std::unique_ptr<Engine> data_;
  std::vector<std::unique_ptr<StateSums>> data_sums_;            // of this rank's pieces
  std::vector<std::unique_ptr<DiscriminativeSums>> label_sums_;  // of the same pieces, where they are wanted
  std::vector<std::unique_ptr<Crew>> crews_;
  bool persistent_ = false;     // whether the crews hold chains to go on with
  std::optional<Chains> kept_;  // chains to go on with in their place
  std::vector<double> label_log_shares_;
  std::vector<double> shift_gradient_;
  std::optional<BitMatrix> gap_states_;
  Matrix filled_;  // the rows of the update without gaps, where there were some
  BatchReport report_;
  Offsets data_means_;
  std::function<double()> ask_;
  double answer_ = 0;
};

}  // namespace grbm
