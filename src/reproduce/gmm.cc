// The paper's mixtures of three Gaussians in the plane: what each sampler learns of them.
#include <fmt/core.h>

#include "grbm/core/error.h"
#include "grbm/evaluate/mixture.h"
#include "grbm/evaluate/samples.h"
#include "grbm/report/mixture.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

constexpr Index kPoints = 1000;

using Settings = std::vector<std::string>;

// A way to train: all of the samplers are tried with it.
struct Way {
  std::string label;
  bool ours;  // the settings of the presets gmm-iso and gmm-aniso, otherwise the paper's
  Settings settings;
};

std::vector<Way> Ways() {
  return {{"the paper's temperature, 100", false, {}},
          {"temperature 1", false, {"sampler.temperature=1"}},
          {"temperature 1, chains cooled from noise (ours)", true, {}}};
}

struct NamedSampler {
  std::string label;
  Settings settings;
  std::string published_iso;
  std::string published_aniso;
};

std::vector<NamedSampler> Samplers(bool ours) {
  // Where adjustment begins at the first step, ours needs a constant or smaller step to be accepted.
  const auto with = [&](Settings settings, const Settings& extra) { return ours ? Merge(settings, extra) : settings; };
  std::vector<NamedSampler> samplers = {
      {"Gibbs", {"sampler.method=gibbs", "sampler.adjust=none"}, "three modes", "fails"},
      {"Langevin without adjustment",
       with({"sampler.method=langevin", "sampler.adjust=none"}, {"sampler.anneal=false"}), "collapses", "collapses"},
      {"Langevin with adjustment",
       with({"sampler.method=langevin", "sampler.adjust=metropolis"}, {"sampler.anneal=false"}), "three modes",
       "three modes"},
      {"Gibbs-Langevin without adjustment", {"sampler.adjust=none"}, "collapses", "collapses"},
      {"Gibbs-Langevin with adjustment", with({"sampler.adjust=metropolis"}, {"sampler.step_size=0.1"}), "three modes",
       "three modes"}};
  if (ours) samplers.push_back({"Gibbs-Langevin, conditional adjustment", {}, "", ""});
  return samplers;
}

Settings ScaleSettings(Scale scale, bool ours) {
  if (scale == Scale::kQuick) {
    return ours ? Settings{"model.hidden=4", "sampler.steps=6", "train.burn_in=2", "train.epochs=10"}
                : Settings{"model.hidden=16", "sampler.steps=5", "train.epochs=10"};
  }
  if (scale == Scale::kSmall && !ours) return {"model.hidden=64", "sampler.steps=50", "train.epochs=800"};
  return {};
}

std::vector<Row> Rows(const ReproduceOptions& options) {
  std::vector<Row> rows;
  for (const std::string mixture : {"gmm-iso", "gmm-aniso"}) {
    for (const Way& way : Ways()) {
      for (const NamedSampler& sampler : Samplers(way.ours)) {
        const Settings settings = Merge(Merge(ScaleSettings(options.scale, way.ours), way.settings), sampler.settings);
        rows.push_back({{mixture, way.label, sampler.label},
                        mixture == "gmm-iso" ? sampler.published_iso : sampler.published_aniso,
                        AtPaperRate({way.ours ? mixture : "paper-" + mixture, settings, {"mixture"}})});
      }
    }
  }
  return rows;
}

std::string SharesText(const Mixture& mixture, ConstMatrix points) {
  const std::vector<Estimate> shares = ModeShares(mixture, points);
  return fmt::format("modes: {:.0f} %, {:.0f} %, {:.0f} %", 100 * shares[0].value, 100 * shares[1].value,
                     100 * shares[2].value);
}

// The density and the points of one model, or what became of it.
std::pair<Panel, Panel> ModelPanels(const RowResult& row, const Mixture& mixture, Page& page) {
  const std::string title = row.row.labels[2];
  if (!row.trained()) return {EmptyPanel(title, row.Trouble()), EmptyPanel("", "")};
  const ModelFile file = row.ReadModelFile();
  Panel density = EmptyPanel(title, "the density could not be computed");
  try {
    const Quadrature law(file.Tempered());
    const Score* kl = row.result->Find("mixture", "kl_data_model");
    density = PlaneDensity(title, kl != nullptr ? fmt::format("KL {:.3g}", kl->estimate.value) : "",
                           DensityInOwnUnits(law, file.standardization));
  } catch (const Error&) {
  }
  Matrix points = DrawSamples(file, kPoints, page.options().seed, page.pool());
  const std::string caption = SharesText(mixture, points);
  return {std::move(density), PlanePoints("", caption, std::move(points))};
}

void DrawWay(Page& page, const std::string& mixture_name, const Way& way, const std::string& file) {
  const Mixture mixture = *FindMixture(mixture_name);
  Matrix points = mixture.Sample(page.options().seed, kPoints).points;
  const std::string caption = SharesText(mixture, points);
  Figure figure;
  figure.title = fmt::format("{}, {}", mixture_name, way.label);
  figure.plot_width = figure.plot_height = 150;
  figure.panels = {PlaneDensity("truth", fmt::format("a single Gaussian: KL {:.2f}", KlOfFittedGaussian(mixture)),
                                [&](double x, double y) { return mixture.LogDensity(x, y); })};
  std::vector<Panel> below = {PlanePoints("", caption, std::move(points))};
  for (const RowResult& row : page.rows()) {
    if (row.row.labels[0] != mixture_name || row.row.labels[1] != way.label) continue;
    auto [density, samples] = ModelPanels(row, mixture, page);
    figure.panels.push_back(std::move(density));
    below.push_back(std::move(samples));
  }
  figure.columns = static_cast<int>(below.size());
  for (Panel& panel : below) figure.panels.push_back(std::move(panel));
  page.Draw(file, figure, figure.title);
}

void Render(Page& page) {
  page.Text(
      "Densities above, 1,000 samples from noise below; from the left: the truth, and what each sampler learned. KL is "
      "KL(data ‖ model) in nats, by quadrature; below each panel of samples stands the share of them within three "
      "deviations of each mode (the truth: 33 %, 33 %, 34 %, less 1 %). The paper shows densities and samples and "
      "gives no numbers. At a temperature τ other than 1 the density is that of exp(−E/τ).");
  const std::vector<Way> ways = Ways();
  for (const std::string mixture : {"gmm-iso", "gmm-aniso"}) {
    for (std::size_t w = 0; w < ways.size(); ++w) {
      DrawWay(page, mixture, ways[w], fmt::format("{}-{}", mixture, w + 1));
    }
  }
  page.Table({"mixture", "trained at", "sampler"}, "paper",
             {{"ours: KL(data ‖ model)", "mixture", "kl_data_model", ""},
              {"ours: KL(model ‖ data)", "mixture", "kl_model_data", ""},
              {"ours: share of mode 1", "mixture", "share_mode_1", ""},
              {"of mode 2", "mixture", "share_mode_2", ""},
              {"of mode 3", "mixture", "share_mode_3", ""}});
}

}  // namespace

const Experiment kGmm = {"gmm", "densities and samples of three Gaussians in the plane, with each sampler", Rows,
                         Render};

}  // namespace grbm
