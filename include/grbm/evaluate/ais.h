// Annealed importance sampling (Neal 2001) of log Z, in both directions.
#pragma once

#include <cstdint>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/core/ranks.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/model/model.h"

namespace grbm {

// Where annealing begins: independent Gaussians, classes that are all alike, and hidden units that are fair coins.
struct GaussianBase {
  std::vector<float> mean;
  std::vector<float> inverse_variance;

  // With the model's number of hidden units and classes.                                               [math.md (36)]
  double LogPartition(Index hidden, Index classes = 0) const;
};
// Mean and variance of every column of the data, rows × Gaussian units, in the model's units; no variance is below the
// model's own.
GaussianBase FitBase(const Model& model, ConstMatrix data);

struct AisOptions {
  Index chains = 100;
  std::int64_t temperatures = 1000;
  std::uint64_t seed = 1;
  Ranks* ranks = nullptr;  // who share the chains; nullptr: nobody
};

struct AisResult {
  Estimate log_partition;  // log of the mean weight: unbiased for Z, so low in the logarithm where weights differ much
  Estimate lower;          // the mean log weight, at or below log Z in expectation                     [math.md (37)]
  Estimate upper;          // the same from samples of the model back to the base: at or above log Z, if they are exact
  double effective_chains = 0;  // (Σw)²/Σw²

  // True where the bounds lie further apart than weights would put them whose spread is that of the error bar: the
  // number is then not to be trusted, only the interval.                                               [math.md (38)]
  bool wide = false;
  // Two standard errors beyond the bounds.
  double low() const { return lower.value - 2 * lower.error; }
  double high() const { return upper.value + 2 * upper.error; }
};

// log weights of chains that walk from schedule.front() to schedule.back(), with 0 the base and 1 the model. `start`:
// chains × visible, samples of the law at schedule.front(); the first is chain number `first`. exp of a weight has the mean
// Z_back/Z_front.                                                                                      [math.md (35)]
std::vector<double> AnnealedLogWeights(const Model& model, const GaussianBase& base, std::span<const double> schedule,
                                       ConstMatrix start, std::uint64_t seed, ThreadPool& pool,
                                       const EvaluationProgress& progress = {}, Index first = 0);

// `samples`: rows of the model's law, for the way back; as many chains as there are rows.
AisResult AnnealedImportance(const Model& model, const GaussianBase& base, ConstMatrix samples,
                             const AisOptions& options, ThreadPool& pool, const EvaluationProgress& progress = {});

}  // namespace grbm
