// Chains on the CPU. Their states stay in the engine, in the layout of the kernels, from the first step to the last: what is
// above it loads or starts chains, lets them step, adds their states up and stores them, and knows no layout.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grbm/sampler/sampler.h"
#include "grbm/sampler/transition.h"
#include "model/packed.h"
#include "model/state_sums.h"

namespace grbm {

// Independent Gaussians, by visible unit.
struct UnitGaussians {
  std::span<const float> mean;
  std::span<const float> inverse_variance;
};

class Engine {
 public:
  // The pool must outlive it.
  explicit Engine(ThreadPool& pool);
  ~Engine();

  // How chains move from now on; their states stay. The model must outlive the next step.
  void Set(const Model& model, const SamplerOptions& options, Law law);
  const Model& model() const { return *model_; }
  const SamplerOptions& options() const { return options_; }
  const Transition& transition() const { return *transition_; }
  ThreadPool& pool() const { return pool_; }
  // Whether chains have no hidden state: p(h | v) stands for it.
  bool marginal() const { return transition_->hidden() == Transition::Hidden::kProbability; }

  // What is kept of each step beside the states, for statistics.
  struct Extras {
    bool probabilities = false;  // p(h | v) of the law
    bool means = false;          // of the visible units, given the step before
    bool logits = false;         // of v, where h is drawn given it
  };
  void Keep(Extras extras);

  // --- states

  Index count() const { return now_.visible.rows(); }
  std::uint32_t first() const { return first_; }
  kernels::ConstPanelView visible() const { return now_.visible; }
  ConstBitView hidden() const { return now_.hidden; }
  // Room for chains first, first + 1, ...; their states are for others to set.
  void Resize(std::uint32_t first, Index count);
  void Load(ConstMatrix visible, ConstBitView hidden);
  void LoadVisible(ConstMatrix visible);
  void LoadHidden(ConstBitView hidden);
  // With noise of a variance.
  void LoadNoisy(ConstMatrix visible, double variance, const Stream& stream, std::uint64_t step);
  // The visible units that are known: those that are not NaN.
  void PutBack(ConstMatrix known);
  // Those of another engine, from its row `first` on; and the conditions among them alone.
  void CopyVisible(const Engine& from, Index first);
  void CopyConditions(const Engine& from, Index first);
  void Store(MutableMatrix visible, BitView hidden) const;
  void StoreVisible(MutableMatrix visible) const;
  // v ~ N(0, 1), and h ~ p(h | v) at a temperature, of some rows.
  void DrawNoise(const Stream& stream, std::uint64_t step, kernels::Rows rows);
  void DrawHidden(const Stream& stream, std::uint64_t step, double temperature, kernels::Rows rows);
  // Of a share of these rows, in place of noise that is there: v ~ p(v | h) with each unit of h on at a rate of the row's own,
  // uniform from 0 to 1.                                                                                [math.md (86)]
  void DrawFar(std::uint64_t seed, std::uint64_t step, double share, kernels::Rows rows);
  // Every class alike; or a given one.
  void DrawUniformLabels(const Stream& stream, std::uint64_t step, kernels::Rows rows);
  void PutLabel(Index row, Index label);
  // log p(y | v) of the law, of all classes, where logits are kept: chains × classes.                    [math.md (72)]
  BasicMatrix<double> LabelLogs() const;
  // p(h | v) of the law, where it is kept.
  void UpdateProbabilities();
  // μ + W p(h | v) where that is kept, otherwise μ + W h: chains × visible.
  Matrix MeanVisible() const;

  // --- steps

  // Before the first step of a run, after each but the last, and after the last.
  void Begin(const RunPlace& place);
  void Step(const RunPlace& place, std::int64_t step);
  void End(const RunPlace& place);
  // The first half of a step without adjustment: v moves, with draws at `number` of the stream, and h is left as it is. Of
  // models without labels.
  void MoveFreely(const Stream& stream, std::uint64_t number, std::int64_t step);
  // By chain: 1 where the last move was made, 0 where it was rejected.
  std::span<const std::uint8_t> accepted() const { return accepted_; }

  // --- laws between independent Gaussians, with classes that are all alike, and a model: f_β = base^(1-β) exp(-βE)
  //                                                                                                    [math.md (34)]

