// The paper's faces: CelebA at 32 × 32 pixels, and 2,000 of them at 64 × 64.
#include <fmt/core.h>

#include <filesystem>

#include "reproduce/experiment.h"

namespace grbm {

namespace {

constexpr Index kFaces32 = 20000;

// A subset where there are more.
std::string Subset(const std::string& folder, Index count) {
  Index files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jpg" && ++files >= count) return fmt::format("data.subset={}", count);
  }
  return "data.subset=0";
}

Cell Faces(const ReproduceOptions& options, const std::string& paper_preset, const std::vector<std::string>& settings) {
  const bool paper = options.scale == Scale::kPaper;
  std::vector<std::string> base = {"data.source=" + options.faces};
  if (options.scale == Scale::kQuick) {
    base = Merge(base, {"data.subset=0", "model.hidden=16", "train.batch_size=10", "train.epochs=10",
                        "train.learning_rate=0.1", "train.clip_norm=50"});
  } else if (options.scale == Scale::kSmall) {
    base = Merge(base, {"model.hidden=500"});
  }
  return {paper ? paper_preset : "faces32", Merge(base, settings), {"quick"}};
}

std::vector<Row> Rows32(const ReproduceOptions& options) {
  std::vector<Row> rows;
  const std::int64_t most = Choose<std::int64_t>(options.scale, 6, 20, 200);
  for (const std::int64_t steps : {most / 2, most}) {
    std::vector<std::string> settings = {fmt::format("sampler.steps={}", steps)};
    if (options.scale == Scale::kSmall) {
      settings = Merge(settings, {Subset(options.faces, kFaces32), "train.epochs=7.5"});
    }
    rows.push_back({{std::to_string(steps)}, "samples only", Faces(options, "paper-celeba32", settings)});
  }
  return rows;
}

std::vector<Row> Rows64(const ReproduceOptions& options) {
  const std::int64_t steps = Choose<std::int64_t>(options.scale, 3, 10, 100);
  std::vector<std::string> settings = {fmt::format("sampler.steps={}", steps)};
  if (options.scale != Scale::kPaper) settings = Merge(settings, {"data.resize=64", "data.split=all"});
  if (options.scale == Scale::kSmall) settings = Merge(settings, {Subset(options.faces, 2000), "train.epochs=50"});
  return {{{std::to_string(steps)}, "samples only", Faces(options, "paper-celeba2k64", settings)}};
}

void Render(Page& page) {
  page.Text(
      "The paper shows samples of models with 10,000 hidden units, trained with 100 and 200 steps, and gives no "
      "number.");
  page.DrawSamples(
      "Samples of faces", 0, [](const Row& row) { return row.labels[0] + " steps"; }, 330);
  page.Table({"CD steps"}, "paper: FID (2048-d)");
}

}  // namespace

const Experiment kCelebA32 = {"celeba32", "faces of 32 × 32 pixels, 100 and 200 steps (needs CelebA: --data DIR)",
                              Rows32, Render, true};
const Experiment kCelebA2k64 = {"celeba2k64", "2,000 faces of 64 × 64 pixels (needs CelebA: --data DIR)", Rows64,
                                Render, true};

}  // namespace grbm
