// The samplers whose chains have a law, and what they are compared with.
#pragma once

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "grbm/model/exact.h"
#include "grbm/sampler/options.h"
#include "grbm/train/options.h"

namespace grbm::testing {

inline SamplerOptions LearningOptions(Method method, Adjust adjust, double step_size, std::int64_t steps) {
  SamplerOptions o;
  o.method = method;
  o.adjust = adjust;
  o.step_size = step_size;
  o.step_scale = StepScale::kUnit;
  o.langevin_steps = 3;
  o.steps = steps;
  o.anneal = method != Method::kLangevin;
  return o;
}

struct SamplerCase {
  std::string name;
  SamplerOptions sampler;
};
inline void PrintTo(const SamplerCase& c, std::ostream* out) { *out << c.name; }

inline std::vector<SamplerCase> SamplersWithALaw() {
  return {{"gibbs", LearningOptions(Method::kGibbs, Adjust::kNone, 1, 60)},
          {"partial_gibbs", LearningOptions(Method::kPartialGibbs, Adjust::kNone, 1, 60)},
          {"langevin_metropolis", LearningOptions(Method::kLangevin, Adjust::kMetropolis, 0.5, 120)},
          {"gibbs_langevin_metropolis", LearningOptions(Method::kGibbsLangevin, Adjust::kMetropolis, 0.4, 120)},
          {"gibbs_langevin_conditional", LearningOptions(Method::kGibbsLangevin, Adjust::kConditional, 0.8, 60)}};
}

// A sampler, and what of its states goes into the gradient.
struct GradientCase {
  std::string name;
  SamplerOptions sampler;
  HiddenKind hidden = HiddenKind::kSample;
  VisibleKind visible = VisibleKind::kSample;
};
inline void PrintTo(const GradientCase& c, std::ostream* out) { *out << c.name; }

// Calls use(x) for every element of parameters or of a gradient.
template <typename P, typename Use>
void ForParameters(P& p, const Use& use) {
  for (const auto& tensor : p.Tensors()) {
    for (auto& x : tensor.values()) use(x);
  }
}

template <typename Use>
void ForParameters(const ExactGradient& gradient, const Use& use) {
  for (const double x : gradient.W.values()) use(x);
  for (const auto* const values : {&gradient.b, &gradient.mu, &gradient.log_var}) {
    for (const double x : *values) use(x);
  }
}

// The model's parameters with `step` added to element `at` of them, and what that is then.
inline std::pair<Parameters, double> Moved(const Model& model, std::size_t at, float step) {
  Parameters p = model.parameters();
  std::size_t k = 0;
  double value = 0;
  ForParameters(p, [&](float& x) {
    if (k++ != at) return;
    x += step;
    value = x;
  });
  return {std::move(p), value};
}

template <typename P>
std::vector<double> Values(const P& p) {
  std::vector<double> values;
  ForParameters(p, [&](double x) { values.push_back(x); });
  return values;
}

// Rows drawn from a known model, the truth; the start is another one.
inline Matrix ExactDraws(const Model& truth, Index rows, std::uint32_t first = 0) {
  Matrix v(rows, truth.visible());
  BitMatrix h(rows, truth.hidden());
  ExactModel(truth).Sample(99, first, v, h);
  return v;
}

// Modes at `first` and eight deviations above it, with shares of 0.2 and 0.8.
inline Model TwoFarModes(float first = -4) {
  Parameters p(1, 1);
  p.W(0, 0) = 8;
  p.mu[0] = first;
  p.b[0] = std::log(4.0f) - 8 * first - 32;
  return Model(std::move(p));
}

// How often a statistical test draws: under a sanitizer, which sees as much in fewer draws, a quarter as often. Bounds are
// in standard errors and stand as they are; a mean of 100 has 6 of them by chance once in 10⁷.
inline int Repeats(int count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return count / 4;
#else
  return count;
#endif
}

// Means of vectors, and how many of their own standard errors they are away from what is expected.
class MeanVector {
 public:
  void Add(const std::vector<double>& x) {
    sum_.resize(x.size());
    squares_.resize(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      sum_[k] += x[k];
      squares_[k] += x[k] * x[k];
    }
    ++count_;
  }
  std::size_t size() const { return sum_.size(); }
  double mean(std::size_t k) const { return sum_[k] / count_; }
  double error(std::size_t k) const { return std::sqrt((squares_[k] / count_ - mean(k) * mean(k)) / count_); }

 private:
  std::vector<double> sum_, squares_;
  double count_ = 0;
};

}  // namespace grbm::testing
