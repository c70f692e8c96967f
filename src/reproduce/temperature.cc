// What the temperature does, from 1 to the batch size, at equal cost.
#include <fmt/core.h>

#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  std::vector<Row> rows;
  for (const int temperature : Choose<std::vector<int>>(options.scale, {1, 50}, {1, 3, 10, 30, 100}, {1, 8, 64, 512})) {
    rows.push_back({{std::to_string(temperature)},
                    temperature == DigitBatch(options.scale) ? "the paper's: its batch size" : "",
                    Digits(options, {fmt::format("sampler.temperature={}", temperature)})});
  }
  return rows;
}

void Render(Page& page) {
  page.Text(
      "The paper divides the energy of a batch by the batch size and keeps the noise of its Langevin steps: that is a "
      "chain "
      "at a temperature of the batch size. It reports no other. Here the temperature alone differs; all rows make "
      "equally "
      "many updates at equal cost, and each model is sampled at the temperature at which it was trained.");
  page.Table({"temperature"}, "paper");
  Figure figure;
  for (const RowResult& row : page.rows()) {
    figure.panels.push_back(page.Samples(row, "temperature " + row.row.labels[0], 64, 8));
  }
  page.Draw("samples", figure, "Samples of models trained at each temperature");
}

}  // namespace

const Experiment kTemperature = {"temperature", "what the temperature does, from 1 to the batch size, at equal cost",
                                 Rows, Render};

}  // namespace grbm
