#include <fmt/core.h>

#include <algorithm>

#include "evaluate/metrics.h"
#include "grbm/evaluate/neighbors.h"

namespace grbm {

namespace {

std::vector<Score> Measure(Evaluation& evaluation) {
  const Memorisation m =
      MeasureMemorisation(evaluation.samples(), evaluation.training(), evaluation.held_out(), evaluation.pool());
  const Index rows = std::min(evaluation.training().rows(), evaluation.held_out().rows());
  const Memorisation data = MemorisationOfTraining(evaluation.training(), evaluation.held_out(),
                                                   evaluation.samples().rows(), evaluation.pool());
  return {{"to_training", m.to_training, fmt::format("root mean square per value, to the nearest of {} rows", rows)},
          {"to_held_out", m.to_held_out, fmt::format("the same, of {} held-out rows", rows)},
          {"nearer_to_training", m.nearer_to_training, "share of the samples"},
          {"nearer_to_training_data", data.nearer_to_training,
           "share of training rows, each against the others: to compare with"}};
}

}  // namespace

const Metric kMemorisationMetric = {
    "memorisation", "distance to the nearest training row against that to the nearest held-out row",
    [](const Evaluation& evaluation) -> std::string {
      const EvaluationRequest& r = evaluation.request();
      if (!r.held_out) return "held-out data are needed: give them with --held-out";
      const Index fewest = std::min({r.data.rows(), r.held_out->rows(), r.samples});
      return fewest < 2 ? "at least two rows of data, of held-out data and of samples are needed" : "";
    },
    Measure};

}  // namespace grbm
