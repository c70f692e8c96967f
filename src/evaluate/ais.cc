#include "grbm/evaluate/ais.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evaluate/common.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "model/packed.h"

namespace grbm {

using kernels::PanelRow;

namespace {

constexpr Index kRungsAtOnce = 16;
constexpr Index kChainsAtOnce = 30;

// p(v | h) of the law at beta: mean = offset + slope ∘ W h.                                            [math.md (34)]
struct Rung {
  PanelRow offset;
  PanelRow slope;
  PanelRow deviation;

  Rung(const Model& model, const GaussianBase& base, double beta)
      : offset(model.visible()), slope(model.visible()), deviation(model.visible()) {
    for (std::size_t i = 0; i < base.mean.size(); ++i) {
      const double base_part = (1 - beta) * double{base.inverse_variance[i]};
      const double model_part = beta * double{model.inverse_variance()[i]};
      const double precision = base_part + model_part;
      offset.data()[i] =
          static_cast<float>((base_part * double{base.mean[i]} + model_part * double{model.mu()[i]}) / precision);
      slope.data()[i] = static_cast<float>(model_part / precision);
      deviation.data()[i] = static_cast<float>(std::sqrt(1 / precision));
    }
  }
};

// Some chains, on their way on one thread. The logits are the model's; those at beta are beta times them.
//                                                                                                      [math.md (34)]
class Walk {
 public:
  Walk(const Model& model, const PackedWeights& weights, const GaussianBase& base, ConstMatrix start,
       std::uint32_t first_chain, std::uint64_t seed)
      : log_weights(ToSize(start.rows())),
        model_(model),
        weights_(weights),
        base_(base),
        all_{0, start.rows()},
        first_chain_(first_chain),
        visible_(start.rows(), start.cols()),
        product_(start.rows(), start.cols()),
        logits_(start.rows(), model.hidden()),
        hidden_(start.rows(), model.hidden()),
        visible_stream_(seed, Purpose::kVisible),
        hidden_stream_(seed, Purpose::kHidden),
        label_stream_(seed, Purpose::kLabel) {
    for (Index p = 0; p < visible_.view().panels(); ++p) kernels::Pack(start, p, visible_);
  }

  // Rung k of the schedule: a move, unless the chains have just started, and the weight.
  void Climb(std::span<const double> schedule, Index k) {
    const double beta = schedule[ToSize(k)];
    if (k > 0) Move(beta, static_cast<std::uint64_t>(k));  // the start is a sample of the first law
    UpdateLogits();
    Reweight(beta, schedule[ToSize(k + 1)]);
  }

  std::vector<double> log_weights;

 private:
  void UpdateLogits() {
    kernels::HiddenResult result;
    result.logits = logits_;
    for (Index g = 0; g < kernels::GroupCount(model_.hidden()); ++g) {
      kernels::Hidden(visible_, weights_.forward(), weights_.b(), g, all_, result);
    }
  }

  // log w += log f_to(v) - log f_from(v)                                                               [math.md (35)]
  void Reweight(double from, double to) {
    const std::vector<double> softplus_to = SoftplusAt(to);
    const std::vector<double> softplus_from = SoftplusAt(from);
    for (Index r = 0; r < all_.count; ++r) {
      double square = 0;
      for (Index i = base_.Gaussian(); i < model_.visible(); ++i) {  // of a class -Σ (y - c)²/2s², in the model alone
        const double d = double{visible_.view()(r, i)} - double{model_.mu()[ToSize(i)]};
        square += d * d * double{model_.inverse_variance()[ToSize(i)]};
      }
      for (Index i = 0; i < base_.Gaussian(); ++i) {
        const double v = visible_.view()(r, i);
        const double in_model = v - double{model_.mu()[ToSize(i)]};
        const double in_base = v - double{base_.mean[ToSize(i)]};
        square += in_model * in_model * double{model_.inverse_variance()[ToSize(i)]} -
                  in_base * in_base * double{base_.inverse_variance[ToSize(i)]};
      }
      log_weights[ToSize(r)] += softplus_to[ToSize(r)] - softplus_from[ToSize(r)] - (to - from) * square / 2;
    }
  }

