#include "grbm/evaluate/likelihood.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evaluate/common.h"
#include "evaluate/traces.h"
#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "grbm/sampler/diagnostics.h"
#include "grbm/sampler/sampler.h"
#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr Index kRowsAtOnce = 1024;
constexpr std::int64_t kFewestSteps = 100;  // of the chains that stand for samples of the model

// Ends of Gibbs chains, half from rows of data and half from noise, and R̂ of their second halves.
struct ModelSamples {
  Matrix visible;
  double rhat;
};

ModelSamples RunChains(const Model& model, ConstMatrix data, const AisOptions& options, ThreadPool& pool,
                       const EvaluationProgress& progress) {
  const std::uint64_t seed = EvaluationSeed(options.seed, EvaluationStream::kModelSamples);
  const Matrix start = NoiseAndData(model, data, options.chains, seed, pool);
  SamplerOptions gibbs;
  gibbs.method = Method::kGibbs;
  gibbs.steps = std::max(kFewestSteps, options.temperatures);
  const std::int64_t burn_in = gibbs.steps / 2;
  BasicMatrix<double> energy(0, gibbs.steps - burn_in);  // of this rank's chains
  Ranks& ranks = options.ranks != nullptr ? *options.ranks : OneRank();
  Matrix ends = RowsTogether(ranks, options.chains, model.visible(), [&](Index first, Index count) {
    Chains chains = ChainsFrom(model, start.view().Rows(first, count), seed, pool, static_cast<std::uint32_t>(first));
    Traces traces(model, pool, count, gibbs.steps, burn_in, "chains of the model", progress);
    Sampler(model, gibbs, pool).Run(chains, {.seed = seed}, &traces);
    energy = traces.energy();
    return std::move(chains.visible);
  });
  return {std::move(ends), SplitRhat(GatherRows(ranks, std::move(energy), options.chains).view())};
}

// E[log p(v_i | h) | v] of one row, for one unit.                                                      [math.md (39)]
double ExpectedLogDensity(const Model& model, std::span<const float> v, std::span<const float> probabilities, Index i) {
  const auto at = ToSize(i);
  double mean = double{v[at]} - double{model.mu()[at]};
  double variance = 0;
  const std::span<const float> w = model.W().row(i);
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double p = probabilities[j];
    mean -= double{w[j]} * p;
    variance += double{w[j]} * double{w[j]} * p * (1 - p);
  }
  return -0.5 * (std::log(2 * std::numbers::pi) + double{model.log_var()[at]} +
                 (mean * mean + variance) * double{model.inverse_variance()[at]});
}

std::vector<Index> DegenerateUnits(const Model& model, ConstMatrix data) {
  std::vector<Index> units;
  for (Index i = 0; i < data.cols(); ++i) {
    bool constant = true;
    for (Index r = 1; r < data.rows() && constant; ++r) constant = data(r, i) == data(0, i);
    if (constant || double{model.variance()[ToSize(i)]} <= 1.001 * model.variance_floor()) units.push_back(i);
  }
  return units;
}

// log p(v) of rows in the model's units, added to `nats` in the data's own.
void AddLogLikelihoods(const VisibleLaw& law, const Standardization& standardization, ConstMatrix rows,
                       double log_partition, ThreadPool& pool, std::vector<double>& nats) {
  for (const double energy : FreeEnergies(law, rows, pool)) {
    nats.push_back(-energy - log_partition - LogJacobian(standardization));
  }
}

}  // namespace

double PartitionFunction::low() const {
  return annealing && annealing->wide ? annealing->low() : log_partition.value - 2 * log_partition.error;
}
double PartitionFunction::high() const {
  return annealing && annealing->wide ? annealing->high() : log_partition.value + 2 * log_partition.error;
}

double LogJacobian(const Standardization& standardization) {
  double sum = 0;
  for (const float d : standardization.deviation) sum += std::log(double{d});
  return sum;
}

