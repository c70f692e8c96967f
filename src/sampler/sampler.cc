#include "grbm/sampler/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "grbm/model/energy.h"
#include "kernels/kernels.h"
#include "sampler/schedule.h"
#include "sampler/transition.h"

namespace grbm {

namespace {

std::size_t Size(Index value) { return static_cast<std::size_t>(value); }

// The table of samplers.
struct Entry {
  Method method;
  std::unique_ptr<Transition> (*make)(const Model&, const SamplerOptions&);
};
constexpr Entry kSamplers[] = {
    {Method::kGibbs, MakeGibbs},
    {Method::kPartialGibbs, MakePartialGibbs},
    {Method::kGibbsLangevin, MakeGibbsLangevin},
    {Method::kLangevin, MakeLangevin},
};

std::unique_ptr<Transition> MakeTransition(const Model& model, const SamplerOptions& options) {
  return std::ranges::find(kSamplers, options.method, &Entry::method)->make(model, options);
}

// States of all chains, with what has been computed of them.
struct States {
  Matrix visible;
  BitMatrix hidden;
  Matrix logits;
  Matrix product;  // W h, or W p(h|v)
  std::vector<RowEnergies> energies;

  States() = default;
  States(Index rows, const Model& model)
      : visible(rows, model.visible()),
        hidden(rows, model.hidden()),
        logits(rows, model.hidden()),
        product(rows, model.visible()),
        energies(Size(rows)) {}

  RowState Row(Index r) const { return {visible.row(r), product.row(r), energies[Size(r)]}; }

  void CopyRow(const States& from, Index r) {
    CopyRows(from.visible.view().Rows(r, 1), visible.view().Rows(r, 1));
    CopyRows(from.hidden.view().Rows(r, 1), hidden.view().Rows(r, 1));
    CopyRows(from.logits.view().Rows(r, 1), logits.view().Rows(r, 1));
    CopyRows(from.product.view().Rows(r, 1), product.view().Rows(r, 1));
    energies[Size(r)] = from.energies[Size(r)];
  }
};

}  // namespace

// The chains' states, and one step of a block of them.
struct Sampler::Workspace {
  kernels::RowBlocks blocks{0, 0};
  std::uint32_t first_chain = 0;
  States now;
  States proposed;
  std::vector<std::uint8_t> accepted;

  // What a step needs to know.
  struct Step {
    const Model& model;
    const Transition& transition;
    const Move& move;
    std::uint64_t place;  // in the random streams
    bool adjust;
    Stream visible;
    Stream hidden;
    Stream accept;

    bool marginal() const { return transition.hidden() == Transition::Hidden::kProbability; }
  };

  void Prepare(const Model& model, const Chains& chains, bool adjusted) {
    const Index rows = chains.count();
    const auto fits = [&](const States& states) {
      return states.visible.rows() == rows && states.visible.cols() == model.visible() &&
             states.hidden.units() == model.hidden();
    };
    if (!fits(now)) now = States(rows, model);
    if (adjusted && !fits(proposed)) proposed = States(rows, model);
    accepted.assign(Size(rows), 1);
    first_chain = chains.first;
    blocks = kernels::RowBlocks(first_chain, rows);
    CopyRows(chains.visible, now.visible);
    CopyRows(chains.hidden, now.hidden);
  }

  template <typename View>
  auto Rows(View&& matrix, Index block) const {
    return matrix.view().Rows(blocks.begin(block), blocks.end(block) - blocks.begin(block));
  }
  template <typename Body>
  void ForChains(Index block, const Body& body) const {
    for (Index r = blocks.begin(block); r < blocks.end(block); ++r) body(r);
  }
  std::uint32_t Chain(Index row) const { return first_chain + static_cast<std::uint32_t>(row); }

