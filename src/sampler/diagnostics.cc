#include "grbm/sampler/diagnostics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace grbm {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Draws = MatrixView<const double>;  // chains × draws
using Chains = BasicMatrix<double>;

template <typename Predicate>
bool AllDraws(Draws draws, Predicate predicate) {
  for (Index c = 0; c < draws.rows(); ++c) {
    if (!std::ranges::all_of(draws.row(c), predicate)) return false;
  }
  return true;
}

bool NoneIsNaN(Draws draws) {
  return AllDraws(draws, [](double x) { return !std::isnan(x); });
}

bool AllAreFinite(Draws draws) {
  return AllDraws(draws, [](double x) { return std::isfinite(x); });
}

bool IsConstant(Draws draws) {
  double low = kInfinity;
  double high = -kInfinity;
  for (Index c = 0; c < draws.rows(); ++c) {
    for (const double x : draws.row(c)) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  }
  return high - low < std::numeric_limits<double>::epsilon();
}

// From the first value on: exact if all values are the same, so that a chain that never moves has variance 0.
double Mean(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x - values[0];
  return values[0] + sum / static_cast<double>(values.size());
}

double Variance(std::span<const double> values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double x : values) sum += (x - mean) * (x - mean);
  return sum / static_cast<double>(values.size() - 1);
}

std::vector<double> ChainMeans(Draws chains) {
  std::vector<double> means;
  for (Index c = 0; c < chains.rows(); ++c) means.push_back(Mean(chains.row(c)));
  return means;
}

std::vector<double> AllValues(Draws draws) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(draws.rows() * draws.cols()));
  for (Index c = 0; c < draws.rows(); ++c) {
    const std::span<const double> row = draws.row(c);
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

// The k-th smallest value, k from 0; smaller ones come to lie before it.
double OrderStatistic(std::vector<double>& values, std::size_t k) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The mean of the two middle values of an even number. Its rounding decides whether the two are equally far from it,
// that is, whether they share a rank when folded.
double Median(Draws draws) {
  std::vector<double> values = AllValues(draws);
  const std::size_t half = values.size() / 2;
  const double high = OrderStatistic(values, half);
  if (values.size() % 2 == 1) return high;
  return std::midpoint(*std::ranges::max_element(std::span(values).first(half)), high);
}

template <typename Function>
Chains Transform(Draws draws, Function function) {
  Chains out(draws.rows(), draws.cols());
  for (Index c = 0; c < draws.rows(); ++c) {
    std::ranges::transform(draws.row(c), out.row(c).begin(), function);
  }
  return out;
}

// The halves as chains: 2 chains × floor(draws / 2), first the first halves.
Chains Split(Draws draws) {
  const Index half = draws.cols() / 2;
  Chains halves(2 * draws.rows(), half);
  for (Index c = 0; c < draws.rows(); ++c) {
    const std::span<const double> row = draws.row(c);
    std::ranges::copy(row.first(static_cast<std::size_t>(half)), halves.row(c).begin());
    std::ranges::copy(row.last(static_cast<std::size_t>(half)), halves.row(draws.rows() + c).begin());
  }
  return halves;
}

// z = Φ⁻¹((r - 3/8) / (S + 1/4)), r = 1 ... S the rank among all S draws of all chains; equal draws share the mean of
// their ranks. No draw may be NaN.
Chains NormalScores(Chains chains) {
  const std::span<double> values = chains.values();
  std::vector<std::pair<double, std::size_t>> sorted(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) sorted[i] = {values[i], i};
  std::ranges::sort(sorted);
  const double total = static_cast<double>(values.size());
  for (std::size_t first = 0, next = 0; first < sorted.size(); first = next) {
    while (next < sorted.size() && sorted[next].first == sorted[first].first) ++next;
    const double rank = static_cast<double>(first + 1 + next) / 2;
    const double score = NormalQuantile((rank - 0.375) / (total + 0.25));
    for (std::size_t i = first; i < next; ++i) values[sorted[i].second] = score;
  }
  return chains;
}

// R̂² = (N - 1) / N + var(chain means) / W, W the mean of the chains' variances, N draws each.
double Rhat(Draws chains) {
  if (chains.cols() < 2 || IsConstant(chains)) return kNaN;
  double within = 0;
  for (Index c = 0; c < chains.rows(); ++c) within += Variance(chains.row(c));
  within /= static_cast<double>(chains.rows());
  const double n = static_cast<double>(chains.cols());
  return std::sqrt((n - 1) / n + Variance(ChainMeans(chains)) / within);
}

using Complex = std::complex<double>;

// std::complex's own product takes care of infinities, at twice the time.
Complex Product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// exp(-2πi k / size) for k < size / 2.
std::vector<Complex> RootsOfUnity(std::size_t size) {
  std::vector<Complex> roots(size / 2);
  for (std::size_t k = 0; k < roots.size(); ++k) {
    roots[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size));
  }
  return roots;
}

