#include "output.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/json.h"
#include "grbm/core/file.h"
#include "grbm/core/npz.h"
#include "grbm/core/random.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/conditions.h"
#include "grbm/model/labels.h"
#include "grbm/model/reach.h"
#include "grbm/report/image.h"
#include "grbm/report/samples.h"
#include "grbm/sampler/sampler.h"
#include "grbm/train/config.h"
#include "grbm/train/run.h"
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
std::string ResultText(bool yes) { return yes ? "true" : "false"; }
std::string ResultText(std::int64_t number) { return std::to_string(number); }
std::string ResultText(double number) { return NumberText(number); }
std::string ResultText(const Measure& measure) { return NumberText(measure.value) + " " + measure.unit; }
std::string ResultText(const Names& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}
std::string ResultText(const Sizes& sizes) {
  return sizes.empty() ? "none" : fmt::format("{}", fmt::join(sizes, " × "));
}

}  // namespace

void PrintResults(const Common& common, const Results& results) {
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

Sizes SizesOf(const ImageShape& shape) {
  return shape.known() ? Sizes{shape.height, shape.width, shape.channels} : Sizes();
}

void PrintScores(const std::vector<MetricScores>& metrics) {
  std::size_t name_width = 0;
  std::size_t text_width = 0;
  for (const MetricScores& metric : metrics) {
    for (const Score& score : metric.scores) {
      name_width = std::max(name_width, score.name.size());
      text_width = std::max(text_width, ScoreText(score).size());
    }
  }
  for (const MetricScores& metric : metrics) {
    Print("\n{}\n", metric.name);
    for (const Score& score : metric.scores) {
      std::string label = score.name;
      std::ranges::replace(label, '_', ' ');
      // ± is one character of two bytes.
      const std::string text = ScoreText(score);
      const std::size_t padding = text_width - text.size() + (text.find("±") == std::string::npos ? 0 : 1);
      std::string line = fmt::format("  {:{}}  {}", label, name_width, text);
      if (!score.note.empty()) line += fmt::format("{:{}}  {}", "", padding, score.note);
      Print("{}\n", line);
    }
  }
}

Common Beside(const Common& common, const std::string& out) {
  Common beside = common;
  if (out == "-") {
    beside.quiet = true;
    beside.json = false;
  }
  return beside;
}

std::string Ending(const std::string& path) {
  if (path == "-") return ".csv";
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

void CheckOutput(const std::string& path, const std::vector<std::string>& allowed, const char* option) {
  CheckEnding(path, allowed, option);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (path != "-" && !folder.empty() && !IsFolder(folder.string())) {
    throw IoError(fmt::format("{} {}: there is no folder {}: make it first", option, path, folder.string()));
  }
}

void CheckApart(const std::string& path, const std::vector<std::string>& others, const char* option) {
  for (const std::string& other : others) {
    std::error_code error;
    if (path != other && !std::filesystem::equivalent(path, other, error)) continue;
    throw ConfigError(fmt::format("{} {}: {} the command has already: name another file", option, path,
                                  path == "-" ? "an output that" : "a file that"));
  }
}

void CheckEnding(const std::string& path, const std::vector<std::string>& allowed, const char* option) {
  if (std::ranges::find(allowed, Ending(path)) != allowed.end()) return;
  throw ConfigError(
      fmt::format("{} {}: the ending says what to write: allowed are {}", option, path, fmt::join(allowed, ", ")));
}

void CheckImages(const std::string& path, const ModelFile& file) {
  if (Ending(path) == ".npy" || Ending(path) == ".csv" || file.image_shape.known()) return;
  throw ConfigError(fmt::format("-o {}: the model's rows are not images: write an .npy or .csv file", path));
}

void WriteRows(const std::string& path, const Matrix& rows, std::span<const std::string> names) {
  if (Ending(path) == ".npy") {
    WriteNpy(path, MakeTensor("", {rows.rows(), rows.cols()}, rows.values()));
    return;
  }
  std::string text;
  for (const std::string& name : names) {
    std::string doubled;
    for (const char c : name) doubled += c == '"' ? std::string(2, c) : std::string(1, c);
    const bool plain = name.find_first_of(",;\"\t\r\n") == std::string::npos;
    text += fmt::format("{}{}", text.empty() ? "" : ",", plain ? name : '"' + doubled + '"');
  }
  if (!names.empty()) text += '\n';
  for (Index r = 0; r < rows.rows(); ++r) text += fmt::format("{}\n", fmt::join(rows.row(r), ","));
  if (path == "-") {
    PrintText(text);
  } else {
    WriteFileAtomically(path, text);
  }
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
  const bool other = ResolveSource(options.source) != ResolveSource(source);
  options.source = source;
  if (!other) return options;
  options.subset = 0;
  options.held_out.clear();
  options.key.clear();
  // Another table may have the same columns, and labels and weights or none; an array has no names.
  if (Ending(source) != ".csv" && Ending(source) != ".tsv") options.columns.clear();
  for (std::string* column : {&options.label, &options.weight}) {
    if (!column->empty() && !HasColumn(source, *column)) column->clear();
  }
  return options;
}

void AddDataDetails(Command command, DataArguments& data) {
  if (data.split.empty()) {
    command
        .AddOption("--split", data.split,
                   "Part of the data: train, test, all (default: test where there is such a part, otherwise train)")
        .SetTypeName("PART");
  } else {
    command.AddOption("--split", data.split, "Part of the data: train, test, all").ShowDefault();
  }
  command
      .AddOption("--columns", data.columns, "Tables: which columns, by name or number: see grbm settings data.columns")
      .SetTypeName("LIST");
  command.AddOption("--label", data.label, "Tables, NPZ, HDF5: what holds labels, and is no value")
      .SetTypeName("COLUMN");
  command.AddOption("--key", data.key, "NPZ, HDF5: which array").SetTypeName("NAME");
  command
      .AddOption("--held-out", data.held_out,
                 "What the part test is: a share of the rows, or other data (default: as the model was trained)")
      .SetTypeName("SHARE|PATH");
}

Option AddData(Command command, DataArguments& data, const std::string& help) {
  const Option option =
      command.AddOption("--data", data.source, help + ": a path, or mnist, fashion-mnist, gmm-iso, gmm-aniso")
          .Required();
  AddDataDetails(command, data);
  return option;
}

void DataArguments::Put(DataOptions& options) const {
  const std::pair<const std::string&, std::string&> places[] = {
      {columns, options.columns}, {label, options.label}, {key, options.key}, {held_out, options.held_out}};
  for (const auto& [given, place] : places) {
    if (!given.empty()) place = given;
  }
}

DataOptions GivenData(const ModelFile& file, const DataArguments& data) {
  DataOptions options = ModelData(file, data.source);
  data.Put(options);
  options.split = !data.split.empty() ? data.split : HasTestPart(options) ? "test" : "train";
  return options;
}

DataRows ReadGiven(const ModelFile& file, const DataArguments& given, Index limit, Gaps gaps) {
  DataOptions options = GivenData(file, given);
  options.gaps = gaps;
  options.subset = 0;
  const Dataset data = LoadDataset(options);
  const Index count = limit > 0 ? std::min(limit, data.rows()) : data.rows();
  DataRows rows{data.Read(0, count), {}, data.names(), {}};
  if (!data.labels().empty()) rows.labels.assign(data.labels().begin(), data.labels().begin() + count);
  if (data.visible() != file.model.gaussian_units()) {
    throw DataError(fmt::format("{}: {} columns, but the model has {} visible units: they must be as many",
                                given.source, data.visible(), file.model.gaussian_units()));
  }
  if (data.conditions() != file.model.conditions()) {
    throw DataError(fmt::format("{}: {} conditions a row, but the model has {}: they must be as many", given.source,
                                data.conditions(), file.model.conditions()));
  }
  data.CheckNames(file.columns, file.condition_columns, "the model");
  for (Index r = 0; r < count; ++r) CheckMargin(file.standardization.margin, rows.values.row(r), r, given.source);
  if (data.conditions() > 0) {
    std::vector<Index> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), Index{0});
    rows.conditions = data.ReadConditions(numbers);
    file.conditions.Apply(rows.conditions);
  }
  return rows;
}

