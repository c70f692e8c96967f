// One model of digits, looked at closely: its variances over training, its filters, and its chains from noise.
#include <fmt/core.h>

#include <cmath>

#include "grbm/core/file.h"
#include "grbm/evaluate/samples.h"
#include "grbm/sampler/sampler.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  return {{{"Gibbs-Langevin without adjustment"}, "17.49", LongDigits(options)}};
}

// Ends a page: the figure of its one model, or why there is none, and the table.
void Finish(Page& page, const std::string& name, const std::string& description, const std::string& title, double width,
            double height, const std::function<Panel(const RowResult&)>& draw) {
  const RowResult& row = page.rows()[0];
  Figure figure;
  figure.plot_width = width;
  figure.plot_height = height;
  figure.panels = {row.trained() ? draw(row) : EmptyPanel(title, row.Trouble())};
  page.Draw(name, figure, description);
  page.Table({"sampler"}, "paper: FID (2048-d)");
}

void RenderVariance(Page& page) {
  page.Text(
      "The natural logarithm of the visible units' variances over training: of their mean, and of the smallest and the "
      "largest. The paper's log variances fall from 0, and it reports a learned variance of about 1e-5 after 3,000 "
      "epochs. Where chains run at a temperature τ other than 1, noise in them has the variance τσ², which is drawn, "
      "too.");
  const std::string title = "log variances";
  Finish(page, "variance", "Log variances over training", title, 440, 220, [&](const RowResult& row) {
    const std::string metrics = ReadFile(MetricsPath(row.folder));
    const double temperature = CellConfig(row.row.cell).sampler.temperature;
    Curve mean = ReadCurve("of the mean", metrics, "mean_variance");
    for (double& y : mean.y) y = std::log(y);
    LinePanel panel{title, "", {.label = "update"}, {.label = "ln σ²"}, {}};
    panel.curves = {mean, ReadCurve("smallest", metrics, "min_log_var"), ReadCurve("largest", metrics, "max_log_var")};
    if (temperature != 1) {
      Curve hot = mean;
      hot.name = "of the mean, times τ";
      for (double& y : hot.y) y += std::log(temperature);
      panel.curves.push_back(std::move(hot));
    }
    const double last = std::exp(panel.curves[0].y.back());
    page.Text(fmt::format("At the end our mean variance is {:.3g}, in units of the standardised data.", last));
    return panel;
  });
}

void RenderFilters(Page& page) {
  page.Text(
      "The weights of the first hidden units, each divided by its largest: grey is 0. The paper finds that filters "
      "like strokes are common and that some are like points.");
  const std::string title = "filters";
  Finish(page, "filters", "Filters", title, 440, 440, [&](const RowResult& row) {
    const ModelFile file = row.ReadModelFile();
    const Index count = std::min<Index>(100, file.model.hidden());
    return ImagePanel{title, "",
                      ImageGrid(NormalizeFilters(file.model.W(), count), file.image_shape,
                                {.gap = 2, .scale = 2, .low = -1, .high = 1})};
  });
}

// Keeps what is shown of every state.
class Frames : public Observer {
 public:
  Frames(const ModelFile& file, ThreadPool& pool) : file_(file), pool_(pool) {}
  void OnStep(const ChainState& state) override {
    frames.push_back(ShowState(file_, file_.generation(), state, pool_));
  }

  std::vector<Matrix> frames;

 private:
  const ModelFile& file_;
  ThreadPool& pool_;
};

// From the noise on.
std::vector<Matrix> RunFromNoise(const ModelFile& file, Index count, std::uint64_t seed, ThreadPool& pool) {
  Chains chains = NoiseChains(file.model, count, seed, pool);
  Frames observer(file, pool);
  observer.frames.push_back(chains.visible);
  file.standardization.Invert(observer.frames.back());
  Sampler(file.model, file.generation(), pool, OnUnstable::kAllow).Run(chains, {.seed = seed}, &observer);
  return std::move(observer.frames);
}

void RenderSampling(Page& page) {
  constexpr Index kChains = 8;
  constexpr Index kShown = 10;
  page.Text(
      "Chains of Gibbs-Langevin from noise, as in the paper's figure of intermediate samples: a row is a chain, its "
      "first picture the noise, its last the sample. Pictures after the first are the mean of the visible units given "
      "the hidden ones.");
  const std::string title = "from noise to samples";
  Finish(page, "steps", "Intermediate samples of chains from noise", title, 550, 440, [&](const RowResult& row) {
    const ModelFile file = row.ReadModelFile();
    const std::vector<Matrix> frames = RunFromNoise(file, 100, page.options().seed, page.pool());
    const auto last = static_cast<Index>(frames.size()) - 1;
    const Index shown = std::min(kShown, last + 1);
    Matrix tiles(kChains * shown, file.model.visible());
    std::string steps;
    for (Index k = 0; k < shown; ++k) {
      // Early steps change most: squares of evenly spaced numbers.
      const double share = static_cast<double>(k) / static_cast<double>(shown - 1);
      const Index step = std::max(k, static_cast<Index>(std::lround(share * share * static_cast<double>(last))));
      steps += fmt::format("{}{}", k > 0 ? ", " : "", step);
      const ConstMatrix frame = frames[static_cast<std::size_t>(step)];
      for (Index c = 0; c < kChains; ++c) CopyRows(frame.Rows(c, 1), tiles.view().Rows(c * shown + k, 1));
    }
    std::vector<Image> pictures;
    for (const Matrix& frame : frames) pictures.push_back(SampleGrid(file, frame, 10));
    page.Animate("sampling", pictures, "The same chains, moving");
    return ImagePanel{title, "after step " + steps, SampleGrid(file, tiles, shown)};
  });
}

}  // namespace

const Experiment kVarianceCurve = {"variance-curve", "the visible units' variances over training", Rows,
                                   RenderVariance};
const Experiment kFilters = {"filters", "the filters of the model of digits", Rows, RenderFilters};
const Experiment kSampling = {"sampling", "chains from noise, step by step: a figure and an animation", Rows,
                              RenderSampling};

}  // namespace grbm
