#include "grbm/sampler/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "grbm/model/energy.h"
#include "model/packed.h"
#include "model/state_sums.h"
#include "sampler/schedule.h"
#include "sampler/transition.h"

namespace grbm {

using kernels::PanelCount;
using kernels::PanelRow;
using kernels::Panels;
using kernels::Rows;

namespace {

std::size_t Size(Index value) { return static_cast<std::size_t>(value); }

// The table of samplers.
struct Entry {
  Method method;
  std::unique_ptr<Transition> (*make)(const Model&, const SamplerOptions&);
  Law (*law)(const SamplerOptions&);
};
constexpr Entry kSamplers[] = {
    {Method::kGibbs, MakeGibbs, GibbsLaw},
    {Method::kPartialGibbs, MakePartialGibbs, GibbsLaw},
    {Method::kGibbsLangevin, MakeGibbsLangevin, GibbsLangevinLaw},
    {Method::kLangevin, MakeLangevin, LangevinLaw},
};

const Entry& Find(Method method) { return *std::ranges::find(kSamplers, method, &Entry::method); }

// States of all chains, with what has been computed of them.
struct States {
  Panels visible;
  BitMatrix hidden;
  Panels probabilities;  // p(h | v) of the law, where wanted
  Panels product;        // W h, or W p(h|v)
  HiddenSums sums;       // where the rule of acceptance is kStep

  States() = default;
  States(Index rows, const Model& model, bool with_probabilities)
      : visible(rows, model.visible()),
        hidden(rows, model.hidden()),
        probabilities(with_probabilities ? rows : 0, model.hidden()),
        product(rows, model.visible()) {}

  bool Fits(Index rows, const Model& model, bool with_probabilities) const {
    return visible.rows() == rows && visible.cols() == model.visible() && hidden.units() == model.hidden() &&
           probabilities.rows() == (with_probabilities ? rows : 0);
  }
};

void CopyLines(const Panels& from, Index tile, Index row, Panels& to) {
  for (Index p = 0; p < kernels::GroupPanels(from.cols(), tile); ++p) {
    const Index panel = tile * kernels::kGroupPanels + p;
    std::copy_n(from.view().line(panel, row), kernels::kPanel, to.view().line(panel, row));
  }
}

}  // namespace

// The chains' states, and one step of them.
struct Sampler::Workspace {
  // What a step needs to know.
  struct Step {
    const Model& model;
    const PackedWeights& weights;
    const Transition& transition;
    Law law;
    bool adjust;  // this step
    bool sums;    // whether this step or the next is adjusted
    DrawPlace visible;
    DrawPlace hidden;
    DrawPlace accept;

    bool marginal() const { return transition.hidden() == Transition::Hidden::kProbability; }
    // Whether the product of a state, and its sums, are kept up to date, and not made when they are needed.
    bool keeps_all() const { return transition.acceptance() == Transition::Acceptance::kStep; }
  };

  explicit Workspace(ThreadPool& p) : pool(p) {}

  ThreadPool& pool;
  States now;
  States proposed;
  std::vector<std::uint8_t> accepted;
  Panels mean;  // of the last move, where wanted
  // The move, padded.
  PanelRow keep;
  PanelRow noise;
  std::vector<double> inverse_noise;
  std::vector<kernels::VisibleSums> visible_sums;  // by tile and row

  void Prepare(const Model& model, const Chains& chains, bool adjusted, bool with_probabilities, bool with_means) {
    const Index rows = chains.count();
    if (const Index wanted = with_means ? rows : 0; mean.rows() != wanted || mean.cols() != model.visible()) {
      mean = Panels(wanted, model.visible());
    }
    for (States* states : {&now, &proposed}) {
      const bool used = states == &now || adjusted;
      if (used && !states->Fits(rows, model, with_probabilities)) *states = States(rows, model, with_probabilities);
    }
    accepted.assign(Size(rows), 1);
    PackRows(chains.visible, now.visible, pool);
    CopyRows(chains.hidden, now.hidden);
  }

  void SetMove(const Move& move) {
    keep = PanelRow(move.keep);
    noise = PanelRow(move.noise);
    inverse_noise.assign(Size(PanelCount(static_cast<Index>(move.noise.size())) * kernels::kPanel), 0.0);
    for (std::size_t i = 0; i < move.noise.size(); ++i) {
      inverse_noise[i] = 0.5 / (double{move.noise[i]} * double{move.noise[i]});
    }
  }

  template <typename Body>
  void ForVisible(const Body& body) {
    ForTiles(now.visible.cols(), now.visible.rows(), pool, body);
  }

