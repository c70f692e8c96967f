// Exact answers for models that can be enumerated: integrating v out of exp(-E) leaves a sum over 2^hidden states.
// Everything in double. These are the oracles of the tests, and the likelihoods of small models.
#pragma once

#include <span>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/core/random.h"
#include "grbm/model/model.h"

namespace grbm {

// The gradient of a log-likelihood, in double.
struct ExactGradient {
  BasicMatrix<double> W;
  std::vector<double> b;
  std::vector<double> mu;
  std::vector<double> log_var;
};

// Moments of the joint law p(v, h).
struct ExactMoments {
  std::vector<double> v;   // E[v]
  std::vector<double> h;   // E[h]
  BasicMatrix<double> vv;  // E[v vᵀ]
  BasicMatrix<double> vh;  // E[v hᵀ]
  BasicMatrix<double> hh;  // E[h hᵀ]
};

class ExactModel {
 public:
  static constexpr Index kMaxHidden = 20;

  // Enumerates once, on the pool where there is one: the bits are the same. Throws ConfigError for more than kMaxHidden
  // hidden units.
  explicit ExactModel(Model model);
  ExactModel(Model model, ThreadPool& pool);

  const Model& model() const { return model_; }

  double log_partition() const { return log_partition_; }  // [math.md (12)]
  // log p(v). Of a v in which units are missing, NaN, that of the others.                       [math.md (61), (66)]
  double LogDensity(std::span<const double> v) const;
  // Mean of log p(v) over the rows, in which values may be missing, and its gradient in the parameters. [math.md (11)]
  double MeanLogLikelihood(ConstMatrix data) const;
  ExactGradient LogLikelihoodGradient(ConstMatrix data) const;

  ExactMoments Moments() const;  // [math.md (13)]

  // Independent draws from p(v, h): v is rows × visible, h rows × hidden. Row r draws as chain first_chain + r.
  void Sample(std::uint64_t seed, std::uint32_t first_chain, MutableMatrix v, BitView h) const;

 private:
  void Enumerate(ThreadPool& pool);
  // Calls use(state, weight, Wh) for every hidden state: its bits, its probability and W h.
  template <typename Use>
  void ForStates(const Use& use) const;
  // p(h | known units), by state. Returns log p of the known units.                                     [math.md (66)]
  double Posterior(std::span<const double> v, std::vector<double>& p) const;

  Model model_;
  double log_partition_ = 0;
  std::vector<double> probability_;  // p(h), by state
  std::vector<double> cumulative_;
};

}  // namespace grbm
