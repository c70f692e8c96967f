#include "grbm/evaluate/ais.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evaluate/common.h"
#include "grbm/model/energy.h"
#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr Index kRungsAtOnce = 16;

// p(v | h) of the law at beta: mean = offset + slope ∘ W h.                                            [math.md (34)]
struct Rung {
  std::vector<float> offset;
  std::vector<float> slope;
  std::vector<float> deviation;

  Rung(const Model& model, const GaussianBase& base, double beta) {
    for (std::size_t i = 0; i < base.mean.size(); ++i) {
      const double base_part = (1 - beta) * double{base.inverse_variance[i]};
      const double model_part = beta * double{model.inverse_variance()[i]};
      const double precision = base_part + model_part;
      offset.push_back(
          static_cast<float>((base_part * double{base.mean[i]} + model_part * double{model.mu()[i]}) / precision));
      slope.push_back(static_cast<float>(model_part / precision));
      deviation.push_back(static_cast<float>(std::sqrt(1 / precision)));
    }
  }
};

// All chains, on their way. The logits are the model's; those at beta are beta times them.             [math.md (34)]
class Walk {
 public:
  Walk(const Model& model, const GaussianBase& base, ConstMatrix start, std::uint64_t seed)
      : log_weights(Size(start.rows())),
        model_(model),
        base_(base),
        visible_(start.rows(), start.cols()),
        hidden_(start.rows(), model.hidden()),
        logits_(start.rows(), model.hidden()),
        visible_stream_(seed, Purpose::kVisible),
        hidden_stream_(seed, Purpose::kHidden) {
    CopyRows(start, visible_);
  }

  // Rung k of the schedule, for `rows` chains of one block: a move, unless the chains have just started, and the weight.
  void Climb(Index first, Index rows, std::span<const double> schedule, Index k) {
    const double beta = schedule[Size(k)];
    if (k == 0) {
      UpdateLogits(first, rows);  // the start is a sample of the first law
    } else {
      Move(first, rows, beta, static_cast<std::uint64_t>(k));
    }
    Reweight(first, rows, beta, schedule[Size(k + 1)]);
  }

  std::vector<double> log_weights;

 private:
  void UpdateLogits(Index first, Index rows) {
    kernels::Logits(visible_.view().Rows(first, rows), model_.inverse_variance(), model_.W(), model_.b(),
                    logits_.view().Rows(first, rows));
  }

  // log w += log f_to(v) - log f_from(v)                                                               [math.md (35)]
  void Reweight(Index first, Index rows, double from, double to) {
    for (Index r = first; r < first + rows; ++r) {
      const std::span<const float> v = visible_.row(r);
      const double square = kernels::SumScaledSquares(v, model_.mu(), model_.inverse_variance()) -
                            kernels::SumScaledSquares(v, base_.mean, base_.inverse_variance);
      log_weights[Size(r)] -= (to - from) * square / 2;
      log_weights[Size(r)] += SoftplusAt(r, to) - SoftplusAt(r, from);
    }
  }

  // One Gibbs step of the law at beta: h given v, then v given h.
  void Move(Index first, Index rows, double beta, std::uint64_t step) {
    const Rung rung(model_, base_, beta);
    static thread_local std::vector<float> noise;
    noise.resize(Size(model_.visible()));
    for (Index r = first; r < first + rows; ++r) {
      kernels::DrawBernoulli({hidden_stream_, step, static_cast<std::uint32_t>(r)}, logits_.row(r),
                             static_cast<float>(beta), hidden_, r);
    }
    const MutableMatrix v = visible_.view().Rows(first, rows);
    kernels::HiddenProduct(hidden_.view().Rows(first, rows), model_.W(), v);
    for (Index r = 0; r < rows; ++r) {
      kernels::DrawNormals({visible_stream_, step, static_cast<std::uint32_t>(first + r)}, noise);
      const std::span<float> out = v.row(r);
      for (std::size_t i = 0; i < noise.size(); ++i) {
        out[i] = rung.offset[i] + rung.slope[i] * out[i] + rung.deviation[i] * noise[i];
      }
    }
    UpdateLogits(first, rows);
  }

  double SoftplusAt(Index r, double beta) const {
    static thread_local std::vector<float> scaled;
    const std::span<const float> x = logits_.row(r);
    scaled.assign(x.begin(), x.end());
    for (float& s : scaled) s *= static_cast<float>(beta);
    return kernels::SumSoftplus(scaled);
  }

  const Model& model_;
  const GaussianBase& base_;
  Matrix visible_;
  BitMatrix hidden_;
  Matrix logits_;
  Stream visible_stream_;
  Stream hidden_stream_;
};