  // p(h | v) or h ~ p(h | v), and what else is wanted of v's logits.
  void UpdateHiddenOf(const Step& s, States& states, bool draw) {
    kernels::HiddenResult result;
    if (states.probabilities.rows() > 0) result.probabilities = states.probabilities;
    result.probability_scale = static_cast<float>(1 / s.law.hidden_temperature());
    if (!s.marginal()) result.bits = states.hidden;
    if (draw) {
      result.bits = states.hidden;
      result.draw = &s.hidden;
      result.inverse_temperature = static_cast<float>(1 / s.transition.hidden_temperature());
    }
    const bool sums = s.keeps_all() && s.sums;
    if (sums) states.sums.Prepare(states.visible.rows(), states.hidden.units(), result);
    UpdateHidden(s.weights, states.visible, result, pool);
    if (sums) states.sums.Finish();
  }
  // W h, or W p(h|v), of one tile.
  void UpdateProduct(const Step& s, States& states, Index tile, Rows rows) const {
    if (s.marginal()) {
      kernels::ProbabilityProduct(states.probabilities, s.weights.transposed(), tile, rows, states.product);
    } else {
      kernels::HiddenProduct(states.hidden, s.weights.transposed(), tile, rows, states.product);
    }
  }
  // m + keep (v - m), the mean of a move, of one tile.
  void MeanOfMove(const Step& s, Index tile, Rows rows) {
    for (Index p = 0; p < kernels::GroupPanels(mean.cols(), tile); ++p) {
      const Index panel = tile * kernels::kGroupPanels + p;
      const float* const mu = s.weights.mu().panel(panel);
      const float* const kept = keep.panel(panel);
      for (Index r = rows.first; r < rows.first + rows.count; ++r) {
        const float* const product = now.product.view().line(panel, r);
        const float* const v = now.visible.view().line(panel, r);
        float* const out = mean.view().line(panel, r);
        for (Index k = 0; k < kernels::kPanel; ++k) {
          const float m = mu[k] + product[k];
          out[k] = m + kept[k] * (v[k] - m);
        }
      }
    }
  }
  // v' = m + keep (v - m) + noise ξ, of one tile.
  void MoveVisible(const Step& s, States& to, Index tile, Rows rows) const {
    kernels::MoveVisible(s.visible, {s.weights.mu(), keep, noise}, now.visible, now.product, tile, rows, to.visible);
  }
  void SumVisible(const Step& s, const Panels& product_to, Index tile, Rows rows) {
    kernels::VisibleSums* const sums = visible_sums.data() + tile * now.visible.rows();
    std::fill_n(sums + rows.first, rows.count, kernels::VisibleSums());
    kernels::AddVisibleSums({now.visible, now.product, proposed.visible, product_to},
                            {s.weights.mu(), keep, s.weights.inverse_variance(), inverse_noise}, tile, rows, sums);
  }

  // What the first step needs of the first state.
  void Start(const Step& s) {
    const Index rows = now.visible.rows();
    if (s.transition.acceptance() != Transition::Acceptance::kNone) {
      visible_sums.resize(Size(kernels::GroupCount(now.visible.cols()) * rows));
    }
    if (s.marginal() || s.keeps_all()) UpdateHiddenOf(s, now, false);
    if (s.keeps_all()) ForVisible([&](Index tile, Rows range) { UpdateProduct(s, now, tile, range); });
  }

  void Decide(const Step& s) {
    const Index rows = now.visible.rows();
    for (Index r = 0; r < rows; ++r) {
      kernels::VisibleSums sum;
      for (Index tile = 0; tile < kernels::GroupCount(now.visible.cols()); ++tile) {
        const kernels::VisibleSums& part = visible_sums[Size(tile * rows + r)];
        sum.from += part.from;
        sum.to += part.to;
        sum.proposal += part.proposal;
        sum.conditional += part.conditional;
      }
      const auto state = [&](const States& states, double quadratic) {
        if (!s.keeps_all()) return StepSums::State{quadratic, 0, 0};
        return StepSums::State{quadratic, states.sums.active[Size(r)], states.sums.softplus[Size(r)]};
      };
      const double log_ratio =
          s.transition.LogAcceptance({state(now, sum.from), state(proposed, sum.to), sum.proposal, sum.conditional});
      const double u =
          s.accept.stream.UniformDouble(s.accept.step, s.accept.first_chain + static_cast<std::uint32_t>(r));
      accepted[Size(r)] = std::log(u) < log_ratio ? 1 : 0;
    }
  }

