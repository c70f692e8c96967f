// The settings that cells of one scale share.
#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/file.h"
#include "grbm/data/fetch.h"
#include "grbm/evaluate/inception.h"
#include "grbm/sampler/law.h"
#include "grbm/train/presets.h"
#include "reproduce/experiment.h"

namespace grbm {

Index SampleCount(Scale scale) { return Choose<Index>(scale, 200, 2000, 10000); }
Index FidSamples(Scale scale) { return Choose<Index>(scale, 20, 1000, 10000); }
Index FidRows(Scale scale) { return Choose<Index>(scale, 40, 2000, 10000); }

int FidTap(const ReproduceOptions& options) {
  if (options.scale == Scale::kQuick) return 64;
  if (options.scale == Scale::kSmall || options.inception.empty()) return 768;
  const std::vector<int> taps = Inception::Load(options.inception).taps();
  return std::ranges::find(taps, 2048) != taps.end() ? 2048 : 768;
}

bool HasMetric(const Cell& cell, const std::string& metric) {
  return std::ranges::find(cell.metrics, metric) != cell.metrics.end();
}

namespace {

bool IsPapers(const Cell& cell) { return cell.preset.starts_with("paper-"); }

// A number of the cell, where it is not that already.
void Set(Cell& cell, const std::string& key, double value) {
  const std::string setting = fmt::format("{}={}", key, value);
  Config config = CellConfig(cell);
  const Config before = config;
  SetOption(config, setting);
  if (!Differences(config, before).empty()) cell.settings = Merge(std::move(cell.settings), {setting});
}

}  // namespace

Cell AsPublished(Cell cell, Target target) {
  if (!IsPapers(cell)) return cell;
  const Config config = CellConfig(cell);
  // The batch sizes of training and, where it is another, of generation: a preset has them in one place or the other.
  const Config preset = LoadPreset(cell.preset);
  const double batch = std::max(preset.sampler.temperature, preset.sampler.proposal_temperature);
  const double drawn = std::max(preset.generate.temperature, preset.generate.proposal_temperature);
  const bool published = target == Target::kPublished;
  const bool proposals =
      config.sampler.adjust == Adjust::kMetropolis && (config.sampler.method == Method::kGibbsLangevin) == published;
  const bool one = proposals || config.sampler.method == Method::kGibbs;
  Set(cell, "sampler.temperature", one ? 1 : batch);
  Set(cell, "sampler.proposal_temperature", proposals ? batch : 0);
  Set(cell, "generate.temperature", one ? 0 : drawn);
  Set(cell, "generate.proposal_temperature", proposals ? drawn : 0);
  return AtPaperRate(std::move(cell));
}

Cell AtPaperRate(Cell cell) {
  if (!IsPapers(cell)) return cell;
  const double temperature = LawOf(CellConfig(cell).sampler).temperature;
  Set(cell, "train.learning_rate", 0.01 * temperature);
  Set(cell, "train.clip_norm", 10 / temperature);
  return cell;
}

std::string SourceAtHand(const std::string& name, Scale scale) {
  if (scale != Scale::kQuick) return name;
  const std::string file = DefaultCacheDir() + "/" + name + "/train-images-idx3-ubyte";
  return Exists(file) || Exists(file + ".gz") ? name : "strokes";
}

std::int64_t DigitSteps(Scale scale) { return Choose<std::int64_t>(scale, 6, 20, 100); }
std::int64_t HalfSteps(Scale scale) { return DigitSteps(scale) / 2; }
double DigitStepSize(Scale scale) { return Choose(scale, 0.04, 0.04, 20.0 / 512); }
std::int64_t DigitBatch(Scale scale) { return Choose<std::int64_t>(scale, 50, 100, 512); }
double DigitClip(Scale scale) { return Choose<double>(scale, 50, 20, 10); }

Cell Digits(const ReproduceOptions& options, const std::vector<std::string>& settings) {
  std::vector<std::string> base;
  if (options.scale == Scale::kQuick) {
    base = {"data.source=" + SourceAtHand("mnist", options.scale),
            "data.subset=500",
            "model.hidden=32",
            fmt::format("sampler.steps={}", DigitSteps(options.scale)),
            fmt::format("train.batch_size={}", DigitBatch(options.scale)),
            "train.epochs=4",
            "train.learning_rate=0.1",  // something is learned in seconds
            fmt::format("train.clip_norm={}", DigitClip(options.scale))};
  } else if (options.scale == Scale::kSmall) {
    base = {"train.epochs=2.5"};
  }
  return {options.scale == Scale::kPaper ? "paper-mnist" : "small-mnist", Merge(base, settings), {"quick"}};
}

Cell LongDigits(const ReproduceOptions& options) {
  return options.scale == Scale::kSmall ? Digits(options, {"train.epochs=6"}) : Digits(options);
}

}  // namespace grbm
