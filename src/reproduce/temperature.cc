// What the temperature does, from 1 to the batch size, at equal cost.
#include <fmt/core.h>

#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  const Scale scale = options.scale;
  const auto batch = static_cast<int>(DigitBatch(scale));
  std::vector<Row> rows;
  const auto add = [&](int temperature, double factor, const std::string& published) {
    const double step = DigitStepSize(scale) * factor;
    std::vector<std::string> settings = {fmt::format("sampler.temperature={}", temperature),
                                         fmt::format("sampler.step_size={}", step)};
    // Samples are drawn as in training, where the paper's are not.
    if (scale == Scale::kPaper) settings.insert(settings.end(), {"generate.temperature=0", "generate.step_size=0"});
    rows.push_back({{std::to_string(temperature), fmt::format("{:.3g}", step)}, published, Digits(options, settings)});
  };
  for (const int temperature : Choose<std::vector<int>>(scale, {1}, {1, 3, 10, 30}, {1, 8, 64})) {
    add(temperature, 1, "");
  }
  add(batch, 1, "the paper's setting");
  for (const double factor : Choose<std::vector<double>>(scale, {}, {2.5, 10}, {2.5, 10})) {
    add(1, factor, "");
    add(batch, factor, "sometimes fails (in its own settings)");
  }
  return rows;
}

void Render(Page& page) {
  page.Text(
      "The paper divides the energy of a batch by the batch size and keeps the noise of its Langevin steps: that is a "
      "chain at a temperature of the batch size (its Gibbs and its adjusted Gibbs-Langevin have temperature 1, and its "
      "images are drawn at 100). Here the temperature alone differs; all rows make equally many updates at equal cost, "
      "and each model is sampled at the temperature at which it was trained. Steps above 0.04 variances sometimes "
      "broke down in the paper. Larger ones are tried at both ends, but where steps are in units of each unit's "
      "variance, or the clip is another, that is not the paper's test: the settings above say it.");
  page.Table({"temperature", "step size"}, "paper");
  page.DrawSamples("Samples of models trained at each temperature", 3,
                   [](const Row& row) { return fmt::format("temperature {}, step {}", row.labels[0], row.labels[1]); });
}

}  // namespace

const Experiment kTemperature = {"temperature", "what the temperature does, from 1 to the batch size, at equal cost",
                                 Rows, Render};

}  // namespace grbm
