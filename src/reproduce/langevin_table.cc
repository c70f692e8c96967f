// The paper's ablation of the Langevin part: K, step size, annealing over training, when adjustment begins.
#include <fmt/core.h>

#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  const Scale scale = options.scale;
  const std::int64_t steps = DigitSteps(scale);
  std::vector<Row> rows;
  const auto plain = [&](int inner, int alpha, const std::string& published) {
    const double step = DigitStepSize(scale) * alpha / 20;
    std::vector<std::string> settings = {fmt::format("sampler.langevin_steps={}", inner),
                                         fmt::format("sampler.step_size={}", step)};
    // Generated in batches of 100.
    if (scale == Scale::kPaper) settings.push_back(fmt::format("generate.step_size={}", alpha / 100.0));
    rows.push_back(
        {{"no", std::to_string(inner), fmt::format("{}", step), "no", "—"}, published, Digits(options, settings)});
  };
  const auto adjusted = [&](std::int64_t after, bool anneal, const std::string& published) {
    std::vector<std::string> settings = {"sampler.adjust=metropolis", fmt::format("sampler.adjust_after={}", after)};
    if (anneal) settings.emplace_back("train.step_size_schedule=cosine");
    rows.push_back(
        {{"yes", "10", fmt::format("{}", DigitStepSize(scale)), anneal ? "yes" : "no", std::to_string(after)},
         published,
         AsPublished(Digits(options, settings))});
  };
  plain(1, 20, "35.08");
  plain(5, 20, "19.00");
  plain(10, 20, "17.49");
  plain(10, 10, "21.05");
  plain(10, 5, "25.67");
  adjusted(0, false, "21.31");
  adjusted(steps / 4, false, "21.25");
  adjusted(steps / 2, false, "20.64");
  adjusted(steps / 2, true, "19.27");
  return rows;
}

void Render(Page& page) {
  page.Text(fmt::format(
      "Gibbs-Langevin, {} steps. The paper's step sizes 20, 10 and 5 are divided by its batch size, 512: a step of "
      "0.039, 0.020 and 0.010 variances. Annealed means that the step size falls to 0 along a cosine over training. "
      "The paper begins to adjust after 0, 25 or 50 of its 100 steps: so do these rows after none, a quarter or a "
      "half. At the paper's scale proposals are at a temperature of the batch size and accepted against exp(−E), as in "
      "the program that made the paper's numbers; its authors' text alone anneals the step size over training.",
      DigitSteps(page.options().scale)));
  page.Table({"adjusted", "K", "step size", "annealed", "adjusted after"}, "paper: FID (2048-d)");
}

}  // namespace

const Experiment kLangevinTable = {"langevin-table", "inner steps K × step size × annealing × when adjustment begins",
                                   Rows, Render};

}  // namespace grbm
