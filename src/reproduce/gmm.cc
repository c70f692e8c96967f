// The paper's mixtures of three Gaussians in the plane: what each sampler learns of them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/evaluate/mixture.h"
#include "grbm/evaluate/samples.h"
#include "grbm/report/mixture.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

constexpr Index kPoints = 1000;

using Settings = std::vector<std::string>;

// A way to train: samplers are tried with it.
enum class Kind { kPublished, kTemperatureOne, kOurs };
struct Way {
  std::string label;
  Kind kind;

  // The settings of the presets gmm-iso and gmm-aniso, otherwise the paper's.
  bool ours() const { return kind == Kind::kOurs; }
};

std::vector<Way> Ways() {
  return {{"as published", Kind::kPublished},
          {"temperature 1", Kind::kTemperatureOne},
          {"temperature 1, chains cooled from noise (ours)", Kind::kOurs}};
}

struct NamedSampler {
  std::string label;
  Settings settings;
  std::string published_iso;
  std::string published_aniso;
  Target target = Target::kPublished;
};

std::vector<NamedSampler> Samplers(const Way& way) {
  // Where adjustment begins at the first step, ours needs a constant or smaller step to be accepted.
  const auto with = [&](Settings settings, const Settings& extra) {
    return way.ours() ? Merge(settings, extra) : settings;
  };
  const Settings langevin = {"sampler.method=langevin", "sampler.adjust=metropolis"};
  std::vector<NamedSampler> samplers = {
      {"Gibbs", {"sampler.method=gibbs", "sampler.adjust=none"}, "three modes", "fails"},
      {"Langevin without adjustment",
       with({"sampler.method=langevin", "sampler.adjust=none"}, {"sampler.anneal=false"}), "collapses", "collapses"},
      {"Langevin with adjustment", with(langevin, {"sampler.anneal=false"}), "three modes", "three modes"},
      {"Gibbs-Langevin without adjustment", {"sampler.adjust=none"}, "collapses", "collapses"},
      {"Gibbs-Langevin with adjustment", with({"sampler.adjust=metropolis"}, {"sampler.step_size=0.1"}), "three modes",
       "three modes"}};
  if (way.ours()) samplers.push_back({"Gibbs-Langevin, conditional adjustment", {}, "", ""});
  if (way.kind == Kind::kPublished) {
    samplers.push_back(
        {"Gibbs-Langevin with adjustment, repaired", {"sampler.adjust=metropolis"}, "", "", Target::kOther});
    samplers.push_back({"Langevin with adjustment, against exp(−Ẽ)", langevin, "", "", Target::kOther});
  }
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

Cell MakeCell(const std::string& mixture, const Way& way, const NamedSampler& sampler, Scale scale) {
  Cell cell = {way.ours() ? mixture : "paper-" + mixture,
               Merge(ScaleSettings(scale, way.ours()), sampler.settings),
               {"mixture"}};
  switch (way.kind) {
    case Kind::kPublished:
      return AsPublished(std::move(cell), sampler.target);
    case Kind::kTemperatureOne:
      cell.settings = Merge(std::move(cell.settings), {"sampler.temperature=1", "sampler.proposal_temperature=0"});
      return AtPaperRate(std::move(cell));
    case Kind::kOurs:
      break;
  }
  return cell;
}

std::vector<Row> Rows(const ReproduceOptions& options) {
  std::vector<Row> rows;
  for (const Way& way : Ways()) {
    for (const std::string mixture : {"gmm-iso", "gmm-aniso"}) {
      for (const NamedSampler& sampler : Samplers(way)) {
        rows.push_back({{mixture, way.label, sampler.label},
                        mixture == "gmm-iso" ? sampler.published_iso : sampler.published_aniso,
                        MakeCell(mixture, way, sampler, options.scale)});
      }
    }
  }
  return rows;
}

std::string PercentText(std::span<const double> shares) {
  return fmt::format("modes: {:.0f} %, {:.0f} %, {:.0f} %", 100 * shares[0], 100 * shares[1], 100 * shares[2]);
}

std::string SharesText(const Mixture& mixture, ConstMatrix points) {
  std::vector<double> shares;
  for (const Estimate& share : ModeShares(mixture, points)) shares.push_back(share.value);
  return PercentText(shares);
}

// A column of a figure: a density and its logarithm, points v, and their means given h.
struct PlaneColumn {
  Panel log_density;  // or what is to be said in its place
  std::optional<DensityPanel> density;
  Panel points, means;
};

PlaneColumn MakeColumn(const std::string& title, const std::string& kl, const Mixture& mixture,
                       const LogDensity2& log_density) {
  return {PlaneLogDensity(title, PercentText(ModeMasses(mixture, log_density)), log_density),
          PlaneDensity("", kl, log_density),
          {},
          {}};
}

// Row by row: negative energies, densities, the same with logarithmic colours, points, means. Densities have one range of
// colours.
std::vector<Panel> RowsOf(std::vector<PlaneColumn> columns) {
  std::vector<DensityPanel> densities;
  std::vector<Panel> panels;
  for (PlaneColumn& column : columns) {
    if (column.density) densities.push_back(std::move(*column.density));
    panels.push_back(std::move(column.log_density));
  }
  ShareColors(densities);
  for (const bool log : {false, true}) {
    auto next = densities.begin();
    for (const PlaneColumn& column : columns) {
      if (!column.density) {
        panels.push_back(EmptyPanel("", ""));
        continue;
      }
      panels.emplace_back(*next++);
      if (!log) continue;
      DensityPanel below = LogarithmicColors(std::get<DensityPanel>(std::move(panels.back())));
      below.caption.clear();
      panels.back() = std::move(below);
    }
  }
  for (PlaneColumn& column : columns) panels.push_back(std::move(column.points));
  for (PlaneColumn& column : columns) panels.push_back(std::move(column.means));
  return panels;
}

// Of one model, or what became of it.
PlaneColumn ModelPanels(const RowResult& row, const Mixture& mixture, Page& page) {
  const std::string title = row.row.labels[2];
  if (!row.trained()) return {EmptyPanel(title, row.Trouble()), {}, EmptyPanel("", ""), EmptyPanel("", "")};
  ModelFile file = row.ReadModelFile();
  PlaneColumn column = {EmptyPanel(title, "the density could not be computed"), {}, {}, {}};
  try {
    const Quadrature law(file.law());
    const Score* kl = row.result->Find("mixture", "kl_data_model");
    column = MakeColumn(title, kl != nullptr ? fmt::format("KL {:.3g} nats", kl->estimate.value) : "", mixture,
                        DensityInOwnUnits(law, file.standardization));
  } catch (const Error&) {
  }
  const auto points = [&](Final final) {
    file.generate.final = final;
    Matrix shown = DrawShown(file, kPoints, row.seed, page.pool());
    const std::string caption = SharesText(mixture, shown);
    return PlanePoints("", caption, std::move(shown));
  };
  column.points = points(Final::kSample);
  column.means = points(Final::kMean);
  return column;
}

// KL and acceptance over training, a curve for each sampler.
std::vector<Panel> TrainingPanels(std::span<const RowResult* const> rows) {
  LinePanel kl{"KL(data ‖ model)", "", {.label = "update"}, {.label = "nats", .log = true}, {}};
  LinePanel acceptance{"share of moves accepted", "", {.label = "update"}, {.label = ""}, {}};
  for (const RowResult* row : rows) {
    if (!Exists(MetricsPath(row->folder))) continue;
    const std::string metrics = ReadFile(MetricsPath(row->folder));
    const std::string& name = row->row.labels[2];
    const Curve curve = ReadCurve(name, metrics, "kl_data_model");
    if (std::ranges::any_of(curve.y, [](double y) { return std::isfinite(y); })) kl.curves.push_back(curve);
    if (CellConfig(row->row.cell).sampler.adjust == Adjust::kNone) continue;
    acceptance.curves.push_back(ReadCurve(name, metrics, "acceptance"));
  }
  std::vector<Panel> panels;
  for (LinePanel* panel : {&kl, &acceptance}) {
    if (!panel->curves.empty()) panels.emplace_back(std::move(*panel));
  }
  return panels;
}

void DrawWay(Page& page, const std::string& mixture_name, const Way& way, std::uint64_t seed, const std::string& file) {
  std::vector<const RowResult*> rows;
  for (const RowResult& row : page.all_rows()) {
    if (row.seed == seed && row.row.labels[0] == mixture_name && row.row.labels[1] == way.label) rows.push_back(&row);
  }
  // Of what has not been run only the table tells.
  if (std::ranges::none_of(rows, [](const RowResult* row) { return row->result.has_value(); })) return;
  const Mixture mixture = *FindMixture(mixture_name);
  Matrix points = mixture.Sample(seed, kPoints).points;
  const std::string caption = SharesText(mixture, points);
  std::vector<PlaneColumn> columns;
  columns.push_back(MakeColumn("truth", fmt::format("a single Gaussian: KL {:.2f} nats", KlOfFittedGaussian(mixture)),
                               mixture, [&](double x, double y) { return mixture.LogDensity(x, y); }));
  columns.back().points = PlanePoints("", caption, std::move(points));
  columns.back().means = EmptyPanel("", "means of the samples above");
  for (const RowResult* row : rows) {
    if (row->result) columns.push_back(ModelPanels(*row, mixture, page));
  }
  Figure figure;
  figure.title =
      fmt::format("{}, {}{}", mixture_name, way.label, page.options().seeds > 1 ? fmt::format(", seed {}", seed) : "");
  figure.plot_width = figure.plot_height = 150;
  figure.columns = static_cast<int>(columns.size());
  figure.panels = RowsOf(std::move(columns));
  page.Draw(file, figure, figure.title);
  Figure training;
  training.title = figure.title + ": over training";
  training.plot_width = 440;
  training.plot_height = 220;
  training.panels = TrainingPanels(rows);
  if (!training.panels.empty()) page.Draw(file + "-training", training, training.title);
}

void Render(Page& page) {
  page.Text(
      "Rows from above: log-densities, each in colours of its own, which the paper shows as negative energies −Ẽ; the "
      "densities, all in one range of colours; the same on a logarithmic scale, which shows faint modes; 1,000 samples "
      "from noise, v as it is; and the means μ + W h of the same samples, which the paper shows. From the left: the "
      "truth, and what each sampler learned. KL is KL(data ‖ model) in nats, by quadrature. Below log-densities stands "
      "the mass of the density within three deviations of each mode, below samples the share of them there (the truth: "
      "33 %, 33 %, 34 %, less 1 %). A mode may be seen in −Ẽ and have next to no mass: ten nats below the top are "
      "little of a range of a hundred. The paper gives no numbers. All this is of the chains' law: exp(−E/τ), for "
      "Langevin with adjustment exp(−Ẽ/τ); without adjustment, where the chains have no law that is known, exp(−E/τ) "
      "with the temperature of their steps.");
  page.Text(
      "*As published*: Gibbs at temperature 1; Langevin and Gibbs-Langevin in steps at temperature 100, the batch "
      "size; with adjustment, Langevin is accepted against exp(−Ẽ/100) and Gibbs-Langevin against exp(−E), as in the "
      "program that made the paper's figures. Since its repair it accepts Gibbs-Langevin against exp(−E/100): a sixth "
      "row. A seventh has Langevin accepted against exp(−Ẽ). The program draws the hidden units of the data also for "
      "Langevin, where the paper's text and this one take their probabilities.");
  const std::vector<Way> ways = Ways();
  const std::uint64_t seeds = page.options().seeds;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    for (const std::string mixture : {"gmm-iso", "gmm-aniso"}) {
      for (std::uint64_t k = 0; k < seeds; ++k) {
        const std::uint64_t seed = page.options().seed + k;
        DrawWay(page, mixture, ways[w], seed,
                fmt::format("{}-{}{}", mixture, w + 1, seeds > 1 ? fmt::format("-seed-{}", seed) : ""));
      }
    }
  }
  page.Table({"mixture", "trained", "sampler"}, "paper",
             {{"ours: KL(data ‖ model)", "mixture", "kl_data_model", ""},
              {"ours: KL(model ‖ data)", "mixture", "kl_model_data", ""},
              {"ours: mass of mode 1", "mixture", "mass_mode_1", ""},
              {"of mode 2", "mixture", "mass_mode_2", ""},
              {"of mode 3", "mixture", "mass_mode_3", ""},
              {"ours: samples in mode 1", "mixture", "share_mode_1", ""},
              {"in mode 2", "mixture", "share_mode_2", ""},
              {"in mode 3", "mixture", "share_mode_3", ""}});
}

}  // namespace

const Experiment kGmm = {"gmm", "densities and samples of three Gaussians in the plane, with each sampler", Rows,
                         Render};

}  // namespace grbm