// Discrete Fourier transform, the frequencies in bit-reversed order; the size is a power of 2.
void Forward(std::span<Complex> a, std::span<const Complex> roots) {
  for (std::size_t half = a.size() / 2, step = 1; half > 0; half /= 2, step *= 2) {
    for (std::size_t block = 0; block < a.size(); block += 2 * half) {
      for (std::size_t i = 0; i < half; ++i) {
        const Complex u = a[block + i];
        const Complex v = a[block + half + i];
        a[block + i] = u + v;
        a[block + half + i] = Product(u - v, roots[i * step]);
      }
    }
  }
}

// The inverse, times the size: from bit-reversed frequencies.
void Backward(std::span<Complex> a, std::span<const Complex> roots) {
  for (std::size_t half = 1, step = a.size() / 2; step > 0; half *= 2, step /= 2) {
    for (std::size_t block = 0; block < a.size(); block += 2 * half) {
      for (std::size_t i = 0; i < half; ++i) {
        const Complex u = a[block + i];
        const Complex v = Product(a[block + half + i], std::conj(roots[i * step]));
        a[block + i] = u + v;
        a[block + half + i] = u - v;
      }
    }
  }
}

// 1/C Σ_c 1/N Σ_i y_ci y_c(i+t) for the lags t = 0 ... N - 1, y the C chains less their means; C is even. The mean is
// linear in the power spectra, so one transform back serves all chains; two chains y, y' go into one transform as y +
// i y', because the real part of the autocovariance of that is the sum of theirs. Twice the length keeps the ends
// from meeting.
std::vector<double> MeanAutocovariances(Draws chains, std::span<const double> means) {
  const std::size_t size = std::bit_ceil(2 * static_cast<std::size_t>(chains.cols()));
  const std::vector<Complex> roots = RootsOfUnity(size);
  std::vector<Complex> power(size);
  std::vector<Complex> pair(size);
  for (Index c = 0; c < chains.rows(); c += 2) {
    const double* m = &means[static_cast<std::size_t>(c)];
    std::ranges::fill(pair, Complex());
    for (Index i = 0; i < chains.cols(); ++i) {
      pair[static_cast<std::size_t>(i)] = {chains(c, i) - m[0], chains(c + 1, i) - m[1]};
    }
    Forward(pair, roots);
    for (std::size_t k = 0; k < size; ++k) power[k] += std::norm(pair[k]);
  }
  Backward(power, roots);
  const double scale = static_cast<double>(size) * static_cast<double>(chains.rows() * chains.cols());
  std::vector<double> covariances(static_cast<std::size_t>(chains.cols()));
  for (std::size_t t = 0; t < covariances.size(); ++t) covariances[t] = power[t].real() / scale;
  return covariances;
}

// τ = -1 + 2 Σ_t ρ_t by Geyer's initial monotone sequence: the pairs P_k = ρ_2k + ρ_2k+1, each at most its
// predecessor, up to the first that is not positive; of that one only a positive ρ_2k, once.
double GeyerTime(std::span<const double> rho) {
  double sum = 0;
  double smallest = kInfinity;
  std::size_t t = 0;
  const auto pair = [&] { return rho[t] + rho[t + 1]; };
  for (; t + 5 < rho.size() && pair() > 0; t += 2) {
    smallest = std::min(smallest, pair());
    sum += smallest;
  }
  // Without a pair in the sum `posterior` still counts lag 0, and so finds τ = 2.
  if (t == 0) sum = rho[0];
  return -1 + 2 * sum + (pair() >= 0 ? rho[t] : std::max(rho[t], 0.0));
}

