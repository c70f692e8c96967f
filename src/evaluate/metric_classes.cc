#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "evaluate/common.h"
#include "evaluate/metrics.h"
#include "grbm/evaluate/classifier.h"

namespace grbm {

namespace {

constexpr float kSure = 0.9F;
constexpr Index kFewest = 2 * Classifier::kFeatures;  // rows, or the covariance of the features means nothing

Estimate Share(Index count, Index rows) {
  const double share = static_cast<double>(count) / static_cast<double>(rows);
  return {share, std::sqrt(share * (1 - share) / static_cast<double>(rows))};
}

struct Judged {
  Index rows;
  FeatureMoments moments;
  Index sure = 0;
  std::array<Index, Classifier::kClasses> classes{};
};

Judged Judge(const Classifier& classifier, ConstMatrix rows, ThreadPool& pool) {
  const Classifier::Judgement judgement = classifier(rows, pool);
  Judged out{rows.rows(), FeatureMoments(Classifier::kFeatures)};
  out.moments.Add(judgement.features);
  for (Index i = 0; i < rows.rows(); ++i) {
    const std::span<const float> p = judgement.probabilities.view().row(i);
    const auto best = std::ranges::max_element(p);
    out.sure += *best > kSure;
    ++out.classes[ToSize(best - p.begin())];
  }
  return out;
}

// What a reader wants of the samples, and of data beside it.
void Add(std::vector<Score>& scores, const std::string& ending, const Judged& judged, const Judged& reference,
         const std::string& note) {
  scores.push_back({"frechet" + ending, {Frechet(reference.moments, judged.moments).distance, std::nan("")}, note});
  scores.push_back({"sure" + ending, Share(judged.sure, judged.rows), "share whose class has a probability above 0.9"});
  const auto [least, most] = std::ranges::minmax(judged.classes);
  scores.push_back({"rarest" + ending, Share(least, judged.rows), "share of the class with the fewest"});
  scores.push_back({"commonest" + ending, Share(most, judged.rows), "share of the class with the most"});
}

std::vector<Score> Measure(Evaluation& evaluation) {
  const EvaluationRequest& request = evaluation.request();
  const Classifier classifier = Classifier::Load(request.classifier);
  const auto judge = [&](const Matrix& rows) {
    return Judge(classifier, rows.view().Rows(0, std::min(request.rows, rows.rows())), evaluation.pool());
  };
  const Judged reference = judge(evaluation.training());
  const Judged samples = judge(evaluation.samples());
  std::vector<Score> scores;
  Add(scores, "", samples, reference,
      fmt::format("{}, against {} {}, on the classifier's features", evaluation.SamplesText(), reference.rows,
                  evaluation.ReferenceText()));
  for (std::size_t c = 0; c < samples.classes.size(); ++c) {
    scores.push_back({fmt::format("class_{}", c), Share(samples.classes[c], samples.rows),
                      fmt::format("share; the data: {:.3f}", Share(reference.classes[c], reference.rows).value)});
  }
  if (request.held_out && evaluation.held_out().rows() >= kFewest) {
    Add(scores, "_held_out", judge(evaluation.held_out()), reference, "held-out data: the least one can hope for");
  }
  return scores;
}

}  // namespace

const Metric kClassesMetric = {
    "classes", "Fréchet distance, confidence and shares of classes by a small classifier; built in for mnist",
    [](const Evaluation& evaluation) -> std::string {
      const EvaluationRequest& r = evaluation.request();
      if (r.classifier.empty()) {
        return "a classifier of these data is needed: give --classifier FILE, which python/tools/train_classifier.py "
               "makes; for --data mnist one is built in";
      }
      if (r.data.bits() > 16 || r.data.shape() != Classifier::kShape) {
        return "the data must be grey images of 28 × 28 pixels";
      }
      return std::min(r.data.rows(), r.samples) < kFewest
                 ? fmt::format("at least {} samples and rows of data are needed", kFewest)
                 : "";
    },
    Measure};

}  // namespace grbm