  // Of the chains that are here. What it points to must outlive its use.
  void SetBase(UnitGaussians base);
  // v, and a class where there are any, given h of the law at beta, above 0, with draws at `number` of the streams.
  void DrawVisibleAt(double beta, const Stream& stream, const Stream& labels, std::uint64_t number);
  // h given v of the law at `to`. Returns log f_to(v) - log f_from(v), with h summed out, by chain.      [math.md (35)]
  std::vector<double> DrawHiddenAt(double from, double to, const Stream& stream, std::uint64_t number);

  // --- sums

  // Adds the states of some rows, or what the sums want in their place: what was expected of them before the last step.
  void AddTo(StateSums& sums, kernels::Rows rows) const;
  void AddStatesTo(StateSums& sums, kernels::Rows rows) const;
  // Adds what is expected of states with that variance around `mean`, and p(h | v) of those here. With room for means.
  void AddExpectedTo(StateSums& sums, kernels::Rows rows, ConstMatrix mean, double variance);

 private:
  // All chains' states, with what has been computed of them.
  struct States {
    kernels::Panels visible;
    BitMatrix hidden;
    kernels::Panels probabilities;  // p(h | v) of the law, where wanted
    kernels::Panels product;        // W h, or W p(h|v)
    HiddenSums sums;                // where the rule of acceptance is kStep
  };
  // What one step needs to know beside the model.
  struct StepPlace {
    bool adjust;  // this step
    bool sums;    // whether this step or the next is adjusted
    DrawPlace visible;
    DrawPlace hidden;
    DrawPlace accept;
    DrawPlace label;
  };

  kernels::Rows all() const { return {0, count()}; }
  // Whether the product of a state, and its sums, are kept up to date, and not made when they are needed.
  bool keeps_all() const { return transition_->acceptance() == Transition::Acceptance::kStep; }
  void Fit(States& states) const;
  StepPlace PlaceOf(const RunPlace& place, std::int64_t step) const;
  void SetMove(const Move& move);

  template <typename Body>
  void ForVisible(const Body& body) const {
    ForTiles(now_.visible.cols(), count(), pool_, body);
  }
  void UpdateHiddenOf(const StepPlace& s, States& states, bool draw);
  void UpdateProduct(States& states, Index tile, kernels::Rows rows) const;
  void MeanOfMove(Index tile, kernels::Rows rows);
  void MoveVisible(const StepPlace& s, States& to, Index tile, kernels::Rows rows) const;
  void UpdateLogits();
  bool draws_labels() const { return model_->label_units() > 0 && !options_.keep_labels; }
  void DrawLabels(const DrawPlace& place, double temperature);
  void SumVisible(const kernels::Panels& product_to, Index tile, kernels::Rows rows);
  void Decide(const StepPlace& s);
  template <typename Body>
  void ForRejected(kernels::Rows rows, const Body& body) const;
  void TakeProposed();
  void StepFreely(const StepPlace& s);
  void StepVisible(const StepPlace& s);
  void StepWhole(const StepPlace& s);

  ThreadPool& pool_;
  const Model* model_ = nullptr;
  SamplerOptions options_;
  Law law_;
  std::unique_ptr<Transition> transition_;
  Extras extras_;
  std::uint32_t first_ = 0;
  States now_;
  States proposed_;
  std::vector<std::uint8_t> accepted_;
  kernels::Panels mean_;    // of the last move, where wanted
  kernels::Panels logits_;  // where wanted; of v without its label, for draws of labels given v; of v, for laws between
  UnitGaussians base_;
  kernels::Panels anchor_;  // its mean, in every row
  // The move, padded.
  bool has_move_ = false;
  double variance_share_ = 0;  // of the first unit's move: noise²/σ²
  kernels::PanelRow keep_;
  kernels::PanelRow noise_;
  std::vector<double> inverse_noise_;
  std::vector<kernels::VisibleSums> visible_sums_;  // by tile and row
};

// Throws ConfigError where random streams have no numbers for such a run.
void CheckRun(const SamplerOptions& options, std::uint32_t first, Index count, const RunPlace& place);

// Sums of some of an engine's rows.
struct RowSums {
  kernels::Rows rows;
  StateSums* sums;
};

// Runs an engine's chains for options().steps steps. Returns how many moves were accepted at each step. After the burn-in,
// the observer sees every state, and `sums` of one kind take it in. Throws ConfigError where the chains have not what the
// sums are of.
std::vector<Index> RunChains(Engine& engine, const RunPlace& place, const SamplerHooks& hooks, Observer* observer,
                             std::span<const RowSums> sums = {});

}  // namespace grbm
