// The paper's ablation of contrastive-divergence steps and hidden units.
#include <fmt/core.h>

#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  const Scale scale = options.scale;
  const std::int64_t hidden = Choose<std::int64_t>(scale, 32, 512, 4096);
  const auto row = [&](std::int64_t steps, std::int64_t units, const std::string& published) {
    return Row{{std::to_string(steps), std::to_string(units)},
               published,
               Digits(options, {fmt::format("sampler.steps={}", steps), fmt::format("model.hidden={}", units)})};
  };
  return {row(HalfSteps(scale), hidden / 2, "32.33"), row(HalfSteps(scale), hidden, "21.02"),
          row(HalfSteps(scale), 2 * hidden, "22.05"), row(DigitSteps(scale), hidden, "17.49")};
}

void Render(Page& page) {
  page.Text(
      "Gibbs-Langevin without adjustment. The paper has 50 and 100 steps and 2048, 4096 and 8192 hidden units; the "
      "published numbers stand in the rows of the same place. Every cell makes equally many updates, so rows of more "
      "steps and more units take longer.");
  page.Table({"CD steps", "hidden units"}, "paper: FID (2048-d), at its own size");
  page.DrawSamples("Samples of each model", 0, [](const Row& row) {
    return fmt::format("{} steps, {} hidden units", row.labels[0], row.labels[1]);
  });
}

}  // namespace

const Experiment kCdTable = {"cd-table", "contrastive-divergence steps × hidden units", Rows, Render};

}  // namespace grbm
