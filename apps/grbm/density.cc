// grbm density: a model of the plane beside the mixture it was trained on.
#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <memory>

#include "grbm/evaluate/mixture.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/quadrature.h"
#include "grbm/report/mixture.h"
#include "grbm/sampler/sampler.h"
#include "numbers.h"
#include "output.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string model;
  std::string mixture;
  std::string out;
  bool dark = false;
};

int Density(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".png", ".svg", ".pdf"});
  const ModelFile file = OpenModel(a.model, {}, {.labels = true});
  if (file.model.gaussian_units() != 2) {
    throw ConfigError(fmt::format("{}: {} visible units: allowed are 2", a.model, file.model.gaussian_units()));
  }
  const std::optional<Mixture> found = FindMixture(a.mixture);
  if (!found) throw ConfigError(fmt::format("--data {}: allowed are gmm-iso and gmm-aniso", a.mixture));
  const Mixture& mixture = *found;
  const Quadrature law(file.law());
  const Standardization& s = file.standardization;
  const LogDensity2 log_density = DensityInOwnUnits(law, s);
  const double kl = KlDivergence(mixture, log_density);
  const double kl_gaussian = KlOfFittedGaussian(mixture);

  ThreadPool pool(common.threads);
  WarnUnstable(file);
  constexpr Index kPoints = 1000;
  Matrix points = DrawSamples(file, kPoints, common.seed, pool);
  CheckFinite(file, points, "samples");
  const std::vector<Estimate> shares = ModeShares(mixture, points);
  const auto panel = [&](const std::string& title, Matrix shown) {
    const std::vector<Estimate> within = ModeShares(mixture, shown);
    return PlanePoints(title,
                       fmt::format("within 3σ of the modes: {:.0f} %, {:.0f} %, {:.0f} %", 100 * within[0].value,
                                   100 * within[1].value, 100 * within[2].value),
                       std::move(shown));
  };

  std::array densities = {
      PlaneDensity("true density", fmt::format("a single Gaussian: KL {:.2f} nats", kl_gaussian),
                   [&](double x, double y) { return mixture.LogDensity(x, y); }),
      PlaneDensity(
          file.sampler.temperature == 1 ? "learned density" : fmt::format("learned density, {}", LawText(file.sampler)),
          fmt::format("KL(data ‖ model) {:.3f} nats", kl), log_density)};
  ShareColors(densities);
  Figure figure;
  figure.theme = a.dark ? Theme::kDark : Theme::kLight;
  figure.panels = {densities[0], densities[1], panel("1,000 samples from noise", std::move(points))};
  if (ShownSampler(file).final == Final::kMean) {
    figure.panels.push_back(panel("their means given the hidden units", DrawShown(file, kPoints, common.seed, pool)));
  }
  figure.columns = static_cast<int>(figure.panels.size());
  // Below: what is too faint to be seen above, and data beside the samples.
  for (DensityPanel& density : densities) {
    density.caption.clear();
    figure.panels.push_back(LogarithmicColors(std::move(density)));
  }
  figure.panels.push_back(panel("1,000 points of the data", mixture.Sample(common.seed, kPoints).points));
  WriteFigure(a.out, figure);
  PrintResults(common, {{"figure", a.out},
                        {"kl_data_model", Measure{kl, "nats"}},
                        {"kl_single_gaussian", Measure{kl_gaussian, "nats"}},
                        {"share_mode_1", Measure{shares[0].value, "of the samples"}},
                        {"share_mode_2", Measure{shares[1].value, "of the samples"}},
                        {"share_mode_3", Measure{shares[2].value, "of the samples"}}});
  return 0;
}

}  // namespace

void AddDensity(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("density", "Draw the density of a model of two visible units beside the true one");
  const auto a = std::make_shared<Arguments>();
  command.AddOption("MODEL", a->model, "A model file, or a run's folder").Required();
  command.AddOption("--data", a->mixture, "The true density: gmm-iso or gmm-aniso").Required();
  command.AddOption("-o,--out", a->out, "The figure (.png, .svg or .pdf)").Required();
  command.AddFlag("--dark", a->dark, "On a dark ground");
  AddThreads(command, common.threads);
  AddSeed(command, common.seed, "Seed of the samples");
  command.SetFooter("Example: grbm density run/model.safetensors --data gmm-iso -o density.png");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Density(*a, common); }; });
}

}  // namespace grbm::app