// Independent draws of the base.
Matrix DrawBase(const GaussianBase& base, Index rows, std::uint64_t seed, ThreadPool& pool) {
  Matrix v(rows, static_cast<Index>(base.mean.size()));
  const Stream stream(seed, Purpose::kInitialVisible);
  pool.ParallelFor(rows, [&](Index r) {
    kernels::DrawNormals({stream, 0, static_cast<std::uint32_t>(r)}, v.row(r));
    for (std::size_t i = 0; i < base.mean.size(); ++i) {
      v.row(r)[i] = base.mean[i] + v.row(r)[i] / std::sqrt(base.inverse_variance[i]);
    }
  });
  return v;
}

}  // namespace

double GaussianBase::LogPartition(Index hidden) const {
  double sum = static_cast<double>(hidden) * std::numbers::ln2;
  for (const float precision : inverse_variance) sum += 0.5 * std::log(2 * std::numbers::pi / double{precision});
  return sum;
}

GaussianBase FitBase(const Model& model, ConstMatrix data) {
  CheckVisible(model, data, "data");
  if (data.rows() == 0) throw DataError("data: no rows: annealing needs at least one to start from");
  GaussianBase base;
  const auto n = static_cast<double>(data.rows());
  std::vector<double> sum(Size(data.cols()));
  std::vector<double> squares(Size(data.cols()));
  for (Index r = 0; r < data.rows(); ++r) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += double{data.row(r)[i]} / n;
  }
  for (Index r = 0; r < data.rows(); ++r) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double d = double{data.row(r)[i]} - sum[i];
      squares[i] += d * d / n;
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    base.mean.push_back(static_cast<float>(sum[i]));
    base.inverse_variance.push_back(static_cast<float>(1 / std::max(squares[i], double{model.variance()[i]})));
  }
  return base;
}

std::vector<double> AnnealedLogWeights(const Model& model, const GaussianBase& base, std::span<const double> schedule,
                                       ConstMatrix start, std::uint64_t seed, ThreadPool& pool,
                                       const EvaluationProgress& progress) {
  GRBM_CHECK(schedule.size() >= 2);
  CheckVisible(model, start, "chains");
  Walk walk(model, base, start, seed);
  const kernels::RowBlocks blocks(0, start.rows());
  const auto rungs = static_cast<Index>(schedule.size()) - 1;
  // Several rungs at a time, so that threads rarely wait for each other.
  for (Index done = 0; done < rungs;) {
    const Index end = std::min(rungs, done + kRungsAtOnce);
    pool.ParallelFor(blocks.count(), [&](Index b) {
      const Index first = blocks.begin(b);
      for (Index k = done; k < end; ++k) walk.Climb(first, blocks.end(b) - first, schedule, k);
    });
    done = end;
    if (progress) progress(schedule.front() < schedule.back() ? "annealing" : "annealing back", done, rungs);
  }
  return walk.log_weights;
}

AisResult AnnealedImportance(const Model& model, const GaussianBase& base, ConstMatrix samples,
                             const AisOptions& options, ThreadPool& pool, const EvaluationProgress& progress) {
  if (options.chains < 2 || samples.rows() < 2 || options.temperatures < 1) {
    throw ConfigError(
        fmt::format("annealing: {} chains, {} samples and {} temperatures: allowed are 2, 2 and 1 or more",
                    options.chains, samples.rows(), options.temperatures));
  }
  std::vector<double> schedule;
  for (std::int64_t k = 0; k <= options.temperatures; ++k) {
    schedule.push_back(static_cast<double>(k) / static_cast<double>(options.temperatures));
  }
  const double base_log = base.LogPartition(model.hidden());
  const std::uint64_t seed = PartSeed(options.seed, Part::kAnneal);
  const std::vector<double> weights =
      AnnealedLogWeights(model, base, schedule, DrawBase(base, options.chains, seed, pool), seed, pool, progress);
  std::ranges::reverse(schedule);
  const std::vector<double> back =
      AnnealedLogWeights(model, base, schedule, samples, PartSeed(options.seed, Part::kAnnealBack), pool, progress);

  AisResult result;
  result.log_partition = LogMeanExp(weights);
  result.lower = Mean(weights);
  result.upper = Mean(back);
  result.log_partition.value += base_log;
  result.lower.value += base_log;
  result.upper.value = base_log - result.upper.value;

  // n ε² = Var w / (E w)², and n/(1 + n ε²) chains with equal weights would do as well.
  const auto n = static_cast<double>(options.chains);
  const double spread = (n - 1) * result.log_partition.error * result.log_partition.error;
  result.effective_chains = n / (1 + spread);
  const double gap = result.upper.value - result.lower.value;
  result.wide = gap > std::log1p(spread) + 2.5 * std::hypot(result.lower.error, result.upper.error);
  return result;
}

}  // namespace grbm
