#include "grbm/train/contrastive.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "grbm/sampler/transition.h"
#include "sampler/engine.h"
#include "train/batch_split.h"
#include "train/discriminative.h"
#include "train/exchange.h"
#include "train/gaps.h"

namespace grbm {

namespace {

// A step of a model with as many weights is shared by all threads.
constexpr Index kLargeModel = 1 << 20;

// Adds to each hidden unit how many rows have it on.
void CountOn(ConstBitView h, std::span<double> on) {
  BitMatrix transposed(h.units(), h.rows());
  for (Index g = 0; g < h.groups(); ++g) kernels::TransposeBits(h, g, transposed, on);
}

// The mean over hidden units of the variance of each between rows.
double Spread(std::span<const double> on, Index rows) {
  double sum = 0;
  for (const double count : on) {
    const double share = count / static_cast<double>(rows);
    sum += share * (1 - share);
  }
  return sum / static_cast<double>(on.size());
}

// Σ (v - mean)² of a row; of one with gaps the mean of the known values' times the number of all.
double RowError(std::span<const float> v, std::span<const float> mean) {
  if (AllFinite(v)) return SquaredDistance(v, mean);
  std::vector<float> filled(v.begin(), v.end());
  double known = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(v[i])) {
      filled[i] = mean[i];
    } else {
      ++known;
    }
  }
  return known > 0 ? SquaredDistance(filled, mean) * static_cast<double>(v.size()) / known : 0;
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
    while (from + 1 < chains.count() && ends[ToSize(from)] <= mark) ++from;
    CopyRows(chains.visible.view().Rows(from, 1), out.visible.view().Rows(r, 1));
    CopyRows(chains.hidden.view().Rows(from, 1), out.hidden.view().Rows(r, 1));
  }
  return out;
}

// Gives rows of an engine classes, the chains of the whole batch being marks at equal distances on the line of all shares,
// the first at `start` of a distance: of each class as many as its share says, to within one at each of its ends, whichever
// begin anew.
//                                                                                                       [math.md (77)]
void PutLabels(Engine& engine, std::span<const double> log_shares, Index chains, double start, kernels::Rows rows) {
  for (Index r = rows.first; r < rows.first + rows.count; ++r) {
    const double mark = static_cast<double>(Index{engine.first()} + r) + start;
    engine.PutLabel(r, PickLabel(log_shares, mark / static_cast<double>(chains)));
  }
}

// Adds (v - mean) uᵀ of a row, u being its conditions: Gaussian × condition units.                        [math.md (82)]
void AddShift(const Model& model, std::span<const float> v, std::span<const float> mean, std::span<double> sums) {
  const std::span<const float> u = v.last(ToSize(model.condition_units()));
  for (std::size_t i = 0; i < ToSize(model.gaussian_units()); ++i) {
    const double difference = double{v[i]} - double{mean[i]};
    for (std::size_t k = 0; k < u.size(); ++k) sums[i * u.size() + k] += difference * double{u[k]};
  }
}

}  // namespace

std::pair<Index, Index> RowsOfRank(const Ranks& ranks, Index visible, Index hidden, Index batch) {
  const kernels::Rows rows = BatchSplit(visible, hidden, batch, ranks.count()).RowsOfRank(ranks.rank());
  return {rows.first, rows.count};
}

// Chains that run on their own from the first step to the last: those of one piece of a small model, on one thread; of
// others all of a rank or, on several threads, halves of them. Which, leaves no trace: sums are made by piece.
struct Contrastive::Crew {
  // threads: of its own; 0: the shared ones.
  Crew(ThreadPool& shared, int threads)
      : own(threads > 0 ? std::make_unique<ThreadPool>(threads) : nullptr), engine(own ? *own : shared) {}

  std::unique_ptr<ThreadPool> own;
  Engine engine;
  std::vector<std::unique_ptr<StateSums>> sums;  // by piece
  std::vector<RowSums> rows;                     // the same, with their rows
  std::vector<Index> accepted;
};

