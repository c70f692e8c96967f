// The settings that cells of one scale share.
#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/file.h"
#include "grbm/data/fetch.h"
#include "grbm/evaluate/inception.h"
#include "grbm/sampler/law.h"
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

Cell AtPaperRate(Cell cell) {
  if (!cell.preset.starts_with("paper-")) return cell;
  const Config config = CellConfig(cell);
  const double temperature = LawOf(config.sampler).temperature;
  const double rate = 0.01 * temperature;
  const double clip = 10 / temperature;
  if (config.train.learning_rate != rate || config.train.clip_norm != clip) {
    cell.settings = Merge(std::move(cell.settings),
                          {fmt::format("train.learning_rate={}", rate), fmt::format("train.clip_norm={}", clip)});
  }
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
