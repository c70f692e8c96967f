// The table of experiments.
#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/options.h"
#include "reproduce/experiment.h"

namespace grbm {

namespace {

constexpr std::string_view kScaleNames[] = {"quick", "small", "paper"};

void CheckFaces(const Experiment& experiment, const ReproduceOptions& options) {
  if (!experiment.faces) return;
  if (options.faces.empty()) {
    throw ConfigError(fmt::format(
        "{}: CelebA's images are needed: get img_align_celeba.zip from CelebA's site, unpack it, and give the folder "
        "of the JPEG files with --data DIR",
        experiment.name));
  }
  if (!IsFolder(options.faces)) {
    throw IoError(fmt::format("--data {}: no such folder: give the folder of CelebA's JPEG files", options.faces));
  }
}

}  // namespace

std::string_view ScaleName(Scale scale) { return kScaleNames[static_cast<int>(scale)]; }

Scale ParseScale(const std::string& word) {
  const auto found = std::ranges::find(kScaleNames, word);
  if (found != std::end(kScaleNames)) return static_cast<Scale>(found - std::begin(kScaleNames));
  throw ConfigError(fmt::format("--scale {}: allowed are quick, small and paper", word));
}

std::span<const Experiment> Experiments() {
  static const Experiment kExperiments[] = {kGmm,           kMnistTable, kMnistSamples, kCdTable,    kLangevinTable,
                                            kVarianceCurve, kFilters,    kSampling,     kFashion,    kCelebA32,
                                            kCelebA2k64,    kNoiseStart, kClip,         kTemperature};
  return kExperiments;
}

std::vector<const Experiment*> FindExperiments(const std::string& name, const ReproduceOptions& options) {
  std::vector<const Experiment*> found;
  std::vector<std::string_view> known = {"all"};
  for (const Experiment& experiment : Experiments()) {
    known.push_back(experiment.name);
    if (name != experiment.name && (name != "all" || (experiment.faces && options.faces.empty()))) continue;
    CheckFaces(experiment, options);
    found.push_back(&experiment);
  }
  if (found.empty()) {
    throw ConfigError(fmt::format("reproduce: unknown experiment '{}'{} ('grbm reproduce --list' lists them)", name,
                                  DidYouMean(name, known)));
  }
  return found;
}

}  // namespace grbm