Contrastive::Contrastive(const TrainOptions& options, std::uint64_t seed, ThreadPool& pool, double noise,
                         SamplerHooks hooks, Ranks& ranks)
    : options_(options),
      seed_(seed),
      pool_(pool),
      noise_(noise),
      hooks_(std::move(hooks)),
      ranks_(ranks),
      data_(std::make_unique<Engine>(pool)) {}
Contrastive::~Contrastive() = default;

std::optional<Chains> Contrastive::chains() const {
  if (kept_) return kept_;
  if (!persistent_) return {};
  return Collect(data_->model());
}

void Contrastive::set_chains(std::optional<Chains> chains) {
  kept_ = std::move(chains);
  persistent_ = false;
}

Chains Contrastive::Collect(const Model& model) const {
  const kernels::Rows own = split_->RowsOfRank(ranks_.rank());
  Matrix visible(own.count, model.visible());
  BitMatrix hidden(own.count, model.hidden());
  for (const auto& crew : crews_) {
    const auto [first, count] = std::pair(Index{crew->engine.first()} - own.first, crew->engine.count());
    crew->engine.Store(visible.view().Rows(first, count), hidden.view().Rows(first, count));
  }
  return {0, GatherBatch(ranks_, *split_, std::move(visible)), GatherBatch(ranks_, *split_, std::move(hidden))};
}

std::optional<BitMatrix> Contrastive::GapStates() const {
  if (!gap_states_) return {};
  return GatherBatch(ranks_, *split_, *gap_states_);
}

void Contrastive::Distribute(const Chains& chains) {
  ForCrews([&](Crew& crew) {
    const auto [first, count] = std::pair(Index{crew.engine.first()}, crew.engine.count());
    crew.engine.Load(chains.visible.view().Rows(first, count), chains.hidden.view().Rows(first, count));
  });
}

void Contrastive::ForCrews(const std::function<void(Crew&)>& body) {
  pool_.ParallelFor(static_cast<Index>(crews_.size()), [&](Index k) { body(*crews_[ToSize(k)]); });
}

// Crews for this rank's part of a batch, and sums for its pieces.
void Contrastive::Muster(const Model& model, const SamplerOptions& sampler, Index rows) {
  const BatchSplit split(model.visible(), model.hidden(), rows, ranks_.count());
  const bool probability = FindSampler(sampler.method).marginal || options_.hidden == HiddenKind::kProbability;
  if (!split_ || *split_ != split) {
    split_ = std::make_unique<BatchSplit>(split);
    persistent_ = false;
    crews_.clear();
    data_sums_.clear();
    label_sums_.clear();
    const kernels::Rows pieces = split.PiecesOfRank(ranks_.rank());
    const std::int64_t counted = sampler.steps - options_.burn_in;
    const auto sums = [&](Index room) {
      return std::make_unique<StateSums>(
          model, probability ? StateSums::Hidden::kProbability : StateSums::Hidden::kState,
          options_.visible == VisibleKind::kMean ? StateSums::Visible::kMean : StateSums::Visible::kState, room);
    };
    const bool by_piece = split.small() && !hooks_.step;
    // Halves wait for nobody, and threads that are held up by others do not hold up all.
    const bool halves = !split.small() && !hooks_.step && model.visible() * model.hidden() < kLargeModel &&
                        pool_.threads() > 1 && pieces.count > 1;
    const int threads = by_piece ? 1 : halves ? pool_.threads() / 2 : 0;
    for (Index piece = pieces.first; piece < pieces.first + pieces.count; ++piece) {
      data_sums_.push_back(sums(StateSums::kInPlace));
      const kernels::Rows in_batch = split.RowsOfPiece(piece);
      if (options_.discriminative > 0) {
        label_sums_.push_back(std::make_unique<DiscriminativeSums>(model, in_batch.count));
      }
      if (crews_.empty() || by_piece || (halves && piece == pieces.first + pieces.count / 2)) {
        crews_.push_back(std::make_unique<Crew>(pool_, threads));
        crews_.back()->engine.Set(model, sampler, law_);
        crews_.back()->engine.Resize(static_cast<std::uint32_t>(in_batch.first), 0);
      }
      Crew& crew = *crews_.back();
      crew.sums.push_back(sums(split.Room(piece, probability, counted)));
      crew.rows.push_back({{in_batch.first - crew.engine.first(), in_batch.count}, crew.sums.back().get()});
    }
  }
  ForCrews([&](Crew& crew) {
    const kernels::Rows last = crew.rows.back().rows;
    crew.engine.Set(model, sampler, law_);
    crew.engine.Resize(crew.engine.first(), last.first + last.count);
    for (const auto& sums : crew.sums) sums->Reset(model);
    crew.accepted.clear();
  });
  for (const auto& sums : data_sums_) sums->Reset(model);
}

