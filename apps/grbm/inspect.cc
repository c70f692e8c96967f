// grbm info, grbm filters, grbm convert: looking at model files.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/number.h"
#include "grbm/report/image.h"
#include "numbers.h"
#include "output.h"

namespace grbm::app {

namespace {

// The counts of what a model came from are numbers, unless someone else wrote them.
Result ProvenanceResult(const std::string& key, const std::string& text) {
  const auto number = NumberIn<std::int64_t>(text);
  return number && (key == "bits" || key == "seed" || key == "updates") ? Result(*number) : Result(text);
}

int Info(const std::string& path, const Common& common) {
  const ModelFile file = ReadAnyModel(path);
  const Model& m = file.model;
  double squares = 0;
  for (const float w : m.parameters().W.values()) squares += double{w} * double{w};
  const std::span<const float> variances = m.variance().first(static_cast<std::size_t>(m.gaussian_units()));
  const std::string unit = file.standardization.identity() ? "units of the data" : "standardised units";
  Results results = {{"visible", std::int64_t{m.gaussian_units()}},
                     {"hidden", std::int64_t{m.hidden()}},
                     {"image", SizesOf(file.image_shape)},
                     {"mean_variance", Measure{m.mean_variance(), "squared " + unit}},
                     {"smallest_variance", Measure{double{std::ranges::min(variances)}, "squared " + unit}},
                     {"largest_variance", Measure{double{std::ranges::max(variances)}, "squared " + unit}},
                     {"rms_weight", Measure{std::sqrt(squares / static_cast<double>(m.visible() * m.hidden())), unit}},
                     {"standardized", !file.standardization.identity()}};
  if (const std::vector<float>& margin = file.standardization.margin; !margin.empty()) {
    results.emplace_back("largest_margin", Measure{double{std::ranges::max(margin)}, "units of the data"});
  }
  if (!file.classes.empty()) results.emplace_back("classes", file.classes);
  if (!file.columns.empty()) results.emplace_back("columns", file.columns);
  if (!file.condition_columns.empty()) results.emplace_back("condition_columns", file.condition_columns);
  if (m.conditions() > 0) results.emplace_back("conditions", std::int64_t{m.conditions()});
  if (file.history > 0) results.emplace_back("history", std::int64_t{file.history});
  const auto add_settings = [&](const std::string& section, const std::vector<Field>& fields) {
    for (const Field& field : fields) {
      std::visit([&](const auto& value) { results.emplace_back(section + "." + std::string(field.name), value); },
                 Value(field));
    }
  };
  SamplerOptions sampler = file.sampler;
  add_settings("sampler", sampler.Fields());
  GenerateOptions generate = file.generate;
  if (generate != GenerateOptions()) add_settings("generate", generate.Fields());
  for (const auto& [key, value] : file.provenance) {
    if (key != "config") results.emplace_back("provenance." + key, ProvenanceResult(key, value));
  }
  PrintResults(common, results);
  return 0;
}

int Filters(const std::string& path, Index count, const std::string& out, const Common& common) {
  CheckOutput(out, {".png"});
  const ModelFile file = ReadAnyModel(path);
  CheckImages(out, file);
  const Index shown = std::min(count, file.model.hidden());
  const Matrix filters = NormalizeFilters(file.model.W().Rows(0, file.model.gaussian_units()), shown);
  const Index side = std::max(file.image_shape.height, file.image_shape.width);
  WritePng(out, ImageGrid(filters, file.image_shape,
                          {.gap = 2, .scale = std::max<Index>(1, 56 / side), .low = -1, .high = 1}));
  PrintResults(common, {{"filters", out}, {"count", std::int64_t{shown}}});
  return 0;
}

int Convert(const std::string& from, const std::string& to, const std::string& label, const Common& common) {
  CheckEnding(ModelFileAt(from), {".safetensors", ".npz"});
  CheckOutput(to, {".safetensors", ".npz"});
  ModelFile file = ReadAnyModel(from);
  if (!label.empty()) file = file.Given(label, "--label " + label);
  if (Ending(to) == ".npz") {
    ExportNpz(to, file);
  } else {
    WriteModel(to, file);
  }
  PrintResults(common, {{"model", to}});
  return 0;
}

}  // namespace

void AddInfo(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("info", "Describe a model file");
  const auto path = std::make_shared<std::string>();
  command.AddOption("MODEL", *path, "A model file, or a run's folder").Required();
  command.SetFooter("Example: grbm info run/model.safetensors --json");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Info(*path, common); }; });
}

void AddFilters(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("filters", "Draw the weights of hidden units");
  const auto path = std::make_shared<std::string>();
  const auto out = std::make_shared<std::string>();
  const auto count = std::make_shared<Index>(100);
  command.AddOption("MODEL", *path, "A model file, or a run's folder").Required();
  AddNumber<Index>(command, "-n,--count", *count, "How many hidden units", 1, 1'000'000).ShowDefault();
  command.AddOption("-o,--out", *out, "The picture (.png)").Required();
  command.SetFooter("Example: grbm filters run/model.safetensors -o filters.png");
  command.SetCallback(
      [=, &common, &action] { action = [=, &common] { return Filters(*path, *count, *out, common); }; });
}

void AddConvert(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("convert", "Model files to NumPy archives, and back");
  const auto from = std::make_shared<std::string>();
  const auto to = std::make_shared<std::string>();
  command.AddOption("FROM", *from, "A model: .safetensors or .npz").Required();
  command.AddOption("TO", *to, "The same as .npz or .safetensors").Required();
  const auto label = std::make_shared<std::string>();
  command.AddOption("--label", *label, "Of a model with labels, the model given this class: one without labels")
      .SetTypeName("CLASS");
  command.SetFooter("Example: grbm convert run/model.safetensors model.npz");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Convert(*from, *to, *label, common); }; });
}

}  // namespace grbm::app
