#include "grbm/model/exact.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "grbm/model/energy.h"
#include "grbm/model/labels.h"

namespace grbm {

namespace {

std::size_t StateCount(const Model& model) { return std::size_t{1} << model.hidden(); }

// Calls use(state, Wh) for states first ... first + count - 1 of the hidden units, bit j of the state being unit j. Level
// l of the partial sums holds the sum over units l and above, so a step from one state to the next adds one column, and
// nothing drifts: a state's sums are the same wherever one begins.
template <typename Use>
void EnumerateProducts(const Model& model, std::size_t first, std::size_t count, const Use& use) {
  const auto visible = ToSize(model.visible());
  std::vector<std::vector<double>> level(ToSize(model.hidden()) + 1, std::vector<double>(visible));
  const auto add = [&](std::size_t unit) {
    for (std::size_t i = 0; i < visible; ++i) {
      level[unit][i] = level[unit + 1][i] + double{model.W()(static_cast<Index>(i), static_cast<Index>(unit))};
    }
  };
  for (std::size_t l = ToSize(model.hidden()); l-- > 0;) {
    if ((first >> l & 1) != 0) {
      add(l);
    } else {
      level[l] = level[l + 1];
    }
  }
  for (std::size_t state = first; state < first + count; ++state) {
    if (state > first) {
      const auto top = static_cast<std::size_t>(std::countr_zero(state));  // this bit became 1, those below 0
      add(top);
      for (std::size_t l = top; l > 0; --l) level[l - 1] = level[l];
    }
    use(state, std::span<const double>(level[0]));
  }
}

// log p(y = k | h) of all classes, and the logarithm of Σ_k exp((c + U h)_k/s²). mean: μ + W h.          [math.md (71)]
struct LabelLaw {
  std::vector<double> log_probability;
  double log_sum = 0;
};
LabelLaw LabelsGivenHidden(const Model& model, std::span<const double> mean) {
  LabelLaw law;
  for (std::size_t i = ToSize(model.gaussian_units()); i < mean.size(); ++i) {
    law.log_probability.push_back(mean[i] / std::exp(double{model.log_var()[i]}));
  }
  law.log_sum = NormalizeLogs(law.log_probability);
  return law;
}

bool HasGaps(std::span<const double> v) {
  return std::ranges::any_of(v, [](double x) { return std::isnan(x); });
}

}  // namespace

ExactModel::ExactModel(Model model) : model_(std::move(model)) {
  ThreadPool pool(1);
  Enumerate(pool);
}

ExactModel::ExactModel(Model model, ThreadPool& pool) : model_(std::move(model)) { Enumerate(pool); }

void ExactModel::Enumerate(ThreadPool& pool) {
  model_.RequireNoConditions();
  if (model_.hidden() > kMaxHidden) {
    throw ConfigError(
        fmt::format("exact answers: {} hidden units: allowed are at most {}, for 2^hidden states "
                    "are enumerated",
                    model_.hidden(), kMaxHidden));
  }
  // log Z = (N/2) log 2π + Σ ½ log σ² + log Σ_h exp(b·h + Σ ((μ + Wh)² - μ²) / 2σ²)                    [math.md (12)]
  // of the Gaussian units; with labels, Σ_y exp(-Σ (y - c)²/2s² + y·U h/s²) is a factor of each h        [math.md (71)]
  std::vector<double>& log_weight = probability_;
  log_weight.resize(StateCount(model_));
  std::vector<double> twice_variance;
  for (const float l : model_.log_var()) twice_variance.push_back(2 * std::exp(double{l}));
  constexpr std::size_t kStates = 1 << 10;  // at a time
  const std::size_t count = std::min(kStates, log_weight.size());
  pool.ParallelFor(static_cast<Index>(log_weight.size() / count), [&](Index block) {
    EnumerateProducts(model_, ToSize(block) * count, count, [&](std::size_t state, std::span<const double> product) {
      double sum = 0;
      for (std::size_t j = 0; j < model_.b().size(); ++j) sum += (state >> j & 1) != 0 ? double{model_.b()[j]} : 0.0;
      for (std::size_t i = 0; i < ToSize(model_.gaussian_units()); ++i) {
        const double m = model_.mu()[i];
        sum += product[i] * (2 * m + product[i]) / twice_variance[i];
      }
      if (model_.label_units() > 0) {
        std::vector<double> mean(product.begin(), product.end());
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += double{model_.mu()[i]};
        sum += LabelsGivenHidden(model_, mean).log_sum;
      }
      log_weight[state] = sum;
    });
  });
  const double largest = *std::ranges::max_element(log_weight);
  double total = 0;
  for (const double w : log_weight) total += std::exp(w - largest);
  log_partition_ = largest + std::log(total);
  const std::size_t gaussian = ToSize(model_.gaussian_units());
  for (const float l : model_.log_var().first(gaussian)) {
    log_partition_ += 0.5 * (std::log(2 * std::numbers::pi) + double{l});
  }
  if (model_.label_units() > 0) log_partition_ -= 1 / twice_variance.back();
  for (std::size_t i = gaussian; i < twice_variance.size(); ++i) {
    log_partition_ -= double{model_.mu()[i]} * double{model_.mu()[i]} / twice_variance[i];
  }

  for (double& w : probability_) w = std::exp(w - largest) / total;
  cumulative_.resize(probability_.size());
  std::partial_sum(probability_.begin(), probability_.end(), cumulative_.begin());
}

template <typename Use>
void ExactModel::ForStates(const Use& use) const {
  EnumerateProducts(model_, 0, StateCount(model_), [&](std::size_t state, std::span<const double> product) {
    use(state, probability_[state], product);
  });
}

// log Σ_h p(h) Π N(v_i; m_i, σ_i²) over the units that are known.                                       [math.md (66)]
double ExactModel::Posterior(std::span<const double> v, std::vector<double>& p) const {
  p.resize(probability_.size());
  const std::size_t gaussian = ToSize(model_.gaussian_units());
  ForStates([&](std::size_t state, double weight, std::span<const double> product) {
    double sum = std::log(weight);
    std::vector<double> mean(product.begin(), product.end());
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += double{model_.mu()[i]};
    const std::vector<double> label = LabelsGivenHidden(model_, mean).log_probability;
    for (std::size_t k = 0; k < label.size(); ++k) sum += v[gaussian + k] == 1 ? label[k] : 0.0;
    for (std::size_t i = 0; i < gaussian; ++i) {
      if (std::isnan(v[i])) continue;
      const double log_var = model_.log_var()[i];
      const double d = v[i] - double{model_.mu()[i]} - product[i];
      sum -= 0.5 * (std::log(2 * std::numbers::pi) + log_var + d * d / std::exp(log_var));
    }
    p[state] = sum;
  });
  const double largest = *std::ranges::max_element(p);
  double total = 0;
  for (double& x : p) total += x = std::exp(x - largest);
  for (double& x : p) x /= total;
  return largest + std::log(total);
}

double ExactModel::LogDensity(std::span<const double> v) const {
  if (!HasGaps(v)) return -MarginalEnergy(model_, v) - log_partition_;
  std::vector<double> p;
  return Posterior(v, p);
}

double ExactModel::MeanLogLikelihood(ConstMatrix data) const {
  CheckKnown(model_, data, "data");
  double sum = 0;
  for (Index r = 0; r < data.rows(); ++r) {
    const std::vector<double> v(data.row(r).begin(), data.row(r).end());
    sum += LogDensity(v);
  }
  return sum / static_cast<double>(data.rows());
}

ExactMoments ExactModel::Moments() const {
  const Index visible = model_.visible();
  const Index hidden = model_.hidden();
  ExactMoments m{std::vector<double>(ToSize(visible)), std::vector<double>(ToSize(hidden)),
                 BasicMatrix<double>(visible, visible), BasicMatrix<double>(visible, hidden),
                 BasicMatrix<double>(hidden, hidden)};
  std::vector<double> mean(ToSize(visible));
  const Index gaussian = model_.gaussian_units();
  ForStates([&](std::size_t state, double weight, std::span<const double> product) {
    const auto on = [&](Index j) { return (state >> j & 1) != 0; };
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = double{model_.mu()[i]} + product[i];
    std::ranges::transform(LabelsGivenHidden(model_, mean).log_probability, mean.begin() + gaussian,
                           [](double l) { return std::exp(l); });
    for (Index i = 0; i < visible; ++i) {
      const double wm = weight * mean[ToSize(i)];
      m.v[ToSize(i)] += wm;
      // Given h units are independent, but of label units one alone is 1.
      for (Index k = 0; k <= std::min(i, gaussian - 1); ++k) m.vv(i, k) += wm * mean[ToSize(k)];
      if (i >= gaussian) m.vv(i, i) += wm;
      for (Index j = 0; j < hidden; ++j) m.vh(i, j) += on(j) ? wm : 0;
    }
    for (Index j = 0; j < hidden; ++j) {
      if (!on(j)) continue;
      m.h[ToSize(j)] += weight;
      for (Index k = 0; k < hidden; ++k) m.hh(j, k) += on(k) ? weight : 0;
    }
  });
  for (Index i = 0; i < visible; ++i) {
    if (i < gaussian) m.vv(i, i) += std::exp(double{model_.log_var()[ToSize(i)]});
    for (Index k = 0; k < i; ++k) m.vv(k, i) = m.vv(i, k);
  }
  return m;
}

// ∂/∂θ mean log p(v) = <-∂E/∂θ>_data - <-∂E/∂θ>_model                                                  [math.md (11)]
ExactGradient ExactModel::LogLikelihoodGradient(ConstMatrix data) const {
  CheckKnown(model_, data, "data");
  const Index visible = model_.visible();
  const Index hidden = model_.hidden();
  ExactGradient g{BasicMatrix<double>(visible, hidden), std::vector<double>(ToSize(hidden)),
                  std::vector<double>(ToSize(visible)), std::vector<double>(ToSize(visible))};

  // Adds share · (-∂E/∂θ), with h replaced by its expectation where E is linear in it.
  const auto add = [&](double share, auto&& first, auto&& second, auto&& outer, auto&& activity) {
    for (Index i = 0; i < visible; ++i) {
      const double mu = model_.mu()[ToSize(i)];
      const double scale = share / std::exp(double{model_.log_var()[ToSize(i)]});
      g.mu[ToSize(i)] += scale * (first(i) - mu);
      g.log_var[ToSize(i)] += scale * 0.5 * (second(i) - 2 * mu * first(i) + mu * mu);
      for (Index j = 0; j < hidden; ++j) {
        g.W(i, j) += scale * outer(i, j);
        g.log_var[ToSize(i)] -= scale * double{model_.W()(i, j)} * outer(i, j);
      }
    }
    for (Index j = 0; j < hidden; ++j) g.b[ToSize(j)] += share * activity(j);
  };

  const double share = 1 / static_cast<double>(data.rows());
  for (Index r = 0; r < data.rows(); ++r) {
    const std::vector<double> v(data.row(r).begin(), data.row(r).end());
    if (HasGaps(v)) {
      // The mean over p(h | known units); a missing unit has the mean m and the variance σ² there.
      std::vector<double> posterior;
      Posterior(v, posterior);
      ForStates([&](std::size_t state, double, std::span<const double> product) {
        const auto missing = [&](Index i) { return std::isnan(v[ToSize(i)]); };
        const auto on = [&](Index j) { return (state >> j & 1) != 0 ? 1.0 : 0.0; };
        const auto mean = [&](Index i) {
          return missing(i) ? double{model_.mu()[ToSize(i)]} + product[ToSize(i)] : v[ToSize(i)];
        };
        const auto square = [&](Index i) {
          return mean(i) * mean(i) + (missing(i) ? std::exp(double{model_.log_var()[ToSize(i)]}) : 0.0);
        };
        add(
            share * posterior[state], mean, square, [&](Index i, Index j) { return mean(i) * on(j); }, on);
      });
      continue;
    }
    std::vector<double> p = HiddenLogits(model_, v);
    for (double& x : p) x = 1 / (1 + std::exp(-x));
    add(
        share, [&](Index i) { return v[ToSize(i)]; }, [&](Index i) { return v[ToSize(i)] * v[ToSize(i)]; },
        [&](Index i, Index j) { return v[ToSize(i)] * p[ToSize(j)]; }, [&](Index j) { return p[ToSize(j)]; });
  }
  const ExactMoments m = Moments();
  add(
      -1, [&](Index i) { return m.v[ToSize(i)]; }, [&](Index i) { return m.vv(i, i); },
      [&](Index i, Index j) { return m.vh(i, j); }, [&](Index j) { return m.h[ToSize(j)]; });
  std::fill(g.log_var.end() - model_.label_units(), g.log_var.end(), 0.0);
  return g;
}

void ExactModel::Sample(std::uint64_t seed, std::uint32_t first_chain, MutableMatrix v, BitView h) const {
  if (v.cols() != model_.visible() || h.units() != model_.hidden() || h.rows() != v.rows()) {
    throw DataError(
        fmt::format("exact draws: room for {} × {} visible and {} × {} hidden states: expected are as many rows "
                    "of each, with {} and {} columns",
                    v.rows(), v.cols(), h.rows(), h.units(), model_.visible(), model_.hidden()));
  }
  const Stream pick(seed, Purpose::kExact);
  const Stream noise(seed, Purpose::kInitialVisible);
  const Stream label(seed, Purpose::kInitialLabel);
  for (Index r = 0; r < v.rows(); ++r) {
    const std::uint32_t chain = first_chain + static_cast<std::uint32_t>(r);
    const double u = pick.UniformDouble(0, chain) * cumulative_.back();
    const auto state = static_cast<std::size_t>(std::ranges::upper_bound(cumulative_, u) - cumulative_.begin());
    for (Index j = 0; j < h.units(); ++j) h.Set(r, j, (state >> j & 1) != 0);
    std::vector<double> mean(model_.mu().begin(), model_.mu().end());
    for (Index i = 0; i < v.cols(); ++i) {
      for (Index j = 0; j < h.units(); ++j) mean[ToSize(i)] += h.Get(r, j) ? double{model_.W()(i, j)} : 0.0;
      v(r, i) = static_cast<float>(mean[ToSize(i)] + std::exp(0.5 * double{model_.log_var()[ToSize(i)]}) *
                                                         double{noise.Normal(0, chain, i)});
    }
    if (model_.label_units() > 0) {
      const LabelLaw law = LabelsGivenHidden(model_, mean);
      SetLabel(model_, v.row(r), PickLabel(law.log_probability, label.UniformDouble(0, chain)));
    }
  }
}

}  // namespace grbm
