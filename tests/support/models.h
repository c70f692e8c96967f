// Models and states for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/model/model.h"

namespace grbm::testing {

// Numbers from the standard library's generator, so that tests do not draw from the streams they test.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}
  double Normal() { return normal_(generator_); }
  double Uniform(double low, double high) { return low + (high - low) * uniform_(generator_); }
  bool Coin() { return Uniform(0, 1) < 0.5; }

 private:
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

// A model with W of the given scale, and variances between 0.4 and 2.5.
inline Model RandomModel(Index visible, Index hidden, std::uint64_t seed, double scale = 1.0) {
  Dice dice(seed);
  Parameters p(visible, hidden);
  for (float& w : p.W.values()) w = static_cast<float>(scale * dice.Normal());
  for (float& b : p.b) b = static_cast<float>(0.5 * dice.Normal());
  for (float& m : p.mu) m = static_cast<float>(0.5 * dice.Normal());
  for (float& l : p.log_var) l = static_cast<float>(dice.Uniform(-0.9, 0.9));
  return Model(std::move(p));
}

// The same with units of labels behind the others, whose variances are 1.
inline Model LabelledModel(Index gaussian, Index labels, Index hidden, std::uint64_t seed, double scale = 1.0) {
  Parameters p = RandomModel(gaussian + labels, hidden, seed, scale).parameters();
  for (Index k = 0; k < labels; ++k) p.log_var[static_cast<std::size_t>(gaussian + k)] = 0;
  return Model(std::move(p), Model::kDefaultVarianceFloor, labels);
}

// v and y of one state of such a model.
inline std::vector<double> State(const Model& model, std::span<const double> v, Index label) {
  std::vector<double> state(v.begin(), v.end());
  state.resize(static_cast<std::size_t>(model.visible()));
  state[static_cast<std::size_t>(model.gaussian_units() + label)] = 1;
  return state;
}

// The same with conditions.
inline Model ConditionedModel(Index visible, Index conditions, Index hidden, std::uint64_t seed, double scale = 1.0) {
  Parameters p = RandomModel(visible, hidden, seed, scale).parameters();
  Dice dice(seed + 1000);
  p.A = Matrix(visible, conditions);
  p.B = Matrix(hidden, conditions);
  for (float& a : p.A.values()) a = static_cast<float>(0.7 * dice.Normal());
  for (float& b : p.B.values()) b = static_cast<float>(0.7 * dice.Normal());
  return Model(std::move(p));
}

// The same with b such that p(h) = p(1 - h): modes come in pairs of equal weight, the further apart the larger W.
//   b_j = -Σ_i W_ij (μ_i + ½ Σ_k W_ik) / σ_i²
inline Model BalancedModel(Index visible, Index hidden, std::uint64_t seed, double scale) {
  Parameters p = RandomModel(visible, hidden, seed, scale).parameters();
  for (Index j = 0; j < hidden; ++j) {
    double sum = 0;
    for (Index i = 0; i < visible; ++i) {
      double mean = p.mu[static_cast<std::size_t>(i)];
      for (const float w : p.W.row(i)) mean += 0.5 * double{w};
      sum += double{p.W(i, j)} * mean / std::exp(double{p.log_var[static_cast<std::size_t>(i)]});
    }
    p.b[static_cast<std::size_t>(j)] = static_cast<float>(-sum);
  }
  return Model(std::move(p));
}

inline Matrix RandomVisible(Index rows, Index visible, std::uint64_t seed, double scale = 1.0) {
  Dice dice(seed);
  Matrix v(rows, visible);
  for (float& x : v.values()) x = static_cast<float>(scale * dice.Normal());
  return v;
}

inline BitMatrix RandomHidden(Index rows, Index hidden, std::uint64_t seed) {
  Dice dice(seed);
  BitMatrix h(rows, hidden);
  for (Index r = 0; r < rows; ++r) {
    for (Index j = 0; j < hidden; ++j) h.Set(r, j, dice.Coin());
  }
  return h;
}

inline std::vector<double> Doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

inline std::vector<double> Doubles(ConstBitView h, Index row) {
  std::vector<double> out;
  for (Index j = 0; j < h.units(); ++j) out.push_back(h.Get(row, j) ? 1.0 : 0.0);
  return out;
}

// ∂²f/∂v_i∂v_k by central differences, on average over rows.
template <typename F>
double MeanHessian(ConstMatrix rows, std::size_t i, std::size_t k, const F& f) {
  constexpr double kStep = 1e-3;
  double hessian = 0;
  for (Index r = 0; r < rows.rows(); ++r) {
    for (const double a : {-1.0, 1.0}) {
      for (const double b : {-1.0, 1.0}) {
        std::vector<double> at = Doubles(rows.row(r));
        at[i] += a * kStep;
        at[k] += b * kStep;
        hessian += a * b * f(at) / (4 * kStep * kStep) / static_cast<double>(rows.rows());
      }
    }
  }
  return hessian;
}

}  // namespace grbm::testing
