#include <fmt/core.h>

#include "evaluate/metrics.h"
#include "grbm/evaluate/neighbors.h"

namespace grbm {

namespace {

constexpr Index kNeighbors = 5;

void Add(std::vector<Score>& scores, const std::string& ending, const Coverage& c, const std::string& note) {
  scores.push_back({"precision" + ending, c.precision, note.empty() ? "share of samples near data" : note});
  scores.push_back({"recall" + ending, c.recall, note.empty() ? "share of data near samples" : note});
  scores.push_back({"coverage" + ending, c.coverage, note.empty() ? "share of data with a sample nearby" : note});
}

std::vector<Score> Measure(Evaluation& evaluation) {
  const Matrix& data = evaluation.training_features();
  std::vector<Score> scores;
  Add(scores, "", MeasureCoverage(data, evaluation.sample_features(), kNeighbors, evaluation.pool()), "");
  if (evaluation.request().held_out && evaluation.held_out().rows() > kNeighbors) {
    Add(scores, "_held_out", MeasureCoverage(data, evaluation.held_out_features(), kNeighbors, evaluation.pool()),
        "the same of held-out data");
  }
  return scores;
}

}  // namespace

const Metric kCoverageMetric = {"coverage", "precision, recall and coverage of nearest-neighbour manifolds",
                                [](const Evaluation& evaluation) -> std::string {
                                  const EvaluationRequest& r = evaluation.request();
                                  return std::min(r.data.rows(), r.samples) <= kNeighbors
                                             ? fmt::format("more than {} samples and rows of data are needed",
                                                           kNeighbors)
                                             : "";
                                },
                                Measure};

}  // namespace grbm
