#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "evaluate/common.h"
#include "evaluate/metrics.h"
#include "grbm/evaluate/likelihood.h"
#include "grbm/evaluate/samples.h"
#include "grbm/evaluate/score.h"
#include "grbm/model/energy.h"
#include "grbm/model/quadrature.h"

namespace grbm {

namespace {

std::string MethodNote(PartitionMethod method) {
  switch (method) {
    case PartitionMethod::kEnumeration:
      return "exact, by enumeration";
    case PartitionMethod::kQuadrature:
      return "exact, by quadrature";
    case PartitionMethod::kAnnealing:
      break;
  }
  return "annealed importance sampling";
}

// value + factor · log Z, with the error of both; an interval where log Z is one.
Score WithPartition(std::string name, Estimate rest, double factor, const PartitionFunction& z, std::string note) {
  Score score{std::move(name),
              {rest.value + factor * z.log_partition.value, std::hypot(rest.error, factor * z.log_partition.error)},
              std::move(note)};
  if (z.annealing && z.annealing->wide) {
    const double a = rest.value + factor * z.low();
    const double b = rest.value + factor * z.high();
    score.low = std::min(a, b) - 2 * rest.error;
    score.high = std::max(a, b) + 2 * rest.error;
    score.estimate = {};
  }
  return score;
}

void AddData(std::vector<Score>& scores, Evaluation& evaluation, const std::string& part, const Matrix& rows,
             bool is_8bit, const PartitionFunction& z) {
  const auto likelihood = [&](bool dequantize) {
    return MeanLogLikelihood(evaluation.law(), evaluation.file().standardization, rows, 0, dequantize,
                             evaluation.request().seed, evaluation.pool());
  };
  const DataLikelihood plain = likelihood(false);
  scores.push_back(WithPartition("nats_" + part, plain.nats, -1, z,
                                 fmt::format("per row, in the data's own units; {} rows", rows.rows())));
  if (plain.degenerate_units > 0) {
    scores.push_back(
        {"degenerate_nats_" + part,
         {plain.degenerate_nats, std::numeric_limits<double>::quiet_NaN()},
         fmt::format("the part of {} units that are constant or at the variance floor", plain.degenerate_units)});
  }
  if (!is_8bit) return;
  const double scale = -1 / (static_cast<double>(rows.cols()) * std::numbers::ln2);
  const DataLikelihood smooth = likelihood(true);
  scores.push_back(WithPartition("bits_per_dimension_" + part,
                                 {scale * smooth.nats.value, std::abs(scale) * smooth.nats.error}, -scale, z,
                                 "with uniform dequantisation"));
  if (smooth.degenerate_units > 0) {
    scores.push_back({"degenerate_bits_per_dimension_" + part,
                      {scale * smooth.degenerate_nats, std::numeric_limits<double>::quiet_NaN()},
                      fmt::format("the part of those {} units", smooth.degenerate_units)});
  }
}

// log Z given the conditions of each row: rows, which anneal where no exact answer is near, begin from the Gaussian of all.
std::vector<PartitionFunction> PartitionsGiven(Evaluation& evaluation, const Matrix& values, const Matrix& conditions) {
  const EvaluationRequest& request = evaluation.request();
  std::vector<PartitionFunction> partitions(ToSize(values.rows()));
  const auto partition = [&](Index r, ThreadPool& pool) {
    partitions[ToSize(r)] =
        ComputePartition(GivenConditions(evaluation.law(), conditions.row(r)), values,
                         {request.chains, request.temperatures, request.seed, &evaluation.ranks()}, pool);
  };
  partition(0, evaluation.pool());
  if (partitions[0].annealing) {
    for (Index r = 1; r < values.rows(); ++r) {
      if (evaluation.progress()) evaluation.progress()("rows", r, values.rows());
      partition(r, evaluation.pool());
    }
  } else {
    evaluation.pool().ParallelFor(values.rows() - 1, [&](Index r) {
      ThreadPool one(1);
      partition(r + 1, one);
    });
  }
  return partitions;
}

// log p(v | u), on average over rows.                                                                    [math.md (84)]
void AddGiven(std::vector<Score>& scores, Evaluation& evaluation, const std::string& part, const Dataset& data,
              const Matrix& rows) {
  const EvaluationRequest& request = evaluation.request();
  const Matrix values = evaluation.InModelUnits(rows);
  Matrix conditions = data.ReadConditions(SomeRows(data, request.rows, request.seed));
  evaluation.file().conditions.Apply(conditions);
  const std::vector<PartitionFunction> partitions = PartitionsGiven(evaluation, values, conditions);
  std::vector<double> nats;
  double squares = 0;  // of the errors of log Z
  double low = 0;
  double high = 0;
  bool wide = false;
  for (Index r = 0; r < values.rows(); ++r) {
    const PartitionFunction& z = partitions[ToSize(r)];
    const VisibleLaw law = GivenConditions(evaluation.law(), conditions.row(r));
    const std::vector<double> v(values.row(r).begin(), values.row(r).end());
    const double rest =
        -MarginalEnergy(law.model, v) / law.temperature - LogJacobian(evaluation.file().standardization);
    nats.push_back(rest - z.log_partition.value);
    squares += z.log_partition.error * z.log_partition.error;
    low += (rest - z.high()) / static_cast<double>(values.rows());
    high += (rest - z.low()) / static_cast<double>(values.rows());
    wide = wide || (z.annealing && z.annealing->wide);
  }
  Estimate mean = Mean(nats);
  mean.error = std::hypot(mean.error, std::sqrt(squares) / static_cast<double>(values.rows()));
  Score score{"nats_" + part, mean,
              fmt::format("per row given its conditions, in the data's own units; {} rows; {}", values.rows(),
                          MethodNote(partitions[0].method))};
  if (wide) {
    score.low = low - 2 * mean.error;
    score.high = high + 2 * mean.error;
    score.estimate = {};
  }
  scores.push_back(std::move(score));
}

std::vector<Score> MeasureGiven(Evaluation& evaluation) {
  const EvaluationRequest& request = evaluation.request();
  std::vector<Score> scores;
  AddGiven(scores, evaluation, "training", request.data, evaluation.training());
  if (request.held_out) AddGiven(scores, evaluation, "held_out", *request.held_out, evaluation.held_out());
  return scores;
}

std::vector<Score> Measure(Evaluation& evaluation) {
  if (evaluation.file().model.conditions() > 0) return MeasureGiven(evaluation);
  const EvaluationRequest& request = evaluation.request();
  const PartitionFunction z =
      ComputePartition(evaluation.law(), evaluation.InModelUnits(evaluation.training()),
                       {request.chains, request.temperatures, request.seed, &evaluation.ranks()}, evaluation.pool(),
                       evaluation.progress());
  std::vector<Score> scores;
  const double temperature = evaluation.file().sampler.temperature;
  if (temperature != 1) {
    scores.push_back({"temperature", {temperature, 0}, fmt::format("all of {}", LawText(evaluation.file().sampler))});
  }
  std::string note = MethodNote(z.method);
  if (z.annealing)
    note += fmt::format(", {:.1f} of {} chains effective", z.annealing->effective_chains, request.chains);
  if (z.annealing && z.annealing->wide) note += "; the bounds are wider than its error bar, so only they are given";
  scores.push_back(WithPartition("log_partition", {0, 0}, 1, z, "nats, " + note));
  if (z.annealing) {
    scores.push_back({"log_partition_lower", z.annealing->lower, "nats, bound in expectation"});
    scores.push_back({"log_partition_upper", z.annealing->upper,
                      fmt::format("nats, approximate: from chains with R̂ {:.3f}{}", z.rhat,
                                  z.rhat <= 1.05 ? "" : ", which have not converged")});
  }
  AddData(scores, evaluation, "training", evaluation.training(), request.data.is_8bit(), z);
  if (request.held_out) {
    AddData(scores, evaluation, "held_out", evaluation.held_out(), request.held_out->is_8bit(), z);
  }
  return scores;
}

}  // namespace

const Metric kLikelihoodMetric = {
    "likelihood", "log-likelihood, exact for small models, otherwise by annealed importance sampling",
    [](const Evaluation& evaluation) -> std::string {
      if (evaluation.request().data.rows() < 2) return "at least two rows of data are needed";
      const VisibleLaw& law = evaluation.law();
      if (law.temperature != 1 && law.model.gaussian_units() > Quadrature::kMaxVisible) {
        return fmt::format("the chains' law is {}, whose log Z is known for at most {} visible units",
                           LawText(evaluation.file().sampler), Quadrature::kMaxVisible);
      }
      return WhyNotOfRows(evaluation);
    },
    Measure};

}  // namespace grbm