void Contrastive::set_label_shares(std::span<const double> shares) {
  label_log_shares_.clear();
  for (const double share : shares) label_log_shares_.push_back(std::log(share));
}

void Contrastive::StartChains(std::uint64_t update) {
  const bool given = kept_ && kept_->count() == split_->rows();
  if (given) Distribute(*kept_);
  const bool go_on = persistent_ || given;
  kept_.reset();
  // A hook may throw.
  if (options_.algorithm == Algorithm::kPcd && (hooks_.before_step || hooks_.step) && go_on) {
    kept_ = Collect(data_->model());
  }
  persistent_ = false;
  const double temperature = law_.hidden_temperature();
  const Stream noise(seed_, Purpose::kInitialVisible);
  const Stream bits(seed_, Purpose::kInitialHidden);
  const Stream labels(seed_, Purpose::kInitialLabel);
  const Stream restart(seed_, Purpose::kRestart);
  ForCrews([&](Crew& crew) {
    Engine& engine = crew.engine;
    const auto from_noise = [&](kernels::Rows rows) {
      engine.DrawNoise(noise, update, rows);
      if (options_.far_starts > 0) engine.DrawFar(seed_, update, options_.far_starts, rows);
      if (options_.keep_labels) {
        PutLabels(engine, label_log_shares_, split_->rows(), labels.UniformDouble(update, 0), rows);
      } else {
        engine.DrawUniformLabels(labels, update, rows);
      }
      engine.CopyConditions(*data_, Index{engine.first()} - Index{data_->first()});
      engine.DrawHidden(bits, update, temperature, rows);
    };
    if (options_.algorithm == Algorithm::kCd) {
      engine.CopyVisible(*data_, Index{engine.first()} - Index{data_->first()});
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

void Contrastive::AddExpectedLabels(const Model& model, double counted) {
  if (!options_.keep_labels || data_->count() == 0) return;
  const BasicMatrix<double> logs = data_->LabelLogs();
  ForCrews([&](Crew& crew) {
    const Index before = Index{crew.engine.first()} - Index{data_->first()};
    for (const RowSums& part : crew.rows) {
      for (Index k = 0; k < model.label_units(); ++k) {
        const Index unit = model.gaussian_units() + k;
        double more = 0;
        for (Index r = part.rows.first; r < part.rows.first + part.rows.count; ++r) {
          more += std::exp(logs(before + r, k)) - double{crew.engine.visible()(r, unit)};
        }
        part.sums->AddOffset(unit, counted * more);
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
      crew.accepted.push_back(RunChains(crew.engine, {.seed = seed_, .first_step = step}, hooks_, nullptr).front());
    });
    // Chains give way to those of their own conditions alone: to none. And a class that is kept keeps its share.
    if (model.condition_units() > 0 || options_.keep_labels) continue;
    const Chains chains = Collect(model);
    const std::vector<double> log_weights = LogWeights(model, sampler, temperature(t), temperature(t + 1), chains);
    Distribute(Resample(chains, log_weights, stream.UniformDouble(step, 0)));
  }
  const SamplerOptions rest = PartOfChain(sampler, options_.burn_in, sampler.steps - options_.burn_in);
  ForCrews([&](Crew& crew) { crew.engine.Set(model, rest, law_); });
}

Parameters Contrastive::Gradient(const Model& model, SamplerOptions sampler, ConstMatrix data, std::uint64_t update,
                                 Parameters memory, bool report) {
  CheckOptions(sampler);
  sampler.keep_labels = options_.keep_labels;
  GRBM_CHECK(!options_.keep_labels || std::ssize(label_log_shares_) == model.label_units());
  if (options_.keep_labels && hooks_.step) {
    throw ConfigError("train: keep_labels = true: a hooked step draws what it likes: set keep_labels = false");
  }
  CheckKnown(model, data, "data");
  const Index rows = ranks_.count() == 1 ? data.rows() : options_.batch_size;
  const RunPlace whole{.seed = seed_, .first_step = update * static_cast<std::uint64_t>(sampler.steps)};
  CheckRun(sampler, 0, rows, whole);
  law_ = hooks_.step ? Law{} : LawOf(sampler);
  report_.unstable_units = CheckStability(model, sampler).unstable;
  report = report || std::isnan(report_.reconstruction);
  Muster(model, sampler, rows);

  // Step 1. The positive phase: v from the data, its gaps filled in, h ~ p(h | v) of the chains' law.
  AddData(model, sampler, data, update);
  // Step 2. The negative phase: all steps of the chains after the burn-in.
  StartChains(update);
  const auto counted = static_cast<double>(sampler.steps - options_.burn_in);
  AddExpectedLabels(model, counted);
  RunCrews(model, sampler, whole.first_step);
  persistent_ = options_.algorithm == Algorithm::kPcd;
  kept_.reset();

  // Step 3. The mean over the data less that over the chains. Of exp(-E/τ), the energy is E/τ.
  if (memory.W.rows() != model.visible() || memory.W.cols() != model.hidden()) {
    memory = Parameters(model.visible(), model.hidden());
  }
  AddUp(model, data, {counted, 1 / (law_.temperature * static_cast<double>(rows) * counted)}, sampler.steps, report,
        memory);
  return memory;
}

void Contrastive::AddData(const Model& model, const SamplerOptions& sampler, ConstMatrix data, std::uint64_t update) {
  Engine& engine = *data_;
  const kernels::Rows own = split_->RowsOfRank(ranks_.rank());
  GRBM_CHECK(own.count == data.rows());
  filled_ = {};
  if (HasGaps(data)) {
    filled_ = FillGaps(engine, model, law_, data, static_cast<std::uint32_t>(own.first),
                       {.steps = options_.gap_steps, .noise = noise_, .seed = seed_}, update,
                       gap_states_ ? &*gap_states_ : nullptr);
    data = filled_;
  }
  engine.Set(model, sampler, law_);
  engine.Resize(static_cast<std::uint32_t>(own.first), own.count);
  if (own.count == 0) return;
  const bool expected = noise_ > 0 && options_.visible == VisibleKind::kMean;
  engine.Keep({.probabilities = data_sums_.front()->hidden() == StateSums::Hidden::kProbability,
               .means = expected,
               .logits = options_.keep_labels});
  if (noise_ > 0) {
    engine.LoadNoisy(data, noise_, Stream(seed_, Purpose::kNoise), update);
  } else {
    engine.LoadVisible(data);
  }
  engine.DrawHidden(Stream(seed_, Purpose::kPositiveHidden), update, law_.hidden_temperature(), {0, own.count});
  const Index first_piece = split_->PiecesOfRank(ranks_.rank()).first;
  for (std::size_t k = 0; k < data_sums_.size(); ++k) {
    StateSums& sums = *data_sums_[k];
    kernels::Rows rows = split_->RowsOfPiece(first_piece + static_cast<Index>(k));
    rows.first -= own.first;
    if (expected) {
      engine.AddExpectedTo(sums, rows, data, noise_);
    } else {
      engine.AddStatesTo(sums, rows);
    }
    sums.Close(false, pool_);
    if (!label_sums_.empty()) {
      label_sums_[k]->Compute(model, engine.visible().Rows(rows.first, rows.count), options_.discriminative, pool_);
    }
  }
}

void Contrastive::RunCrews(const Model& model, const SamplerOptions& sampler, std::uint64_t first_step) {
  RunPlace place{.seed = seed_, .first_step = first_step, .burn_in = options_.burn_in};
  if (options_.start_temperature > 1) {
    Cool(model, sampler, first_step);
    place.first_step += static_cast<std::uint64_t>(options_.burn_in);
    place.burn_in = 0;
  }
  ForCrews([&](Crew& crew) {
    const std::vector<Index> accepted = RunChains(crew.engine, place, hooks_, nullptr, crew.rows);
    crew.accepted.insert(crew.accepted.end(), accepted.begin(), accepted.end());
    // A small model has too few panels for all threads: each crew adds its own up. And probabilities are many bytes: those of
    // one piece stay in a cache while all panels pass by, those of all do not.
    for (const auto& sums : crew.sums) {
      sums->Close(split_->small() || sums->hidden() == StateSums::Hidden::kProbability, crew.engine.pool());
    }
  });
}

std::size_t Contrastive::OtherSize(const Model& model) const {
  if (options_.discriminative > 0) return DiscriminativeSums::LabelSize(model);
  return ToSize(model.gaussian_units() * model.condition_units());
}

std::vector<double> Contrastive::OtherSums(const Model& model, ConstMatrix data) const {
  std::vector<double> sums;
  for (const auto& piece : label_sums_) sums.insert(sums.end(), piece->of_labels().begin(), piece->of_labels().end());
  if (model.condition_units() == 0 || data.rows() == 0) return sums;
  if (filled_.rows() > 0) data = filled_;
  const std::size_t size = OtherSize(model);
  const Matrix mean = data_->MeanVisible();
  const kernels::Rows pieces = split_->PiecesOfRank(ranks_.rank());
  sums.resize(ToSize(pieces.count) * size);
  pool_.ParallelFor(pieces.count, [&](Index k) {
    const kernels::Rows rows = split_->RowsOfPiece(pieces.first + k);
    const Index first = rows.first - split_->RowsOfRank(ranks_.rank()).first;
    for (Index r = first; r < first + rows.count; ++r) {
      AddShift(model, data.row(r), mean.row(r), std::span(sums).subspan(ToSize(k) * size, size));
    }
  });
  return sums;
}

void Contrastive::AddUp(const Model& model, ConstMatrix data, const GradientScale& scale, std::int64_t steps,
                        bool report, Parameters& gradient) {
  std::vector<PieceSums> pieces;
  for (const auto& crew : crews_) {
    for (const auto& sums : crew->sums) {
      const std::size_t k = pieces.size();
      pieces.push_back({data_sums_[k].get(), sums.get(), label_sums_.empty() ? nullptr : &label_sums_[k]->outer()});
    }
  }
  // What this rank saw: moves accepted, how often each hidden unit was on, on the data and on the chains, and the error of
  // each row. All but the last are whole numbers, whose sums have no order.
  const std::size_t hidden = ToSize(model.hidden());
  std::vector<double> seen(1 + 2 * hidden);
  for (const auto& crew : crews_) {
    for (const Index accepted : crew->accepted) seen[0] += static_cast<double>(accepted);
    CountOn(crew->engine.hidden(), std::span(seen).subspan(1 + hidden));
  }
  if (data.rows() > 0) CountOn(data_->hidden(), std::span(seen).subspan(1, hidden));
  if (report && data.rows() > 0) {
    const Matrix mean = VisibleMean(model, data_->hidden(), pool_);
    const std::size_t values = ToSize(model.gaussian_units());
    for (Index r = 0; r < data.rows(); ++r) {
      seen.push_back(RowError(data.row(r).first(values), mean.row(r).first(values)));
    }
  }
  const std::vector<double> others = OtherSums(model, data);
  seen.insert(seen.end(), others.begin(), others.end());
  const std::size_t other_size = OtherSize(model);
  const StateSums::Visible kind =
      options_.visible == VisibleKind::kMean ? StateSums::Visible::kMean : StateSums::Visible::kState;
  Exchanged all;
  if (ranks_.count() == 1) {
    all.data = WriteGradient(pieces, scale.counted, scale.factor, gradient, pool_);
    all.reports.push_back(std::move(seen));
  } else {
    std::vector<std::size_t> sizes;
    for (int r = 0; r < ranks_.count(); ++r) {
      sizes.push_back(1 + 2 * hidden + (report ? ToSize(split_->RowsOfRank(r).count) : 0) +
                      ToSize(split_->PiecesOfRank(r).count) * other_size + 1);
    }
    seen.push_back(ask_ ? ask_() : 0);
    all = ExchangeGradient(ranks_, *split_, model, pieces, scale, sizes, seen, kind, gradient, pool_);
    answer_ = all.reports.front().back();
    for (std::vector<double>& said : all.reports) said.pop_back();
  }
  if (other_size > 0) {
    // Taken off the reports again, piece by piece.
    std::vector<std::span<const double>> of_pieces;
    for (int r = 0; r < ranks_.count(); ++r) {
      const std::size_t count = ToSize(split_->PiecesOfRank(r).count);
      const std::span<const double> parts =
          std::span(all.reports[static_cast<std::size_t>(r)]).last(count * other_size);
      for (std::size_t k = 0; k < count; ++k) of_pieces.push_back(parts.subspan(k * other_size, other_size));
    }
    const double factor = scale.factor * scale.counted;
    std::vector<double> sum = AddInOrder(of_pieces);
    if (options_.discriminative > 0) {
      AddLabelGradient(model, sum, factor, gradient);
    } else {
      for (std::size_t k = 0; k < sum.size(); ++k) {
        sum[k] *= -factor * double{model.inverse_variance()[k / ToSize(model.condition_units())]};
      }
      shift_gradient_ = std::move(sum);
    }
    for (int r = 0; r < ranks_.count(); ++r) {
      std::vector<double>& said = all.reports[static_cast<std::size_t>(r)];
      said.resize(said.size() - ToSize(split_->PiecesOfRank(r).count) * other_size);
    }
  }
  Report(model, all, steps, report);
}

void Contrastive::Report(const Model& model, const Exchanged& all, std::int64_t steps, bool report) {
  const Index rows = split_->rows();
  const auto count = static_cast<double>(rows);
  const std::size_t hidden = ToSize(model.hidden());
  std::vector<double> total(1 + 2 * hidden);
  double error = 0;
  for (const std::vector<double>& seen : all.reports) {
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += seen[k];
    for (std::size_t k = total.size(); k < seen.size(); ++k) error += seen[k];
  }
  const std::span<const double> data = std::span(total).subspan(1, hidden);
  const double data_spread = Spread(data, rows);
  report_.acceptance = total[0] / static_cast<double>(rows * steps);
  report_.variety = data_spread > 0 ? Spread(std::span(total).subspan(1 + hidden), rows) / data_spread : 0;
  report_.hidden_activity = std::accumulate(data.begin(), data.end(), 0.0) / static_cast<double>(rows * model.hidden());
  if (report) report_.reconstruction = error / static_cast<double>(rows * model.gaussian_units());
  data_means_ = {MeanVisible(model, all.data, count), MeanHidden(model, all.data, count)};
}

}  // namespace grbm
