#include "grbm/evaluate/ais.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "evaluate/common.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "sampler/engine.h"

namespace grbm {

namespace {

constexpr Index kRungsAtOnce = 16;
constexpr Index kChainsAtOnce = 30;

// Some chains, on their way on one thread.
class Walk {
 public:
  Walk(const Model& model, const GaussianBase& base, ConstMatrix start, std::uint32_t first_chain, std::uint64_t seed)
      : log_weights(ToSize(start.rows())),
        engine_(thread_),
        visible_(seed, Purpose::kVisible),
        hidden_(seed, Purpose::kHidden),
        labels_(seed, Purpose::kLabel) {
    engine_.Set(model, {.method = Method::kGibbs}, {});
    engine_.Resize(first_chain, start.rows());
    engine_.Keep({});
    engine_.LoadVisible(start);
    engine_.SetBase({base.mean, base.inverse_variance});
  }

  // Rung k of the schedule: v moves, unless the chains have just started; the weight; and h of the next rung.
  //                                                                                                [math.md (34), (35)]
  void Climb(std::span<const double> schedule, Index k) {
    const auto number = static_cast<std::uint64_t>(k);
    const double beta = schedule[ToSize(k)];
    if (k > 0) engine_.DrawVisibleAt(beta, visible_, labels_, number);  // the start is a sample of the first law
    const std::vector<double> log_ratios = engine_.DrawHiddenAt(beta, schedule[ToSize(k + 1)], hidden_, number + 1);
    for (std::size_t r = 0; r < log_weights.size(); ++r) log_weights[r] += log_ratios[r];
  }

  std::vector<double> log_weights;

 private:
  ThreadPool thread_{1};
  Engine engine_;
  Stream visible_;
  Stream hidden_;
  Stream labels_;
};

// Independent draws of the base, every class alike.
Matrix DrawBase(const Model& model, const GaussianBase& base, Index rows, std::uint64_t seed, ThreadPool& pool) {
  Matrix v(rows, model.visible());
  const Stream stream(seed, Purpose::kInitialVisible);
  const Stream labels(seed, Purpose::kInitialLabel);
  pool.ParallelFor(rows, [&](Index r) {
    kernels::DrawNormals({stream, 0, 0}, r, v.row(r));
    if (model.label_units() > 0) {
      SetLabel(model, v.row(r), UniformLabel(model, labels.UniformDouble(0, static_cast<std::uint32_t>(r))));
    }
    for (std::size_t i = 0; i < base.mean.size(); ++i) {
      v.row(r)[i] = base.mean[i] + v.row(r)[i] / std::sqrt(base.inverse_variance[i]);
    }
  });
  return v;
}

}  // namespace

double GaussianBase::LogPartition(Index hidden, Index classes) const {
  double sum =
      static_cast<double>(hidden) * std::numbers::ln2 + (classes > 0 ? std::log(static_cast<double>(classes)) : 0.0);
  for (const float precision : inverse_variance) sum += 0.5 * std::log(2 * std::numbers::pi / double{precision});
  return sum;
}

GaussianBase FitBase(const Model& model, ConstMatrix data) {
  CheckRows(model, data, "data");
  if (data.rows() == 0) throw DataError("data: no rows: annealing needs at least one to start from");
  GaussianBase base;
  const auto n = static_cast<double>(data.rows());
  std::vector<double> sum(ToSize(data.cols()));
  std::vector<double> squares(ToSize(data.cols()));
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
                                       const EvaluationProgress& progress, Index first) {
  GRBM_CHECK(schedule.size() >= 2);
  CheckVisible(model, start, "chains");
  model.packed(pool);  // by all threads, before each goes its way
  std::vector<std::unique_ptr<Walk>> walks;
  for (Index row = 0; row < start.rows(); row += kChainsAtOnce) {
    walks.push_back(std::make_unique<Walk>(model, base, start.Rows(row, std::min(kChainsAtOnce, start.rows() - row)),
                                           static_cast<std::uint32_t>(first + row), seed));
  }
  const auto rungs = static_cast<Index>(schedule.size()) - 1;
  // Several rungs at a time, so that threads rarely wait for each other.
  for (Index done = 0; done < rungs;) {
    const Index end = std::min(rungs, done + kRungsAtOnce);
    pool.ParallelFor(static_cast<Index>(walks.size()), [&](Index w) {
      for (Index k = done; k < end; ++k) walks[ToSize(w)]->Climb(schedule, k);
    });
    done = end;
    if (progress) progress(schedule.front() < schedule.back() ? "annealing" : "annealing back", done, rungs);
  }
  std::vector<double> log_weights;
  for (const auto& walk : walks) {
    log_weights.insert(log_weights.end(), walk->log_weights.begin(), walk->log_weights.end());
  }
  return log_weights;
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
  const double base_log = base.LogPartition(model.hidden(), model.label_units());
  const std::uint64_t seed = EvaluationSeed(options.seed, EvaluationStream::kAnneal);
  const auto walk = [&](ConstMatrix start, std::uint64_t walk_seed) {
    Ranks& ranks = options.ranks != nullptr ? *options.ranks : OneRank();
    const BasicMatrix<double> all = RowsTogether<double>(ranks, start.rows(), 1, [&](Index first, Index count) {
      BasicMatrix<double> own(count, 1);
      std::ranges::copy(
          AnnealedLogWeights(model, base, schedule, start.Rows(first, count), walk_seed, pool, progress, first),
          own.values().begin());
      return own;
    });
    return std::vector<double>(all.values().begin(), all.values().end());
  };
  const std::vector<double> weights = walk(DrawBase(model, base, options.chains, seed, pool), seed);
  std::ranges::reverse(schedule);
  const std::vector<double> back = walk(samples, EvaluationSeed(options.seed, EvaluationStream::kAnnealBack));

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
