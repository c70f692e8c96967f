#include "grbm/train/contrastive.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "grbm/model/energy.h"
#include "grbm/sampler/transition.h"
#include "sampler/engine.h"

namespace grbm {

namespace {

// The chains of models with fewer weights than kLargeModel run in crews that never wait for each other within an update.
// A step of a small model is too short to be shared: its crews are of at most kCrewRows chains, a thread for each. Others
// run in two halves, with half of the threads for each. The crews depend on the model and the number of chains alone,
// and their sums are added in order, so that threads leave no trace.
constexpr Index kLargeModel = 1 << 20;
constexpr Index kSmallModel = 1 << 15;
constexpr Index kCrewRows = 50;

std::size_t Size(Index value) { return static_cast<std::size_t>(value); }

// How many rows have each hidden unit on.
void CountOn(ConstBitView h, std::vector<Index>& on) {
  on.resize(Size(h.units()));
  for (Index g = 0; g < h.groups(); ++g) {
    for (Index r = 0; r < h.rows(); ++r) {
      for (std::uint64_t word = h.word(r, g); word != 0; word &= word - 1) {
        ++on[Size(g * ConstBitView::kGroup + std::countr_zero(word))];
      }
    }
  }
}

// The mean over hidden units of the variance of each between rows.
double Spread(std::span<const Index> on, Index rows) {
  double sum = 0;
  for (const Index count : on) {
    const double share = static_cast<double>(count) / static_cast<double>(rows);
    sum += share * (1 - share);
  }
  return sum / static_cast<double>(on.size());
}

// The part of a chain that begins after `done` of its steps.
SamplerOptions PartOfChain(SamplerOptions options, std::int64_t done, std::int64_t steps) {
  options.steps = steps;
  options.adjust_after = std::max<std::int64_t>(0, options.adjust_after - done);
  return options;
}

// Each chain as often as its weight says, to within one: n marks at equal distances, the first at `start` of a
// distance, on the line of all weights.
Chains Resample(const Chains& chains, std::span<const double> log_weights, double start) {
  const double largest = std::ranges::max(log_weights);
  std::vector<double> ends;
  for (const double w : log_weights) ends.push_back((ends.empty() ? 0 : ends.back()) + std::exp(w - largest));
  Chains out = chains;
  Index from = 0;
  for (Index r = 0; r < chains.count(); ++r) {
    const double mark = (static_cast<double>(r) + start) / static_cast<double>(chains.count()) * ends.back();
    while (from + 1 < chains.count() && ends[Size(from)] <= mark) ++from;
    CopyRows(chains.visible.view().Rows(from, 1), out.visible.view().Rows(r, 1));
    CopyRows(chains.hidden.view().Rows(from, 1), out.hidden.view().Rows(r, 1));
  }
  return out;
}

}  // namespace

// Chains that run on their own from the first step to the last.
struct Contrastive::Crew {
  Crew(ThreadPool& shared, int threads, const StateSums& like)
      : own(threads > 0 ? std::make_unique<ThreadPool>(threads) : nullptr),
        pool(own ? *own : shared),
        engine(pool),
        sums(like.model(), like.hidden(), like.visible()) {}