  // x = b + Wᵀ(v/σ²).
  void UpdateLogits(const Step& s, States& states, Index block) const {
    kernels::Logits(Rows(states.visible, block), s.model.inverse_variance(), s.model.W(), s.model.b(),
                    Rows(states.logits, block), blocks.lead_of(block));
  }
  // W h, or W p(h|v).
  void UpdateProduct(const Step& s, States& states, Index block) const {
    if (s.marginal()) {
      kernels::ProbabilityProduct(Rows(states.logits, block), s.model.W(), Rows(states.product, block),
                                  blocks.lead_of(block));
    } else {
      kernels::HiddenProduct(Rows(states.hidden, block), s.model.W(), Rows(states.product, block),
                             blocks.lead_of(block));
    }
  }
  void UpdateEnergies(const Step& s, States& states, Index block) const {
    ForChains(block, [&](Index r) {
      states.energies[Size(r)] =
          s.marginal() ? MarginalEnergies(s.model, states.visible.row(r), states.logits.row(r))
                       : JointEnergies(s.model, states.visible.row(r), states.logits.row(r), states.hidden, r);
    });
  }

  // v' = m + keep (v - m) + noise ξ.
  void MoveVisible(const Step& s, States& to, Index block) const {
    static thread_local std::vector<float> xi;
    xi.resize(Size(s.model.visible()));
    ForChains(block, [&](Index r) {
      kernels::DrawNormals({s.visible, s.place, Chain(r)}, xi);
      const std::span<const float> v = now.visible.row(r);
      const std::span<const float> product = now.product.row(r);
      const std::span<float> out = to.visible.row(r);
      for (std::size_t i = 0; i < xi.size(); ++i) {
        const float mean = s.model.mu()[i] + product[i];
        out[i] = mean + s.move.keep[i] * (v[i] - mean) + s.move.noise[i] * xi[i];
      }
    });
  }

  // h ~ p(h | v).
  void DrawHidden(const Step& s, States& states, Index block) const {
    const auto inverse_temperature = static_cast<float>(1 / s.transition.hidden_temperature());
    ForChains(block, [&](Index r) {
      kernels::DrawBernoulli({s.hidden, s.place, Chain(r)}, states.logits.row(r), inverse_temperature, states.hidden,
                             r);
    });
  }

  // All that follows from v.
  void UpdateFromVisible(const Step& s, States& states, Index block) const {
    UpdateLogits(s, states, block);
    if (!s.marginal()) DrawHidden(s, states, block);
    UpdateProduct(s, states, block);
    if (s.transition.acceptance() == Transition::Acceptance::kStep) UpdateEnergies(s, states, block);
  }

  bool Accept(const Step& s, Index r) {
    const double log_ratio = s.transition.LogAcceptance(s.move, now.Row(r), proposed.Row(r));
    const bool accept = std::log(s.accept.UniformDouble(s.place, Chain(r))) < log_ratio;
    accepted[Size(r)] = accept ? 1 : 0;
    return accept;
  }

