// Log-likelihoods of data: exact where the model allows it, by annealed importance sampling elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/data/standardization.h"
#include "grbm/evaluate/ais.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/model/visible_law.h"

namespace grbm {

enum class PartitionMethod { kEnumeration, kQuadrature, kAnnealing };

struct PartitionFunction {
  PartitionMethod method = PartitionMethod::kEnumeration;
  Estimate log_partition;  // error 0 where exact
  std::optional<AisResult> annealing;
  double rhat = 1;  // of the chains whose ends stand for samples of the model, on their marginal energy

  // Where log Z lies: the value itself if exact, two standard errors around the estimate, or, where the bounds are
  // wider than that can be believed, the interval between them.
  double low() const;
  double high() const;
};

// By quadrature up to 2 visible units, which is all that is known of a law at a temperature other than 1 (ConfigError
// beyond); by enumeration up to 20 hidden ones, otherwise by annealing from the Gaussian fitted to the data (rows × visible, in the model's units). Annealing back starts from the ends of Gibbs chains, half
// of them from data and half from the base, of as many steps as there are temperatures, 100 at least: that bound is approximate.
PartitionFunction ComputePartition(const VisibleLaw& law, ConstMatrix data, const AisOptions& options, ThreadPool& pool,
                                   const EvaluationProgress& progress = {});

// log p(v) of each row, in the data's own units. data: rows × visible in those units.
std::vector<double> LogLikelihoods(const VisibleLaw& law, const Standardization& standardization, ConstMatrix data,
                                   double log_partition, ThreadPool& pool);

struct DataLikelihood {
  Estimate nats;  // mean of log p(v) over rows, in the data's own units; the error is that of the rows
  // Units that are constant in the data, or at the model's variance floor: their densities have no upper limit.
  Index degenerate_units = 0;
  double degenerate_nats = 0;  // their part Σ E[log p(v_i | h) | v] of the mean                        [math.md (39)]
};

// data: rows × visible in their own units, at least two. With `dequantize`, uniform noise from 0 to 1 is added to every
// value first: -nats/(visible log 2) is then an upper bound of the bits per dimension of 8-bit data. Units are told apart as
// degenerate where the law is a mixture of Gaussians: at temperature 1.
DataLikelihood MeanLogLikelihood(const VisibleLaw& law, const Standardization& standardization, ConstMatrix data,
                                 double log_partition, bool dequantize, std::uint64_t seed, ThreadPool& pool);

// Σ log deviation: log-densities in the model's units exceed those in the data's own by this.
double LogJacobian(const Standardization& standardization);

}  // namespace grbm
