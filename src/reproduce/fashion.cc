// The paper's FashionMNIST.
#include "reproduce/experiment.h"

namespace grbm {

namespace {

std::vector<Row> Rows(const ReproduceOptions& options) {
  const Scale scale = options.scale;
  Cell cell = {scale == Scale::kPaper ? "paper-fashion" : "small-fashion", {}, {"quick", "fid"}};
  if (scale == Scale::kSmall) cell.settings = {"train.epochs=6"};
  if (scale == Scale::kQuick) {
    cell.settings = Merge(Digits(options).settings, {"data.source=" + SourceAtHand("fashion-mnist", scale)});
  }
  return {{{"Gibbs-Langevin without adjustment"}, "samples only", cell}};
}

void Render(Page& page) {
  page.Text(
      "The paper shows samples of a model with 10,000 hidden units and gives no number; it finds that the shapes of "
      "clothes are learned and fine textures are not.");
  Figure figure;
  figure.plot_width = figure.plot_height = 440;
  figure.panels = {page.Samples(page.rows()[0], "samples from noise", 100, 10)};
  page.Draw("samples", figure, "Samples of clothes");
  page.Table({"sampler"}, "paper: FID (2048-d)");
}

}  // namespace

const Experiment kFashion = {"fashion", "samples of FashionMNIST", Rows, Render};

}  // namespace grbm