Matrix InModelUnits(const ModelFile& file, Matrix values, const std::string& source) {
  file.standardization.Apply(values);
  CheckReach(file.model, values, source);
  return values;
}

DataRows ReadRows(const ModelFile& file, const DataArguments& given, Index limit) {
  DataRows rows = ReadGiven(file, given, limit);
  rows.values = InModelUnits(file, std::move(rows.values), given.source);
  return rows;
}

void AddSet(Command command, std::vector<std::string>& assignments) {
  command
      .AddOption("--set", assignments,
                 "A setting other than the model's: sampler.key=value, or generate.key=value of drawing samples alone")
      .SetTypeName("SECTION.KEY=VALUE")
      .OneEach();
}

std::string ModelFileAt(const std::string& path) {
  if (!IsFolder(path)) return path;
  const std::string model = ModelPath(std::filesystem::path(path).lexically_normal().string());
  if (Exists(model)) return model;
  const std::string archive = (std::filesystem::path(path) / "model.npz").lexically_normal().string();
  if (Exists(archive)) return archive;
  throw IoError(
      fmt::format("{}: a folder without model.safetensors: expected is a model file, or a run's folder", path));
}

ModelFile ReadAnyModel(const std::string& path) {
  const std::string file = ModelFileAt(path);
  return Ending(file) == ".npz" ? ImportNpz(file) : ReadModel(file);
}

void CheckTaken(const ModelFile& file, const std::string& path, Taken taken) {
  if (file.model.conditions() > 0 && !taken.conditions) {
    throw ConfigError(fmt::format(
        "{}: a model with conditions: sample, score, evaluate, encode, reconstruct and inpaint take such, given them",
        path));
  }
  if (file.classes.empty() || taken.labels) return;
  throw ConfigError(fmt::format(
      "{}: a model with labels, here allowed given one: 'grbm convert {} given.safetensors --label {}' writes it", path,
      path, file.classes.front()));
}

ModelFile OpenModel(const std::string& path, const std::vector<std::string>& assignments, Taken taken) {
  ModelFile file = ReadAnyModel(path);
  CheckTaken(file, path, taken);
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
  if (!file.generate.keep_labels) CheckKeptLabels(config.generate, !file.classes.empty());
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
