// The paper's first claim: chains that start from noise train models that can be sampled from noise.
#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  return {{{"noise (the paper's)"}, "", Digits(options, {"train.algorithm=noise-cd"})},
          {{"the data (classic CD)"}, "", Digits(options, {"train.algorithm=cd"})},
          {{"where they were left (PCD)"}, "", Digits(options, {"train.algorithm=pcd"})}};
}

void Render(Page& page) {
  page.Text(
      "The paper starts the chains of contrastive divergence from noise, and reports that models trained with chains "
      "from the data cannot be sampled from noise; it gives no number. Here the three differ in nothing but where "
      "their chains start, and all are sampled from noise, with chains as long as in training.");
  page.DrawSamples("Samples from noise of models whose training chains started in different places");
  page.Table({"chains start from"}, "paper");
}

}  // namespace

const Experiment kNoiseStart = {
    "noise-start", "chains from noise against classic and persistent CD, all sampled from noise", Rows, Render};

}  // namespace grbm