// ESS = S / τ, at most S log10(S), from ρ_t = 1 - (W - γ_t) / var⁺ with the mean autocovariances γ, W = N γ_0 / (N -
// 1), var⁺ = γ_0 + var(chain means). Without the common mean first, the chain means of values far from zero would
// lose their differences to rounding.
double Ess(Chains chains) {
  if (chains.cols() < 3 || IsConstant(chains)) return kNaN;
  const double centre = Mean(chains.values());
  for (double& x : chains.values()) x -= centre;
  const std::vector<double> means = ChainMeans(chains);
  std::vector<double> rho = MeanAutocovariances(chains, means);
  const double n = static_cast<double>(chains.cols());
  const double within = rho[0] * n / (n - 1);
  const double variance = rho[0] + Variance(means);
  if (!std::isfinite(variance)) return kNaN;
  for (double& r : rho) r = 1 - (within - r) / variance;
  rho[0] = 1;
  const double total = n * static_cast<double>(chains.rows());
  return total / std::max(GeyerTime(rho), 1 / std::log10(total));
}

// The ESS of x <= q, q the p-quantile: the order statistic at 1 + (S - 1) p rounded down. Quantiles that interpolate
// to the next one separate the same draws.
double EssQuantile(Draws draws, double p) {
  std::vector<double> values = AllValues(draws);
  const double index = std::floor(static_cast<double>(values.size() - 1) * p);
  const double q = OrderStatistic(values, static_cast<std::size_t>(index));
  return Ess(Split(Transform(draws, [&](double x) { return x <= q ? 1.0 : 0.0; })));
}

// std::min and std::max may drop a NaN.
bool EitherIsNaN(double a, double b) { return std::isnan(a) || std::isnan(b); }

// c_0 + c_1 x + ... + c_7 x^7
double Polynomial(const std::array<double, 8>& c, double x) {
  double sum = 0;
  for (std::size_t i = c.size(); i-- > 0;) sum = sum * x + c[i];
  return sum;
}

}  // namespace

double SplitRhat(Draws draws) {
  if (draws.empty() || !NoneIsNaN(draws)) return kNaN;
  const double median = Median(draws);
  const Chains folded = Transform(draws, [&](double x) { return std::abs(x - median); });
  if (!NoneIsNaN(folded)) return kNaN;
  const double location = Rhat(NormalScores(Split(draws)));
  const double scale = Rhat(NormalScores(Split(folded)));
  return EitherIsNaN(location, scale) ? kNaN : std::max(location, scale);
}

double EssBulk(Draws draws) {
  if (draws.empty() || !NoneIsNaN(draws)) return kNaN;
  return Ess(NormalScores(Split(draws)));
}

double EssTail(Draws draws) {
  if (draws.empty() || !AllAreFinite(draws) || IsConstant(draws)) return kNaN;
  const double low = EssQuantile(draws, 0.05);
  const double high = EssQuantile(draws, 0.95);
  return EitherIsNaN(low, high) ? kNaN : std::min(low, high);
}

double EssMean(Draws draws) {
  if (draws.empty() || !AllAreFinite(draws)) return kNaN;
  return Ess(Split(draws));
}

Diagnostics Diagnose(Draws draws) {
  const double ess_mean = EssMean(draws);
  return {.rhat = SplitRhat(draws),
          .ess_bulk = EssBulk(draws),
          .ess_tail = EssTail(draws),
          .ess_mean = ess_mean,
          .autocorrelation_time = static_cast<double>(draws.rows() * draws.cols()) / ess_mean};
}

// Algorithm AS 241 (PPND16), Wichura, Applied Statistics 37 (1988): a rational function of 0.425² - (p - 1/2)² in the
// middle, and of √(-log p) or √(-log(1 - p)) in the tails.
double NormalQuantile(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -kInfinity : p == 1 ? kInfinity : kNaN;
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           Polynomial(
               {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
               r) /
           Polynomial(
               {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
                3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3},
               r);
  }
  const double r = std::sqrt(-std::log(std::min(p, 1 - p)));
  const double z =
      r <= 5 ? Polynomial({1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                           3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                           2.27238449892691845833e-2, 7.74545014278341407640e-4},
                          r - 1.6) /
                   Polynomial({1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                               1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                               1.05075007164441684324e-9},
                              r - 1.6)
             : Polynomial({6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                           2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                           2.71155556874348757815e-5, 2.01033439929228813265e-7},
                          r - 5) /
                   Polynomial({1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                               7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                               2.04426310338993978564e-15},
                              r - 5);
  return q < 0 ? -z : z;
}

}  // namespace grbm