  // Calls body(row) for the rows that stay where they are.
  template <typename Body>
  void ForRejected(Rows rows, const Body& body) const {
    for (Index r = rows.first; r < rows.first + rows.count; ++r) {
      if (accepted[Size(r)] == 0) body(r);
    }
  }

  // The proposed states become the present ones, with those of the rejected rows put back.
  void TakeProposed() {
    const Rows all{0, now.visible.rows()};
    ForVisible([&](Index tile, Rows rows) {
      ForRejected(rows, [&](Index r) {
        CopyLines(now.visible, tile, r, proposed.visible);
        CopyLines(now.product, tile, r, proposed.product);
      });
    });
    pool.ParallelFor(now.hidden.view().groups(), [&](Index group) {
      ForRejected(all, [&](Index r) {
        proposed.hidden.view().word(r, group) = now.hidden.view().word(r, group);
        if (now.probabilities.rows() > 0) CopyLines(now.probabilities, group, r, proposed.probabilities);
      });
    });
    ForRejected(all, [&](Index r) {
      proposed.sums.active[Size(r)] = now.sums.active[Size(r)];
      proposed.sums.softplus[Size(r)] = now.sums.softplus[Size(r)];
    });
    std::swap(now, proposed);
  }

  void Advance(const Step& s) {
    switch (s.transition.acceptance()) {
      case Transition::Acceptance::kNone:
        ForVisible([&](Index tile, Rows rows) {
          UpdateProduct(s, now, tile, rows);
          if (mean.rows() > 0) MeanOfMove(s, tile, rows);
          MoveVisible(s, now, tile, rows);
        });
        UpdateHiddenOf(s, now, !s.marginal());
        break;
      case Transition::Acceptance::kVisible:
        ForVisible([&](Index tile, Rows rows) {
          UpdateProduct(s, now, tile, rows);
          MoveVisible(s, proposed, tile, rows);
          if (s.adjust) SumVisible(s, now.product, tile, rows);
        });
        if (s.adjust) {
          Decide(s);
          ForVisible([&](Index tile, Rows rows) {
            ForRejected(rows, [&](Index r) { CopyLines(now.visible, tile, r, proposed.visible); });
          });
        }
        std::swap(now.visible, proposed.visible);
        UpdateHiddenOf(s, now, true);
        break;
      case Transition::Acceptance::kStep:
        ForVisible([&](Index tile, Rows rows) { MoveVisible(s, proposed, tile, rows); });
        UpdateHiddenOf(s, proposed, !s.marginal());
        ForVisible([&](Index tile, Rows rows) {
          UpdateProduct(s, proposed, tile, rows);
          if (s.adjust) SumVisible(s, proposed.product, tile, rows);
        });
        if (s.adjust) {
          Decide(s);
          TakeProposed();
        } else {
          std::swap(now, proposed);
        }
        break;
    }
  }
};

Law LawOf(const SamplerOptions& options) { return Find(options.method).law(options); }

VisibleLaw VisibleLawOf(const Model& model, const SamplerOptions& options) {
  const Law law = LawOf(options);
  if (law.kind == Law::Kind::kMarginal) return {model, law.temperature};
  const double temperature = law.kind == Law::Kind::kNone ? options.temperature : law.temperature;
  return {temperature == 1 ? model : model.Tempered(temperature)};
}

std::string LawText(const SamplerOptions& options) {
  const char* const energy = LawOf(options).kind == Law::Kind::kMarginal ? "Ẽ" : "E";
  return options.temperature == 1 ? fmt::format("exp(-{})", energy)
                                  : fmt::format("exp(-{}/{})", energy, options.temperature);
}

Stability CheckStability(const Model& model, const SamplerOptions& options) {
  Stability stability;
  if (options.method != Method::kLangevin && options.method != Method::kGibbsLangevin) return stability;
  for (Index i = 0; i < model.visible(); ++i) {
    const double ratio = StepRatio(model, options, Size(i));
    if (ratio >= 2) ++stability.unstable;
    if (ratio > stability.ratio) {
      stability.ratio = ratio;
      stability.worst = i;
    }
  }
  return stability;
}

void RequireStable(const Model& model, const SamplerOptions& options) {
  const Stability stability = CheckStability(model, options);
  if (stability.unstable == 0) return;
  throw ConfigError(
      fmt::format("sampler: step_size = {}: a step diverges for {} of {} visible units, worst unit {} whose step is "
                  "{:.3g} of its variance; allowed is below 2: set step_size below {:.3g}, or step_scale = \"unit\"",
                  options.step_size, stability.unstable, model.visible(), stability.worst, stability.ratio,
                  2 * options.step_size / stability.ratio));
}

Sampler::Sampler(const Model& model, const SamplerOptions& options, ThreadPool& pool, OnUnstable on_unstable,
                 SamplerHooks hooks)
    : model_(&model),
      options_(options),
      pool_(pool),
      on_unstable_(on_unstable),
      hooks_(std::move(hooks)),
      workspace_(std::make_unique<Workspace>(pool)) {
  Set(model, options);
}

Sampler::~Sampler() = default;

void Sampler::Set(const Model& model, const SamplerOptions& options) {
  CheckOptions(options);
  options_ = options;
  if (on_unstable_ == OnUnstable::kThrow) RequireStable(model, options_);
  stability_ = CheckStability(model, options_);
  model_ = &model;
  transition_ = Find(options_.method).make(model, options_);
}

void RequireMeans(const SamplerOptions& options, bool of_probabilities) {
  const bool steps = options.method == Method::kLangevin || options.method == Method::kGibbsLangevin;
  const char* const wanted = !of_probabilities                                 ? "train.hidden = \"probability\""
                             : options.adjust != Adjust::kNone                 ? "sampler.adjust = \"none\""
                             : steps && options.step_scale != StepScale::kUnit ? "sampler.step_scale = \"unit\""
                                                                               : nullptr;
  if (wanted == nullptr) return;
  throw ConfigError(fmt::format(
      "train: visible = \"mean\": the mean of a step is known with {}: set it, or visible = \"sample\"", wanted));
}

std::vector<double> Sampler::Run(Chains& chains, const RunPlace& place, Observer* observer,
                                 EnergyStatistics* statistics) {
  CheckVisible(*model_, chains.visible, "chains");
  CheckHidden(*model_, chains.hidden, chains.count(), "chains");
  const auto steps = static_cast<std::uint64_t>(options_.steps);
  if (chains.count() > static_cast<Index>(std::numeric_limits<std::uint32_t>::max() - chains.first) ||
      place.first_step > Stream::kMaxStep - steps) {
    throw ConfigError(
        "sampler: chain or step numbers exceed the random streams: allowed are 2^32 chains, 2^56 "
        "steps");
  }
  if (chains.count() == 0) return {};
  if (hooks_.step) return RunHooked(chains, place, observer, statistics);

  Workspace& work = *workspace_;
  const bool marginal = transition_->hidden() == Transition::Hidden::kProbability;
  const bool of_probabilities = statistics != nullptr && statistics->hidden() == EnergyStatistics::Hidden::kProbability;
  if (statistics != nullptr && marginal && !of_probabilities) {
    throw ConfigError("sampler: langevin has no hidden states: its statistics must be of p(h | v)");
  }
  const bool of_means = statistics != nullptr && statistics->visible() == EnergyStatistics::Visible::kMean;
  if (of_means) RequireMeans(options_, of_probabilities);
  work.Prepare(*model_, chains, transition_->acceptance() != Transition::Acceptance::kNone,
               marginal || of_probabilities, of_means);
  const PackedWeights& weights = model_->packed(pool_);
  const auto step_at = [&](std::int64_t t) {
    work.SetMove(transition_->MoveAt(t));
    const auto draw = [&](Purpose purpose) {
      return DrawPlace{Stream(place.seed, purpose), place.first_step + static_cast<std::uint64_t>(t), chains.first};
    };
    return Workspace::Step{*model_,
                           weights,
                           *transition_,
                           law(),
                           t >= options_.adjust_after,
                           t + 1 >= options_.adjust_after,
                           draw(Purpose::kVisible),
                           draw(Purpose::kHidden),
                           draw(Purpose::kAccept)};
  };

  work.Start(step_at(0));
  std::vector<double> accepted_share;
  Matrix visible;  // for the observer
  for (std::int64_t t = 0; t < options_.steps; ++t) {
    if (hooks_.before_step) hooks_.before_step();
    work.Advance(step_at(t));
    accepted_share.push_back(static_cast<double>(std::ranges::count(work.accepted, 1)) /
                             static_cast<double>(chains.count()));
    if (t < place.burn_in) continue;
    if (of_means) {
      const double deviation = double{transition_->MoveAt(t).noise.front()};
      const StateSums::Noise noise = {.relative = deviation * deviation / double{model_->variance().front()}};
      statistics->sums().AddMeans(work.mean, noise, work.now.probabilities.view(), 1 / law().hidden_temperature(),
                                  pool_);
    } else if (statistics != nullptr && of_probabilities) {
      statistics->sums().Add(work.now.visible, work.now.probabilities.view(), pool_);
    } else if (statistics != nullptr) {
      statistics->sums().Add(work.now.visible, work.now.hidden.view(), pool_);
    }
    if (observer != nullptr) {
      if (visible.rows() == 0) visible = Matrix(chains.count(), model_->visible());
      UnpackRows(work.now.visible, visible, pool_);
      observer->OnStep({t + 1, chains.first, visible, marginal ? ConstBitView() : ConstBitView(work.now.hidden.view()),
                        work.accepted});
    }
  }

  // Langevin leaves a hidden state behind, too: drawn once, from p(h | v).
  if (marginal) work.UpdateHiddenOf(step_at(options_.steps - 1), work.now, true);
  UnpackRows(work.now.visible, chains.visible, pool_);
  CopyRows(work.now.hidden, chains.hidden);
  return accepted_share;
}

std::vector<double> Sampler::RunHooked(Chains& chains, const RunPlace& place, Observer* observer,
                                       EnergyStatistics* statistics) {
  if (statistics != nullptr && statistics->visible() == EnergyStatistics::Visible::kMean) {
    throw ConfigError("train: visible = \"mean\": the mean of a hooked step is not known: set visible = \"sample\"");
  }
  Chains now = chains;
  const std::vector<std::uint8_t> accepted(Size(now.count()), 1);
  for (std::int64_t t = 0; t < options_.steps; ++t) {
    if (hooks_.before_step) hooks_.before_step();
    hooks_.step(*model_, now, place.first_step + static_cast<std::uint64_t>(t));
    CheckVisible(*model_, now.visible, "hooked step");
    CheckHidden(*model_, now.hidden, chains.count(), "hooked step");
    const bool seen = t >= place.burn_in;
    if (seen && statistics != nullptr) {
      if (statistics->hidden() == EnergyStatistics::Hidden::kProbability) {
        statistics->Add(now.visible, pool_);
      } else {
        statistics->Add(now.visible, now.hidden, pool_);
      }
    }
    if (seen && observer != nullptr) observer->OnStep({t + 1, now.first, now.visible, now.hidden, accepted});
  }
  chains = std::move(now);
  return std::vector<double>(Size(options_.steps), 1.0);
}

namespace {

Chains WithHidden(const Model& model, Matrix visible, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                  std::uint64_t step, double hidden_temperature) {
  const DrawPlace draw{Stream(seed, Purpose::kInitialHidden), step, first};
  BitMatrix hidden = SampleHidden(model, visible, draw, pool, hidden_temperature);
  return {first, std::move(visible), std::move(hidden)};
}

}  // namespace

Chains ChainsFrom(const Model& model, ConstMatrix visible, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                  std::uint64_t step, double hidden_temperature) {
  Matrix copy(visible.rows(), visible.cols());
  CopyRows(visible, copy);
  return WithHidden(model, std::move(copy), seed, pool, first, step, hidden_temperature);
}

Chains NoiseChains(const Model& model, Index count, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                   std::uint64_t step, double hidden_temperature) {
  Matrix noise(count, model.visible());
  const Stream stream(seed, Purpose::kInitialVisible);
  constexpr Index kLeastDraws = 1 << 12;  // that are worth a thread
  pool.ParallelForRanges(count, kLeastDraws / model.visible(), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) kernels::DrawNormals({stream, step, first}, r, noise.row(r));
  });
  return WithHidden(model, std::move(noise), seed, pool, first, step, hidden_temperature);
}

Matrix FinalMean(const Model& model, ConstMatrix visible, ConstBitView hidden, const SamplerOptions& options,
                 ThreadPool& pool, const std::function<void(Matrix&)>& after_step) {
  if (options.final_steps == 0) return VisibleMean(model, hidden, pool);
  const double temperature = LawOf(options).hidden_temperature();
  Matrix v(visible.rows(), visible.cols());
  CopyRows(visible, v);
  for (std::int64_t t = 0; t < options.final_steps; ++t) {
    v = VisibleMean(model, HiddenProbabilities(model, v, pool, temperature), pool);
    if (after_step) after_step(v);
  }
  return v;
}

Matrix FinalVisible(const Model& model, const Chains& chains, const SamplerOptions& options, ThreadPool& pool) {
  return options.final == Final::kMean ? FinalMean(model, chains.visible, chains.hidden, options, pool)
                                       : chains.visible;
}

}  // namespace grbm