  void Advance(const Step& s, Index block) {
    switch (s.adjust ? s.transition.acceptance() : Transition::Acceptance::kNone) {
      case Transition::Acceptance::kNone:
        MoveVisible(s, now, block);
        UpdateFromVisible(s, now, block);
        break;
      case Transition::Acceptance::kVisible:
        MoveVisible(s, proposed, block);
        CopyRows(Rows(now.product, block), Rows(proposed.product, block));
        ForChains(block, [&](Index r) {
          if (Accept(s, r)) CopyRows(proposed.visible.view().Rows(r, 1), now.visible.view().Rows(r, 1));
        });
        UpdateFromVisible(s, now, block);
        break;
      case Transition::Acceptance::kStep:
        MoveVisible(s, proposed, block);
        UpdateFromVisible(s, proposed, block);
        ForChains(block, [&](Index r) {
          if (Accept(s, r)) now.CopyRow(proposed, r);
        });
        break;
    }
  }
};

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

Sampler::Sampler(const Model& model, const SamplerOptions& options, ThreadPool& pool, OnUnstable on_unstable)
    : model_(&model),
      options_(options),
      pool_(pool),
      on_unstable_(on_unstable),
      workspace_(std::make_unique<Workspace>()) {
  Set(model, options);
}

Sampler::~Sampler() = default;

void Sampler::Set(const Model& model, const SamplerOptions& options) {
  CheckOptions(options);
  options_ = options;
  stability_ = CheckStability(model, options_);
  if (stability_.unstable > 0 && on_unstable_ == OnUnstable::kThrow) {
    throw ConfigError(
        fmt::format("sampler: step_size = {}: a step diverges for {} of {} visible units, worst unit {} whose "
                    "step is {:.3g} of its "
                    "variance; allowed is below 2: set step_size below {:.3g}, or step_scale = \"unit\"",
                    options_.step_size, stability_.unstable, model.visible(), stability_.worst, stability_.ratio,
                    2 * options_.step_size / stability_.ratio));
  }
  model_ = &model;
  transition_ = MakeTransition(model, options_);
}

std::vector<double> Sampler::Run(Chains& chains, const RunPlace& place, Observer* observer) {
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

  Workspace& work = *workspace_;
  const Transition::Acceptance acceptance = transition_->acceptance();
  work.Prepare(*model_, chains, acceptance != Transition::Acceptance::kNone);
  const auto step_at = [&](std::int64_t t) {
    return Workspace::Step{*model_,
                           *transition_,
                           transition_->MoveAt(t),
                           place.first_step + static_cast<std::uint64_t>(t),
                           t >= options_.adjust_after,
                           Stream(place.seed, Purpose::kVisible),
                           Stream(place.seed, Purpose::kHidden),
                           Stream(place.seed, Purpose::kAccept)};
  };

  // The first state: what the first move needs of it.
  const Workspace::Step first = step_at(0);
  const bool energies = acceptance == Transition::Acceptance::kStep;
  pool_.ParallelFor(work.blocks.count(), [&](Index block) {
    if (first.marginal() || energies) work.UpdateLogits(first, work.now, block);
    work.UpdateProduct(first, work.now, block);
    if (energies) work.UpdateEnergies(first, work.now, block);
  });

  std::vector<double> accepted_share;
  for (std::int64_t t = 0; t < options_.steps; ++t) {
    const Workspace::Step step = step_at(t);
    pool_.ParallelFor(work.blocks.count(), [&](Index block) { work.Advance(step, block); });

    accepted_share.push_back(static_cast<double>(std::ranges::count(work.accepted, 1)) /
                             static_cast<double>(chains.count()));
    if (observer != nullptr && t >= place.burn_in) {
      observer->OnStep({t + 1, chains.first, work.now.visible,
                        step.marginal() ? ConstBitView() : ConstBitView(work.now.hidden.view()), work.now.logits,
                        work.accepted});
    }
  }

  // Langevin leaves a hidden state behind, too: drawn once, from p(h | v).
  if (first.marginal()) {
    const Workspace::Step last = step_at(options_.steps - 1);
    pool_.ParallelFor(work.blocks.count(), [&](Index block) { work.DrawHidden(last, work.now, block); });
  }
  CopyRows(work.now.visible, chains.visible);
  CopyRows(work.now.hidden, chains.hidden);
  return accepted_share;
}

Chains ChainsFrom(const Model& model, ConstMatrix visible, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                  std::uint64_t step) {
  Chains chains;
  chains.first = first;
  chains.visible = Matrix(visible.rows(), visible.cols());
  CopyRows(visible, chains.visible);
  chains.hidden = SampleHidden(model, chains.visible, {Stream(seed, Purpose::kInitialHidden), step, first}, pool);
  return chains;
}

Chains NoiseChains(const Model& model, Index count, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                   std::uint64_t step) {
  Matrix noise(count, model.visible());
  const Stream stream(seed, Purpose::kInitialVisible);
  pool.ParallelFor(count, [&](Index r) {
    kernels::DrawNormals({stream, step, first + static_cast<std::uint32_t>(r)}, noise.row(r));
  });
  return ChainsFrom(model, noise, seed, pool, first, step);
}

Matrix FinalVisible(const Model& model, const Chains& chains, const SamplerOptions& options, ThreadPool& pool) {
  return options.final == Final::kMean ? VisibleMean(model, chains.hidden, pool, chains.first) : chains.visible;
}

}  // namespace grbm