  // One Gibbs step of the law at beta: h given v, then v given h.
  void Move(double beta, std::uint64_t step) {
    const Rung rung(model_, base_, beta);
    const DrawPlace draw_hidden{hidden_stream_, step, first_chain_};
    kernels::HiddenResult result;
    result.draw = {hidden_, draw_hidden};
    for (Index g = 0; g < kernels::GroupCount(model_.hidden()); ++g) {
      kernels::FromLogits(logits_, static_cast<float>(beta), g, all_, result);
    }
    for (Index t = 0; t < kernels::GroupCount(model_.visible()); ++t) {
      kernels::HiddenProduct(hidden_, weights_.transposed(), t, all_, product_);
    }
    const DrawPlace draw_visible{visible_stream_, step, first_chain_};
    PanelRow noise(model_.visible());
    for (Index r = 0; r < all_.count; ++r) {
      kernels::DrawNormals(draw_visible, r, {noise.data(), ToSize(model_.visible())});
      const Index label = model_.label_units() > 0 ? DrawLabel(beta, step, r) : 0;
      for (Index p = 0; p < visible_.view().panels(); ++p) {
        float* const v = visible_.view().line(p, r);
        const float* const product = product_.view().line(p, r);
        for (Index c = 0; c < kernels::kPanel; ++c) {
          v[c] = rung.offset.panel(p)[c] + rung.slope.panel(p)[c] * product[c] +
                 rung.deviation.panel(p)[c] * noise.panel(p)[c];
        }
      }
      for (Index k = 0; k < model_.label_units(); ++k) {
        visible_.view()(r, base_.Gaussian() + k) = k == label ? 1.0f : 0.0f;
      }
    }
  }

  // A class given h, at beta.                                                                          [math.md (71)]
  Index DrawLabel(double beta, std::uint64_t step, Index row) const {
    std::vector<double> logs;
    for (Index i = base_.Gaussian(); i < model_.visible(); ++i) {
      logs.push_back(beta * (double{model_.mu()[ToSize(i)]} + double{product_.view()(row, i)}) *
                     double{model_.inverse_variance()[ToSize(i)]});
    }
    NormalizeLogs(logs);
    return PickLabel(logs, label_stream_.UniformDouble(step, first_chain_ + static_cast<std::uint32_t>(row)));
  }

  // Σ log(1 + exp(beta x)), by chain.
  std::vector<double> SoftplusAt(double beta) const {
    HiddenSums sums;
    kernels::HiddenResult result;
    sums.Prepare(all_.count, model_.hidden(), result);
    for (Index g = 0; g < kernels::GroupCount(model_.hidden()); ++g) {
      kernels::FromLogits(logits_, static_cast<float>(beta), g, all_, result);
    }
    sums.Finish();
    return sums.softplus;
  }

  const Model& model_;
  const PackedWeights& weights_;
  const GaussianBase& base_;
  kernels::Rows all_;
  std::uint32_t first_chain_;
  kernels::Panels visible_;
  kernels::Panels product_;
  kernels::Panels logits_;
  BitMatrix hidden_;
  Stream visible_stream_;
  Stream hidden_stream_;
  Stream label_stream_;
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
  const PackedWeights& weights = model.packed(pool);
  std::vector<Walk> walks;
  for (Index row = 0; row < start.rows(); row += kChainsAtOnce) {
    walks.emplace_back(model, weights, base, start.Rows(row, std::min(kChainsAtOnce, start.rows() - row)),
                       static_cast<std::uint32_t>(first + row), seed);
  }
  const auto rungs = static_cast<Index>(schedule.size()) - 1;
  // Several rungs at a time, so that threads rarely wait for each other.
  for (Index done = 0; done < rungs;) {
    const Index end = std::min(rungs, done + kRungsAtOnce);
    pool.ParallelFor(static_cast<Index>(walks.size()), [&](Index w) {
      for (Index k = done; k < end; ++k) walks[ToSize(w)].Climb(schedule, k);
    });
    done = end;
    if (progress) progress(schedule.front() < schedule.back() ? "annealing" : "annealing back", done, rungs);
  }
  std::vector<double> log_weights;
  for (const Walk& walk : walks)
    log_weights.insert(log_weights.end(), walk.log_weights.begin(), walk.log_weights.end());
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
