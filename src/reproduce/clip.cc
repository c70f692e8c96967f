// The paper's second claim: clipping the gradient makes large learning rates stable.
#include <fmt/core.h>

#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  std::vector<Row> rows;
  for (const double rate : {0.001, 0.01, 0.1}) {
    for (const double clip : {DigitClip(options.scale), 0.0}) {
      rows.push_back(
          {{fmt::format("{}", rate), clip > 0 ? fmt::format("{}", clip) : "none"},
           rate == 0.01 ? clip > 0 ? "stable" : "occasionally diverges" : "",
           Digits(options, {fmt::format("train.learning_rate={}", rate), fmt::format("train.clip_norm={}", clip)})});
    }
  }
  return rows;
}

void Render(Page& page) {
  page.Text(
      "The paper clips the norm of the gradient to 10 and then trains everything with a learning rate of 0.01; without "
      "clipping, training \"occasionally diverges\". A run that diverges here is a result: the table says when.");
  page.Table({"learning rate", "clipped at"}, "paper");
  page.DrawSamples("Samples with clipping (left) and without (right)", 2, [](const Row& row) {
    return fmt::format("learning rate {}, clip {}", row.labels[0], row.labels[1]);
  });
}

}  // namespace

const Experiment kClip = {"clip", "with and without clipping of the gradient, at several learning rates", Rows, Render};

}  // namespace grbm
