#include "output.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "grbm/core/file.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/energy.h"
#include "grbm/model/reach.h"
#include "grbm/report/image.h"
#include "grbm/report/samples.h"
#include "grbm/sampler/sampler.h"
#include "grbm/train/config.h"
#include "streams.h"

namespace grbm::app {

namespace {

double NumberOf(const Result& result) {
  if (const auto* measure = std::get_if<Measure>(&result)) return measure->value;
  const auto* number = std::get_if<double>(&result);
  return number != nullptr ? *number : 0;
}

// Four digits, or a whole number.
std::string NumberText(double value) {
  const double size = std::abs(value);
  return size >= 1000 && size < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string ResultText(const std::string& text) { return text; }
std::string ResultText(std::int64_t number) { return std::to_string(number); }
std::string ResultText(double number) { return NumberText(number); }
std::string ResultText(const Measure& measure) { return NumberText(measure.value) + " " + measure.unit; }

}  // namespace

void PrintResults(const Common& common, const std::vector<std::pair<std::string, Result>>& results) {
  for (const auto& [name, value] : results) {
    if (const double number = NumberOf(value); !std::isfinite(number)) {
      throw NumericError(fmt::format("{} is {}", name, number));
    }
  }
  if (common.json) {
    nlohmann::ordered_json object;
    for (const auto& [name, value] : results) {
      std::visit(
          [&, &key = name](const auto& v) {
            if constexpr (requires { v.unit; }) {
              object[key] = v.value;
            } else {
              object[key] = v;
            }
          },
          value);
    }
    Print("{}\n", JsonText(object));
    return;
  }
  if (common.quiet) return;
  std::size_t width = 0;
  for (const auto& [name, value] : results) width = std::max(width, name.size());
  for (const auto& [name, value] : results) {
    std::string label = name;
    std::ranges::replace(label, '_', ' ');
    const std::string text = std::visit([](const auto& v) { return ResultText(v); }, value);
    Print("{:{}}  {}\n", label, width, OneLine(text));
  }
}

std::string Ending(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

void CheckOutput(const std::string& path, const std::vector<std::string>& allowed) {
  CheckEnding(path, allowed);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !IsFolder(folder.string())) {
    throw IoError(fmt::format("-o {}: there is no folder {}: make it first", path, folder.string()));
  }
}

void CheckEnding(const std::string& path, const std::vector<std::string>& allowed) {
  if (std::ranges::find(allowed, Ending(path)) != allowed.end()) return;
  throw ConfigError(
      fmt::format("-o {}: the ending says what to write: allowed are {}", path, fmt::join(allowed, ", ")));
}

void CheckImages(const std::string& path, const ModelFile& file) {
  if (Ending(path) == ".npy" || file.image_shape.known()) return;
  throw ConfigError(fmt::format("-o {}: the model's rows are not images: write an .npy file", path));
}

void WriteImages(const std::string& path, const ModelFile& file, const std::vector<Matrix>& frames, int columns) {
  GridOptions options = ShownRange(file, frames.back());
  options.columns = columns;
  options.scale = std::max<Index>(1, 56 / std::max(file.image_shape.height, file.image_shape.width));
  options.gap = 2;
  std::vector<Image> images;
  for (const Matrix& frame : frames) images.push_back(ImageGrid(frame, file.image_shape, options));
  if (Ending(path) == ".gif") {
    WriteGif(path, images);
  } else {
    WritePng(path, images.back());
  }
}

DataOptions ModelData(const ModelFile& file, const std::string& source) {
  DataOptions options;
  const auto config = file.provenance.find("config");
  if (config != file.provenance.end()) options = ParseConfig(config->second, "the model's settings").data;
  if (ResolveSource(options.source) != ResolveSource(source)) options.subset = 0;
  options.source = source;
  return options;
}

Matrix ReadGiven(const ModelFile& file, const std::string& source, const std::string& split, Index limit) {
  DataOptions options = ModelData(file, source);
  options.split = split;
  options.subset = 0;
  const Dataset data = LoadDataset(options);
  const Index rows = limit > 0 ? std::min(limit, data.rows()) : data.rows();
  Matrix values = data.Read(0, rows);
  CheckVisible(file.model, values, source.c_str());
  return values;
}

Matrix InModelUnits(const ModelFile& file, Matrix values, const std::string& source) {
  file.standardization.Apply(values);
  CheckReach(file.model, values, source);
  return values;
}

void AddSet(Command command, std::vector<std::string>& assignments) {
  command
      .AddOption("--set", assignments,
                 "A setting other than the model's: sampler.key=value, or generate.key=value of drawing samples alone")
      .SetTypeName("SECTION.KEY=VALUE")
      .OneEach();
}

ModelFile OpenModel(const std::string& path, const std::vector<std::string>& assignments) {
  ModelFile file = ReadModel(path);
  ApplySet(file, path, assignments);
  return file;
}

void ApplySet(ModelFile& file, const std::string& path, const std::vector<std::string>& assignments) {
  Config config;
  config.sampler = file.sampler;
  config.generate = file.generate;
  constexpr std::string_view kSampler = "sampler.";
  for (const std::string& assignment : assignments) {
    if (!assignment.starts_with(kSampler) && !assignment.starts_with("generate.")) {
      throw ConfigError(
          fmt::format("--set {}: a trained model takes settings of the sampler only: sampler.key=value, or "
                      "generate.key=value",
                      assignment));
    }
    SetOption(config, assignment);
    if (assignment.starts_with(kSampler)) {
      // What is set of the sampler holds for samples, too, whatever the file says of them.
      config.generate.FollowTraining(
          std::string_view(assignment).substr(0, assignment.find('=')).substr(kSampler.size()));
    }
  }
  CheckOptions(config.sampler);
  CheckGeneration(config.generate, config.sampler);
  const SamplerOptions drawn = config.generate.Apply(config.sampler);
  if (CheckStability(file.model, drawn).unstable > CheckStability(file.model, file.generation()).unstable) {
    RequireStable(file.model, drawn);
  }
  file.sampler = config.sampler;
  file.generate = config.generate;
  CheckReach(file.model, file.hottest(), path);
}

void WarnUnstable(const ModelFile& file) {
  const Stability stability = CheckStability(file.model, file.generation());
  if (stability.unstable == 0) return;
  Tell("grbm: warning: the step overshoots for {} visible units: sampler.step_scale=unit fits every unit\n",
       stability.unstable);
}

std::string FinalText(const ModelFile& file) { return ShownSampler(file).final == Final::kMean ? "mean" : "sample"; }

}  // namespace grbm::app