PartitionFunction ComputePartition(const VisibleLaw& law, ConstMatrix data, const AisOptions& options, ThreadPool& pool,
                                   const EvaluationProgress& progress) {
  const Model& model = law.model;
  CheckRows(model, data, "data");
  if (model.gaussian_units() <= Quadrature::kMaxVisible) {
    return {PartitionMethod::kQuadrature, {Quadrature(law).log_partition(), 0}, {}};
  }
  if (law.temperature != 1) {
    throw ConfigError(fmt::format("likelihood: log Z of exp(-Ẽ/{}) is known for at most {} visible units: these are {}",
                                  law.temperature, Quadrature::kMaxVisible, model.gaussian_units()));
  }
  if (model.hidden() <= ExactModel::kMaxHidden) {
    return {PartitionMethod::kEnumeration, {ExactModel(model, pool).log_partition(), 0}, {}};
  }
  const GaussianBase base = FitBase(model, data);
  const ModelSamples samples = RunChains(model, data, options, pool, progress);
  PartitionFunction result{PartitionMethod::kAnnealing, {}, {}, samples.rhat};
  result.annealing = AnnealedImportance(model, base, samples.visible, options, pool, progress);
  result.log_partition = result.annealing->log_partition;
  return result;
}

std::vector<double> LogLikelihoods(const VisibleLaw& law, const Standardization& standardization, ConstMatrix data,
                                   double log_partition, ThreadPool& pool) {
  std::vector<double> nats;
  for (Index first = 0; first < data.rows(); first += kRowsAtOnce) {
    Matrix block(std::min(kRowsAtOnce, data.rows() - first), data.cols());
    CopyRows(data.Rows(first, block.rows()), block);
    standardization.Apply(block);
    AddLogLikelihoods(law, standardization, block, log_partition, pool, nats);
  }
  return nats;
}

DataLikelihood MeanLogLikelihood(const VisibleLaw& law, const Standardization& standardization, ConstMatrix data,
                                 double log_partition, bool dequantize, std::uint64_t seed, ThreadPool& pool) {
  if (data.rows() < 2) throw DataError("data: a mean likelihood needs at least two rows");
  const Model& model = law.model;
  const std::vector<Index> degenerate = law.temperature == 1 ? DegenerateUnits(model, data) : std::vector<Index>();
  const Stream noise(EvaluationSeed(seed, EvaluationStream::kDequantize), Purpose::kInitialVisible);
  std::vector<double> nats;
  double degenerate_sum = 0;
  for (Index first = 0; first < data.rows(); first += kRowsAtOnce) {
    Matrix block(std::min(kRowsAtOnce, data.rows() - first), data.cols());
    CopyRows(data.Rows(first, block.rows()), block);
    standardization.Apply(block);
    if (dequantize) {  // behind the map, which moves whole numbers
      for (Index r = 0; r < block.rows(); ++r) {
        for (Index i = 0; i < block.cols(); ++i) {
          const float unit = standardization.identity() ? 1.0f : standardization.deviation[ToSize(i)];
          block(r, i) += noise.Uniform(0, static_cast<std::uint32_t>(first + r), i) / unit;
        }
      }
    }
    AddLogLikelihoods(law, standardization, block, log_partition, pool, nats);
    if (degenerate.empty()) continue;
    std::vector<double> sums(ToSize(block.rows()));
    const auto add = [&](Index r, double share, std::span<const float> p) {
      for (const Index i : degenerate) sums[ToSize(r)] += share * ExpectedLogDensity(model, block.row(r), p, i);
    };
    ForClasses(model, ClassesOf(law, block, pool), block, pool, 1, add);
    for (const double s : sums) degenerate_sum += s;
  }
  DataLikelihood result;
  result.nats = Mean(nats);
  result.degenerate_units = static_cast<Index>(degenerate.size());
  result.degenerate_nats = degenerate_sum / static_cast<double>(data.rows());
  if (!standardization.identity()) {
    for (const Index i : degenerate) result.degenerate_nats -= std::log(double{standardization.deviation[ToSize(i)]});
  }
  return result;
}

}  // namespace grbm
