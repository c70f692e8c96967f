// grbm density: a model of the plane beside the mixture it was trained on.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "grbm/data/mixture.h"
#include "grbm/model/quadrature.h"
#include "grbm/report/figure.h"
#include "grbm/sampler/sampler.h"
#include "output.h"

namespace grbm::app {

namespace {

struct Arguments {
  std::string model;
  std::string mixture;
  std::string out;
  bool dark = false;
};

Mixture FindMixture(const std::string& name) {
  if (name == "gmm-iso") return IsotropicMixture();
  if (name == "gmm-aniso") return AnisotropicMixture();
  throw ConfigError(fmt::format("--data {}: allowed are gmm-iso and gmm-aniso", name));
}

constexpr double kReach = 10;  // the pictures show -kReach to kReach
constexpr Index kCells = 200;

Axis PlaneAxis(const char* label) { return {label, -kReach, kReach, false}; }

template <typename LogDensity>
DensityPanel MakePanel(const std::string& title, const std::string& caption, const LogDensity& log_density) {
  DensityPanel panel{title, caption, PlaneAxis("v₁"), PlaneAxis("v₂"), {.label = "density"}, Matrix(kCells, kCells)};
  for (Index r = 0; r < kCells; ++r) {
    for (Index c = 0; c < kCells; ++c) {
      const auto at = [](Index k) { return -kReach + 2 * kReach * (static_cast<double>(k) + 0.5) / kCells; };
      panel.density(r, c) = static_cast<float>(std::exp(log_density(at(c), at(r))));
    }
  }
  return panel;
}

// The share of the points within 3 standard deviations of each component's mean.
std::vector<double> ModeShares(const Mixture& mixture, const Matrix& points) {
  std::vector<double> shares;
  for (const Mixture::Component& c : mixture.components) {
    Index inside = 0;
    for (Index r = 0; r < points.rows(); ++r) {
      const double x = (double{points(r, 0)} - c.mean[0]) / c.deviation[0];
      const double y = (double{points(r, 1)} - c.mean[1]) / c.deviation[1];
      inside += x * x + y * y <= 9 ? 1 : 0;
    }
    shares.push_back(static_cast<double>(inside) / static_cast<double>(points.rows()));
  }
  return shares;
}

int Density(const Arguments& a, const Common& common) {
  CheckOutput(a.out, {".png", ".svg", ".pdf"});
  const ModelFile file = ReadModel(a.model);
  if (file.model.visible() != 2) {
    throw ConfigError(fmt::format("{}: {} visible units: allowed are 2", a.model, file.model.visible()));
  }
  const Mixture mixture = FindMixture(a.mixture);
  // At another temperature the samplers aim at the law of exp(-E/τ).
  const double temperature = file.sampler.temperature;
  const Quadrature law(temperature == 1 ? file.model : file.model.Tempered(temperature));
  const Standardization& s = file.standardization;
  const auto log_density = [&](double x, double y) {
    if (s.identity()) return law.LogDensity(std::vector<double>{x, y});
    const double d0 = s.deviation[0];
    const double d1 = s.deviation[1];
    return law.LogDensity(std::vector<double>{(x - double{s.mean[0]}) / d0, (y - double{s.mean[1]}) / d1}) -
           std::log(d0 * d1);
  };
  const double kl = KlDivergence(mixture, log_density);
  const double kl_gaussian = KlOfFittedGaussian(mixture);

  ThreadPool pool(common.threads);
  SamplerOptions options = file.sampler;
  Chains chains = NoiseChains(file.model, 1000, common.seed, pool);
  Sampler(file.model, options, pool, OnUnstable::kAllow).Run(chains, {.seed = common.seed});
  Matrix points = chains.visible;
  s.Invert(points);
  const std::vector<double> shares = ModeShares(mixture, points);

  Figure figure;
  figure.theme = a.dark ? Theme::kDark : Theme::kLight;
  figure.panels = {
      MakePanel("true density", fmt::format("a single Gaussian: KL {:.2f}", kl_gaussian),
                [&](double x, double y) { return mixture.LogDensity(x, y); }),
      MakePanel(temperature == 1 ? "learned density" : fmt::format("learned density at temperature {}", temperature),
                fmt::format("KL(data ‖ model) {:.3f}", kl), log_density),
      ScatterPanel{"1,000 samples from noise",
                   fmt::format("within 3σ of the modes: {:.0f} %, {:.0f} %, {:.0f} %", 100 * shares[0], 100 * shares[1],
                               100 * shares[2]),
                   PlaneAxis("v₁"), PlaneAxis("v₂"), points}};
  WriteFigure(a.out, figure);
  PrintResults(common, {{"figure", a.out},
                        {"kl_data_model", kl},
                        {"kl_single_gaussian", kl_gaussian},
                        {"share_mode_1", shares[0]},
                        {"share_mode_2", shares[1]},
                        {"share_mode_3", shares[2]}});
  return 0;
}

}  // namespace

void AddDensity(CLI::App& app, Common& common, Action& action) {
  CLI::App* command =
      app.add_subcommand("density", "Draw the density of a model of two visible units beside the true one");
  const auto a = std::make_shared<Arguments>();
  command->add_option("MODEL", a->model, "A model file")->required();
  command->add_option("--data", a->mixture, "The true density: gmm-iso or gmm-aniso")->required();
  command->add_option("-o,--out", a->out, "The figure (.png, .svg or .pdf)")->required();
  command->add_flag("--dark", a->dark, "On a dark ground");
  command->add_option("--threads", common.threads, "Threads; 0: one per core. Results do not depend on it");
  command->add_option("--seed", common.seed, "Seed of the samples")->capture_default_str();
  command->footer("Example: grbm density run/model.safetensors --data gmm-iso -o density.png");
  command->callback([=, &common, &action] { action = [=, &common] { return Density(*a, common); }; });
}

}  // namespace grbm::app