  std::unique_ptr<ThreadPool> own;
  ThreadPool& pool;
  Engine engine;
  StateSums sums;
  std::vector<Index> accepted;
};

Contrastive::Contrastive(const TrainOptions& options, std::uint64_t seed, ThreadPool& pool, double noise,
                         SamplerHooks hooks)
    : options_(options),
      seed_(seed),
      pool_(pool),
      noise_(noise),
      hooks_(std::move(hooks)),
      data_(std::make_unique<Engine>(pool)) {}
Contrastive::~Contrastive() = default;

std::optional<Chains> Contrastive::chains() const {
  if (kept_) return kept_;
  if (!persistent_) return {};
  return Collect();
}

void Contrastive::set_chains(std::optional<Chains> chains) {
  kept_ = std::move(chains);
  persistent_ = false;
}

Chains Contrastive::Collect() const {
  Index rows = 0;
  for (const auto& crew : crews_) rows += crew->engine.count();
  const Model& model = crews_.front()->engine.model();
  Chains chains{0, Matrix(rows, model.visible()), BitMatrix(rows, model.hidden())};
  for (const auto& crew : crews_) {
    const auto [first, count] = std::pair(Index{crew->engine.first()}, crew->engine.count());
    crew->engine.Store(chains.visible.view().Rows(first, count), chains.hidden.view().Rows(first, count));
  }
  return chains;
}

void Contrastive::Distribute(const Chains& chains) {
  ForCrews([&](Crew& crew) {
    const auto [first, count] = std::pair(Index{crew.engine.first()}, crew.engine.count());
    crew.engine.Load(chains.visible.view().Rows(first, count), chains.hidden.view().Rows(first, count));
  });
}

void Contrastive::ForCrews(const std::function<void(Crew&)>& body) {
  pool_.ParallelFor(static_cast<Index>(crews_.size()), [&](Index k) { body(*crews_[Size(k)]); });
}

// Crews for so many chains.
void Contrastive::Muster(const Model& model, const SamplerOptions& sampler, Index rows) {
  const Index weights = model.visible() * model.hidden();
  const bool small = weights < kSmallModel;
  const bool one = weights >= kLargeModel || hooks_.step;
  const Index count = one ? 1 : small ? (rows + kCrewRows - 1) / kCrewRows : std::min<Index>(2, rows);
  const int threads = one ? 0 : small ? 1 : std::max(1, pool_.threads() / 2);
  if (static_cast<Index>(crews_.size()) != count || crew_rows_ != rows) {
    if (persistent_) persistent_ = false;
    crews_.clear();
    for (Index k = 0; k < count; ++k) crews_.push_back(std::make_unique<Crew>(pool_, threads, *sums_));
    crew_rows_ = rows;
  }
  const Index each = (rows + count - 1) / count;
  for (Index k = 0; k < count; ++k) {
    Engine& engine = crews_[Size(k)]->engine;
    engine.Set(model, sampler, law_);
    engine.Resize(static_cast<std::uint32_t>(k * each), std::min(each, rows - k * each));
  }
}

void Contrastive::StartChains(std::uint64_t update) {
  if (kept_ && kept_->count() == crew_rows_) Distribute(*kept_);
  const bool go_on = persistent_ || (kept_ && kept_->count() == crew_rows_);
  kept_.reset();
  if (options_.algorithm == Algorithm::kPcd && (hooks_.before_step || hooks_.step) && go_on) kept_ = Collect();
  persistent_ = false;
  const double temperature = law_.hidden_temperature();
  const Stream noise(seed_, Purpose::kInitialVisible);
  const Stream bits(seed_, Purpose::kInitialHidden);
  const Stream restart(seed_, Purpose::kRestart);
  ForCrews([&](Crew& crew) {
    Engine& engine = crew.engine;
    const auto from_noise = [&](kernels::Rows rows) {
      engine.DrawNoise(noise, update, rows);
      engine.DrawHidden(bits, update, temperature, rows);
    };
    if (options_.algorithm == Algorithm::kCd) {
      engine.CopyVisible(*data_, engine.first());
      engine.DrawHidden(bits, update, temperature, {0, engine.count()});
    } else if (options_.algorithm == Algorithm::kNoiseCd || !go_on) {
      from_noise({0, engine.count()});
    } else {
      for (Index r = 0; r < engine.count(); ++r) {
        const double u = restart.UniformDouble(update, engine.first() + static_cast<std::uint32_t>(r));
        if (u < options_.restart_fraction) from_noise({r, 1});
      }
    }
  });
}

// How much more the law of the model at temperature `next` weighs each chain than that at `now`.
std::vector<double> Contrastive::LogWeights(const Model& model, const SamplerOptions& sampler, double now, double next,
                                            const Chains& chains) {
  const Law law = LawOf(sampler);
  if (law.kind == Law::Kind::kMarginal && law.temperature != 1) {
    // exp(-Ẽ/τ) is a law of v alone; at τ = 1 it has (v, h) of exp(-E) as well, and E will do.
    std::vector<double> log_weights = MarginalEnergies(model.Tempered(now), chains.visible, pool_);
    const std::vector<double> colder = MarginalEnergies(model.Tempered(next), chains.visible, pool_);
    for (std::size_t r = 0; r < colder.size(); ++r) log_weights[r] = (log_weights[r] - colder[r]) / law.temperature;
    return log_weights;
  }
  std::vector<double> log_weights = Energies(model, chains.visible, chains.hidden, pool_);
  const double colder = (1 / next - 1 / now) / sampler.temperature;
  for (double& w : log_weights) w *= -colder;
  return log_weights;
}

// Population annealing: one step of the model at each temperature, after which chains give way to others by how much
// more the next temperature weighs them.                                                              [math.md (45)]
void Contrastive::Cool(const Model& model, const SamplerOptions& sampler, std::uint64_t first_step) {
  const auto temperature = [&](std::int64_t t) {
    const double left = 1 - static_cast<double>(t) / static_cast<double>(options_.burn_in);
    return std::pow(options_.start_temperature, left);
  };
  const Stream stream(seed_, Purpose::kResample);
  for (std::int64_t t = 0; t < options_.burn_in; ++t) {
    const std::uint64_t step = first_step + static_cast<std::uint64_t>(t);
    const Model hot = model.Tempered(temperature(t));
    const SamplerOptions one = PartOfChain(sampler, t, 1);
    ForCrews([&](Crew& crew) {
      crew.engine.Set(hot, one, law_);
      crew.accepted.push_back(
          RunChains(crew.engine, {.seed = seed_, .first_step = step}, hooks_, nullptr, nullptr).front());
    });
    const Chains chains = Collect();
    const std::vector<double> log_weights = LogWeights(model, sampler, temperature(t), temperature(t + 1), chains);
    Distribute(Resample(chains, log_weights, stream.UniformDouble(step, 0)));
  }
  const SamplerOptions rest = PartOfChain(sampler, options_.burn_in, sampler.steps - options_.burn_in);
  ForCrews([&](Crew& crew) { crew.engine.Set(model, rest, law_); });
}

Parameters Contrastive::Gradient(const Model& model, const SamplerOptions& sampler, ConstMatrix data,
                                 std::uint64_t update, Parameters memory, bool report) {
  CheckOptions(sampler);
  CheckVisible(model, data, "data");
  const RunPlace whole{.seed = seed_, .first_step = update * static_cast<std::uint64_t>(sampler.steps)};
  CheckRun(sampler, 0, data.rows(), whole);
  law_ = hooks_.step ? Law{} : LawOf(sampler);
  if (!sums_) {
    const bool probability = FindSampler(sampler.method).marginal || options_.hidden == HiddenKind::kProbability;
    sums_ = std::make_unique<StateSums>(
        model, probability ? StateSums::Hidden::kProbability : StateSums::Hidden::kState,
        options_.visible == VisibleKind::kMean ? StateSums::Visible::kMean : StateSums::Visible::kState);
  } else {
    sums_->Reset(model, pool_);
  }
  report_.unstable_units = CheckStability(model, sampler).unstable;

  // Step 1. The positive phase: v from the data, h ~ p(h | v) of the chains' law.
  AddData(model, sampler, data, update, report);

  // Step 2. The negative phase: the mean over all steps of the chains after the burn-in. The data counts against it as
  // often as there are such steps, so that one set of sums will do.
  const auto counted = static_cast<double>(sampler.steps - options_.burn_in);
  sums_->Scale(-counted, pool_);
  Muster(model, sampler, data.rows());
  StartChains(update);
  RunCrews(model, sampler, whole.first_step);
  persistent_ = options_.algorithm == Algorithm::kPcd;
  kept_.reset();

  if (memory.W.rows() != model.visible() || memory.W.cols() != model.hidden()) {
    memory = Parameters(model.visible(), model.hidden());
  }
  // Step 3. Of exp(-E/τ), the energy is E/τ.
  const double scale = law_.temperature * static_cast<double>(data.rows()) * counted;
  sums_->Gradient(-1 / scale, memory, pool_);
  return memory;
}

void Contrastive::RunCrews(const Model& model, const SamplerOptions& sampler, std::uint64_t first_step) {
  RunPlace place{.seed = seed_, .first_step = first_step, .burn_in = options_.burn_in};
  for (const auto& crew : crews_) crew->accepted.clear();
  if (options_.start_temperature > 1) {
    Cool(model, sampler, first_step);
    place.first_step += static_cast<std::uint64_t>(options_.burn_in);
    place.burn_in = 0;
  }
  const bool one = crews_.size() == 1;
  ForCrews([&](Crew& crew) {
    StateSums& sums = one ? *sums_ : crew.sums;
    if (!one) sums.Reset(model, crew.pool);
    const std::vector<Index> accepted = RunChains(crew.engine, place, hooks_, nullptr, &sums);
    crew.accepted.insert(crew.accepted.end(), accepted.begin(), accepted.end());
  });
  Index accepted = 0;
  std::vector<Index> on;
  for (const auto& crew : crews_) {
    if (!one) sums_->Add(crew->sums, pool_);
    accepted += std::accumulate(crew->accepted.begin(), crew->accepted.end(), Index{0});
    CountOn(crew->engine.hidden(), on);
  }
  report_.acceptance = static_cast<double>(accepted) / static_cast<double>(crew_rows_ * sampler.steps);
  report_.variety = data_spread_ > 0 ? Spread(on, crew_rows_) / data_spread_ : 1;
}

void Contrastive::AddData(const Model& model, const SamplerOptions& sampler, ConstMatrix data, std::uint64_t update,
                          bool report) {
  Engine& engine = *data_;
  engine.Set(model, sampler, law_);
  engine.Resize(0, data.rows());
  engine.Keep({.probabilities = sums_->hidden() == StateSums::Hidden::kProbability});
  if (noise_ > 0) {
    engine.LoadNoisy(data, noise_, Stream(seed_, Purpose::kNoise), update);
  } else {
    engine.LoadVisible(data);
  }
  engine.DrawHidden(Stream(seed_, Purpose::kPositiveHidden), update, law_.hidden_temperature(), {0, data.rows()});
  if (noise_ > 0 && sums_->visible() == StateSums::Visible::kMean) {
    engine.AddExpected(data, noise_, *sums_);
  } else {
    engine.AddStatesTo(*sums_);
  }
  data_means_ = {sums_->MeanVisible(), sums_->MeanHidden()};
  std::vector<Index> on;
  CountOn(engine.hidden(), on);
  data_spread_ = Spread(on, data.rows());
  report_.hidden_activity = static_cast<double>(std::accumulate(on.begin(), on.end(), Index{0})) /
                            static_cast<double>(data.rows() * model.hidden());
  if (report) report_.reconstruction = MeanSquaredDifference(data, VisibleMean(model, engine.hidden(), pool_));
}

}  // namespace grbm
