#include "grbm/train/choose.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "data/image_folder.h"

namespace grbm {

namespace {

using Reasons = std::map<std::string, std::string>;  // by setting

constexpr Index kLargestSide = 48;   // of images that are taken as they are
constexpr Index kSide = 32;          // to which larger ones are brought
constexpr Index kHeldOutRows = 100;  // of fewer rows none is held out
constexpr double kBatch = 100;
constexpr double kDigits = 784;      // pixels of those that the recipe is of
constexpr double kMuchBlack = 0.1;   // share of the values from which on black is to come out as black
constexpr double kNearBlack = 0.02;  // of the largest value: what is no black, and can hardly be told from it
constexpr double kFewNear = 0.1;     // as many as there are black ones, at the most
constexpr Index kLookedAt = 20;      // images of a folder: one in so many, and so many at the most

// Images of a folder are brought to one size, which a model of minutes can hold.
void ChooseSize(DataOptions& data, const ImageSizes& sizes, Reasons& reasons) {
  if (data.crop > 0 || data.resize > 0) return;
  const bool square = sizes.smallest == sizes.largest;
  if (square && sizes.largest <= kLargestSide) return;
  if (!square) {
    data.crop = std::int64_t{sizes.smallest};
    reasons["data.crop"] = fmt::format("the centre: sides are from {} to {} pixels", sizes.smallest, sizes.largest);
  }
  if (sizes.smallest <= kLargestSide) return;
  data.resize = kSide;
  reasons["data.resize"] = fmt::format("images above {} pixels a side take hours", kLargestSide);
}

// Whole epochs that make about so many updates.
void ChooseEpochs(Config& config, Index rows, double updates, Reasons& reasons) {
  const double epochs = std::max(1.0, std::ceil(updates * kBatch / static_cast<double>(rows)));
  config.train.epochs = epochs;
  reasons["train.epochs"] = fmt::format("{:.0f} updates", epochs * static_cast<double>(rows) / kBatch);
}

// Whether much is exactly black and little nearly so: a margin parts the two.
bool IsOnBlack(const Dataset& data) {
  constexpr Index kBlock = 256;
  Matrix block(std::min(kBlock, data.rows()), data.visible());
  const auto count = [&](auto test) {
    Index found = 0;
    for (Index first = 0; first < data.rows(); first += kBlock) {
      const MutableMatrix rows = block.view().Rows(0, std::min(kBlock, data.rows() - first));
      data.Read(first, rows);
      for (Index r = 0; r < rows.rows(); ++r) found += std::ranges::count_if(rows.row(r), test);
    }
    return static_cast<double>(found);
  };
  float largest = 0;
  const double black = count([&](float x) {
    largest = std::max(largest, x);
    return x == 0;
  });
  const double all = static_cast<double>(data.rows()) * static_cast<double>(data.visible());
  if (black < kMuchBlack * all || count([](float x) { return x < 0; }) > 0) return false;
  const double bound = kNearBlack * double{largest};
  return count([&](float x) { return x > 0 && double{x} <= bound; }) <= kFewNear * black;
}

// That of presets/mnist.toml, scaled to the size.
void ChooseForImages(Config& config, const Dataset& data, Index rows, Reasons& reasons) {
  const Index visible = data.visible();
  if (config.data.standardize != Standardize::kNone && IsOnBlack(data)) {
    config.data.margin = 1;
    reasons["data.margin"] = "much is black: what comes near it is";
  }
  // The fewer pixels there are, the less of the image is left under noise.
  const double noise = std::clamp(std::sqrt(static_cast<double>(visible) / kDigits), 0.25, 1.0);
  config.data.noise = std::round(100 * noise) / 100;
  reasons["data.noise"] = "the model is one of the data with this noise, in which chains mix";
  config.model.hidden = std::clamp<std::int64_t>(visible * 4 / 3 / 64 * 64, 256, 2048);
  reasons["model.hidden"] = "4/3 of the pixels, from 256 to 2048";
  config.model.variance_floor = config.data.noise;
  reasons["model.variance_floor"] = "that of the noise";
  config.sampler.method = Method::kGibbs;
  config.sampler.steps = 5;
  config.sampler.final_steps = 8;
  reasons["sampler.final_steps"] = "takes the noise away again";
  config.train.algorithm = Algorithm::kPcd;
  reasons["train.algorithm"] = "chains go on from update to update";
  config.train.restart_fraction = 0.02;
  config.train.learning_rate = 0.002;
  config.train.unit_scale = UnitScale::kData;
  reasons["train.unit_scale"] = "what hardly varies is left alone";
  config.generate.steps = 200;
  const double weights = static_cast<double>(visible) * static_cast<double>(config.model.hidden);
  ChooseEpochs(config, rows, std::clamp(18000 * 0.8e6 / weights, 6000.0, 18000.0), reasons);
}

void ChooseForTables(Config& config, Index rows, Index visible, Reasons& reasons) {
  config.data.standardize = Standardize::kPixel;
  reasons["data.standardize"] = "columns have units of their own";
  config.model.hidden = std::clamp<std::int64_t>(4 * visible, 32, 512);
  reasons["model.hidden"] = "4 for each column, from 32 to 512";
  config.model.variance_floor = 0.05;
  reasons["model.variance_floor"] = "of each column's variance: between narrower modes no chain passes";
  config.sampler.method = Method::kGibbs;
  config.sampler.steps = 20;
  config.train.burn_in = 15;
  config.train.start_temperature = 10;
  reasons["train.start_temperature"] = "chains start hot: clusters get the shares that they have";
  config.train.learning_rate = 0.005;
  config.train.learning_rate_schedule = Schedule::kCosine;
  config.train.centred = true;
  ChooseEpochs(config, rows, 5000, reasons);
}

std::string Count(Index count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::string ChosenSettings::Toml(Config settings) const {
  std::string text =
      fmt::format("# Chosen for {}. To change a setting, edit a copy of this file, and: grbm train COPY.toml\n", kind);
  Config defaults;
  Config first = config;
  const auto sections = settings.Sections();
  const auto plain = defaults.Sections();
  const auto chosen = first.Sections();
  for (std::size_t s = 0; s < sections.size(); ++s) {
    std::string lines;
    for (std::size_t f = 0; f < sections[s].fields.size(); ++f) {
      const Field& field = sections[s].fields[f];
      const bool as_chosen = Value(field) == Value(chosen[s].fields[f]);
      const auto reason = reasons.find(fmt::format("{}.{}", sections[s].name, field.name));
      const bool has_reason = as_chosen && reason != reasons.end();
      if (Value(field) == Value(plain[s].fields[f]) && as_chosen && !has_reason) continue;
      const std::string line = fmt::format("{} = {}", field.name, TomlText(Value(field)));
      lines += !has_reason ? line + "\n" : fmt::format("{:<36} # {}\n", line, reason->second);
    }
    if (!lines.empty()) text += fmt::format("\n[{}]\n{}", sections[s].name, lines);
  }
  return text;
}

ChosenSettings ChooseSettings(const DataOptions& data, ThreadPool& pool) {
  ChosenSettings chosen;
  Config& config = chosen.config;
  Reasons& reasons = chosen.reasons;
  config.data = data;
  std::error_code error;
  const bool folder = !IsDataName(data.source) && std::filesystem::is_directory(data.source, error);
  DataOptions probe = data;
  probe.gaps = Gaps::kSample;
  Index rows = 0;
  if (folder) {  // of images, few are decoded
    const ImageSizes sizes = MeasureImages(data.source);
    ChooseSize(config.data, sizes, reasons);
    rows = data.subset > 0 ? Index{data.subset} : sizes.count;
    probe.crop = config.data.crop;
    probe.resize = config.data.resize;
    probe.subset = std::clamp<std::int64_t>(rows / kLookedAt, 1, kLookedAt);
  }
  const Dataset loaded = LoadDataset(probe, pool);
  if (!folder) rows = loaded.rows();
  chosen.notes = loaded.names().notes;
  if (loaded.has_gaps()) {
    config.data.gaps = Gaps::kSample;
    reasons["data.gaps"] = "values are missing: rows are learned from by what is known of them";
    chosen.notes.emplace_back(
        "values are missing: they are drawn, given the known ones of their row, at every update (data.gaps)");
  }
  const ImageShape& shape = loaded.shape();
  chosen.kind = shape.known() ? fmt::format("{} of {} × {} pixels and {}", Count(rows, "image", "images"), shape.width,
                                            shape.height, Count(shape.channels, "channel", "channels"))
                              : fmt::format("a table of {} and {}", Count(rows, "row", "rows"),
                                            Count(loaded.visible(), "column", "columns"));
  if (rows >= kHeldOutRows && !IsDataName(data.source) && !HasTestPart(data) && data.split == "train") {
    config.data.held_out = "0.1";
    reasons["data.held_out"] = "a tenth of the rows is left for judging: --split test, and `grbm evaluate`";
    rows -= rows / 10;
  }
  config.train.optimizer = OptimizerKind::kAdam;
  config.train.clip_norm = 0;
  config.train.hidden = HiddenKind::kProbability;
  config.train.visible = VisibleKind::kMean;
  config.sampler.step_scale = StepScale::kUnit;
  reasons["sampler.step_scale"] = "of methods with steps: so that the mean of a step is known";
  if (shape.known()) {
    ChooseForImages(config, loaded, rows, reasons);
  } else {
    ChooseForTables(config, rows, loaded.visible(), reasons);
  }
  if (loaded.conditions() > 0) {
    config.train.start_temperature = 1;
    reasons.erase("train.start_temperature");
    if (config.train.algorithm == Algorithm::kPcd) {
      config.train.algorithm = Algorithm::kCd;
      reasons["train.algorithm"] = "chains of other conditions cannot go on";
    }
  }
  config.data.source = ResolveSource(config.data.source);
  return chosen;
}

}  // namespace grbm
