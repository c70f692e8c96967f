#include <fmt/core.h>

#include "evaluate/common.h"
#include "evaluate/metrics.h"

namespace grbm {

namespace {

constexpr Index kFewest = 20;

// Values of one column stay in it, each in another row: right pixels, no shapes.
Matrix ShuffleColumns(ConstMatrix rows) {
  Matrix out(rows.rows(), rows.cols());
  for (Index r = 0; r < rows.rows(); ++r) {
    for (Index i = 0; i < rows.cols(); ++i) out(r, i) = rows((r + (i + 1) * 7919) % rows.rows(), i);
  }
  return out;
}

void Add(std::vector<Score>& scores, const std::string& ending, const QuickDistance& distance,
         const std::string& note) {
  scores.push_back({"frechet" + ending, distance.frechet, note});
  scores.push_back({"kernel" + ending, distance.kernel, note});
}

std::vector<Score> Measure(Evaluation& evaluation) {
  const Matrix& reference = evaluation.training_features();
  std::vector<Score> scores;
  Add(scores, "", QuickDistances(reference, evaluation.sample_features()),
      fmt::format("{}, against {} {}", evaluation.SamplesText(), reference.rows(), evaluation.ReferenceText()));
  if (evaluation.request().held_out && evaluation.held_out().rows() >= kFewest) {
    Add(scores, "_held_out", QuickDistances(reference, evaluation.held_out_features()),
        "the least one can hope for: held-out data");
  }
  const Matrix shuffled = ShuffleColumns(evaluation.training().view().Rows(0, reference.rows()));
  Add(scores, "_shuffled", QuickDistances(reference, evaluation.quick()(shuffled, evaluation.pool())),
      "the right values without shapes: columns shuffled");
  return scores;
}

}  // namespace

const Metric kQuickMetric = {"quick", "Fréchet and kernel distance on features made from the data: seconds, no weights",
                             [](const Evaluation& evaluation) -> std::string {
                               const EvaluationRequest& r = evaluation.request();
                               return std::min(r.data.rows(), r.samples) < kFewest
                                          ? fmt::format("at least {} samples and rows of data are needed", kFewest)
                                          : "";
                             },
                             Measure};

}  // namespace grbm
