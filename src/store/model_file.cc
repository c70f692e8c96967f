#include "grbm/store/model_file.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/bytes.h"
#include "core/number.h"
#include "grbm/core/error.h"
#include "grbm/core/npz.h"
#include "grbm/core/safetensors.h"
#include "grbm/core/version.h"
#include "grbm/model/labels.h"
#include "store/options_json.h"
#include "store/parameter_tensors.h"

namespace grbm {

namespace {

using nlohmann::json;
using Metadata = std::map<std::string, std::string>;

constexpr std::string_view kFormat = "grbm-model";
constexpr int kFormatVersion = 1;
constexpr std::size_t kMaxText = 1 << 20;  // bytes of a text whose length no shape tells
constexpr std::array<std::string_view, 14> kKeys = {
    "format",      "format_version", "grbm_version", "variance_floor", "sampler", "generate", "standardization",
    "image_shape", "provenance",     "classes",      "conditions",     "history", "columns",  "condition_columns"};
constexpr std::string_view kNpzMetadata = "metadata";

std::size_t MaxStandardizationText(Index visible) {
  // Three numbers of at most 26 characters with a comma for each unit.
  return 1024 + 96 * static_cast<std::size_t>(visible);
}

// The text of so many names: each byte may take six.
std::size_t MaxNamesText(Index units) { return 1024 + (6 * ModelFile::kMaxName + 8) * static_cast<std::size_t>(units); }

// Runs `action`; errors that do not know the file get its name in front.
template <typename Action>
auto WithSource(const std::string& source, Action action) {
  try {
    return action();
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", source, error.what()));
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{}: {}", source, error.what()));
  }
}

std::vector<float> FloatsFromJson(const json& array, const std::string& where) {
  std::vector<float> values;
  if (!array.is_array()) throw DataError(where + ": expected is a list of numbers");
  for (const json& element : array) {
    if (!element.is_number()) throw DataError(where + ": expected is a list of numbers");
    values.push_back(static_cast<float>(element.get<double>()));
  }
  return values;
}

Standardization StandardizationFromJson(const json& object, const std::string& where) {
  const bool margin = object.is_object() && object.contains("margin");
  if (!object.is_object() || object.size() != (margin ? 3 : 2) || !object.contains("mean") ||
      !object.contains("deviation")) {
    throw DataError(where + ": expected is an object with 'mean' and 'deviation', and maybe 'margin'");
  }
  return {FloatsFromJson(object["mean"], where + ": mean"), FloatsFromJson(object["deviation"], where + ": deviation"),
          margin ? FloatsFromJson(object["margin"], where + ": margin") : std::vector<float>()};
}

void CheckImageShape(const ImageShape& shape, Index visible, const std::string& source) {
  if (shape == ImageShape()) return;
  const Index sizes[] = {shape.height, shape.width, shape.channels};
  if (std::ranges::any_of(sizes, [](Index size) { return size < 1; }) || ElementCount(sizes) != visible) {
    throw DataError(fmt::format(
        "{}: image_shape {}: expected are height, width and channels with a product of {}, the visible units", source,
        ShapeText(sizes), visible));
  }
}

ImageShape ImageShapeFromJson(const json& array, const std::string& where) {
  const auto refuse = [&] { throw DataError(where + ": expected is a list of three whole numbers"); };
  if (!array.is_array() || array.size() != 3) refuse();
  for (const json& size : array) {
    if (!size.is_number_unsigned() || !std::in_range<Index>(size.get<std::uint64_t>())) refuse();
  }
  return {array[0].get<Index>(), array[1].get<Index>(), array[2].get<Index>()};
}

json ImageShapeToJson(const ImageShape& shape) { return {shape.height, shape.width, shape.channels}; }

Metadata StringsFromJson(const json& object, const std::string& where) {
  Metadata strings;
  if (!object.is_object()) throw DataError(where + ": expected is an object of texts");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      throw DataError(fmt::format("{}: {} is {}: expected is text", where, Quoted(key), value.type_name()));
    }
    strings.emplace(key, value.get<std::string>());
  }
  return strings;
}

std::vector<std::string> NamesFromJson(const json& array, const std::string& where) {
  std::vector<std::string> names;
  if (!array.is_array()) throw DataError(where + ": expected is a list of names");
  for (const json& name : array) {
    if (!name.is_string()) throw DataError(where + ": expected is a list of names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::vector<std::string> ClassesFromJson(const json& array, const std::string& where) {
  std::vector<std::string> classes = NamesFromJson(array, where);
  for (const std::string& name : classes) {
    if (std::ranges::count(classes, name) > 1) {
      throw DataError(fmt::format("{}: {} stands there twice: each class has one name", where, Quoted(name)));
    }
  }
  return classes;
}

Index HistoryFromText(const std::string& text, Index conditions, Index visible, const std::string& where) {
  const auto frames = NumberIn<Index>(text);
  if (frames && *frames >= 1 && conditions % visible == 0 && conditions / visible == *frames) return *frames;
  throw DataError(
      fmt::format("{}: {}: expected are as many rows as make the {} conditions", where, Quoted(text), conditions));
}

double VarianceFloorFromText(const std::string& text, const std::string& where) {
  const auto value = NumberIn<double>(text);
  if (value && std::isfinite(*value) && *value > 0) return *value;
  throw DataError(fmt::format("{}: {}: allowed is a number above 0", where, Quoted(text)));
}

// Throws unless the metadata are ours and of a version that we know. False: they are another
// program's (PyTorch writes format = "pt"), which say nothing about a model.
bool IsOurs(const Metadata& metadata, const std::string& source) {
  const auto format = metadata.find("format");
  if (format != metadata.end() && format->second != kFormat) {
    if (!format->second.starts_with("grbm-")) return false;
    throw DataError(fmt::format("{}: this is a file of format {}: expected is a model, '{}'", source,
                                Quoted(format->second), kFormat));
  }
  const auto version = metadata.find("format_version");
  if (version != metadata.end() && version->second != std::to_string(kFormatVersion)) {
    throw DataError(fmt::format("{}: format_version {}: this is grbm {}, which reads version {}: use a newer grbm",
                                source, Quoted(version->second), Version(), kFormatVersion));
  }
  for (const auto& [key, value] : metadata) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      const std::string quoted = Quoted(key);
      throw DataError(fmt::format("{}: metadata: unknown key {}{}", source, quoted,
                                  DidYouMean(std::string_view(quoted).substr(1, quoted.size() - 2), kKeys)));
    }
  }
  return true;
}

void CheckNames(const TensorFile& file) {
  std::vector<std::string_view> names;
  for (const auto& tensor : Parameters().Tensors()) names.push_back(tensor.name);
  for (const Tensor& tensor : file.tensors) {
    if (std::ranges::find(names, tensor.name) != names.end()) continue;
    throw DataError(
        fmt::format("{}: tensor {}: a model has only {}", file.source, Quoted(tensor.name), fmt::join(names, ", ")));
  }
}

ModelFile FromTensors(const TensorFile& file) {
  const std::string& source = file.source;
  const bool ours = IsOurs(file.metadata, source);
  // Calls use(text, where) for a key that is there.
  const auto with = [&](const std::string& key, auto use) {
    const auto found = file.metadata.find(key);
    if (ours && found != file.metadata.end()) {
      use(found->second, fmt::format("{}: metadata '{}'", source, key));
    }
  };
  double floor = Model::kDefaultVarianceFloor;
  with("variance_floor",
       [&](const std::string& text, const std::string& where) { floor = VarianceFloorFromText(text, where); });
  std::vector<std::string> classes;
  with("classes", [&](const std::string& text, const std::string& where) {
    classes = ClassesFromJson(ParseJson(text, kMaxText, where), where);
  });
  Parameters parameters = GetParameters(file);
  CheckNames(file);
  ModelFile result = {
      WithSource(source, [&] { return Model(std::move(parameters), floor, static_cast<Index>(classes.size())); })};
  result.classes = std::move(classes);
  const Index visible = result.model.gaussian_units();
  with("sampler", [&](const std::string& text, const std::string& where) {
    OptionsFromJson(ParseJson(text, kMaxText, where), result.sampler.Fields(), where);
    WithSource(source, [&] { CheckOptions(result.sampler); });
  });
  with("generate", [&](const std::string& text, const std::string& where) {
    OptionsFromJson(ParseJson(text, kMaxText, where), result.generate.Fields(), where);
  });
  WithSource(source, [&] { CheckGeneration(result.generate, result.sampler); });
  with("standardization", [&](const std::string& text, const std::string& where) {
    result.standardization = StandardizationFromJson(ParseJson(text, MaxStandardizationText(visible), where), where);
    CheckStandardization(result.standardization, visible, source);
  });
  const Index conditions = result.model.conditions();
  with("conditions", [&](const std::string& text, const std::string& where) {
    result.conditions = StandardizationFromJson(ParseJson(text, MaxStandardizationText(conditions), where), where);
    CheckStandardization(result.conditions, conditions, where);
  });
  with("history", [&](const std::string& text, const std::string& where) {
    result.history = HistoryFromText(text, conditions, visible, where);
  });
  const auto names = [&](const std::string& key, Index units, std::vector<std::string>& to) {
    with(key, [&](const std::string& text, const std::string& where) {
      to = NamesFromJson(ParseJson(text, MaxNamesText(units), where), where);
      if (std::ssize(to) != units) {
        throw DataError(fmt::format("{}: {} names: expected are {}", where, to.size(), units));
      }
    });
  };
  names("columns", visible, result.columns);
  names("condition_columns", conditions, result.condition_columns);
  with("image_shape", [&](const std::string& text, const std::string& where) {
    result.image_shape = ImageShapeFromJson(ParseJson(text, kMaxText, where), where);
    CheckImageShape(result.image_shape, visible, source);
  });
  with("provenance", [&](const std::string& text, const std::string& where) {
    result.provenance = StringsFromJson(ParseJson(text, kMaxText, where), where);
  });
  return result;
}

ModelFile FromNpz(TensorFile tensors) {
  const std::string path = tensors.source;
  if (const Tensor* found = FindTensor(tensors, kNpzMetadata)) {
    const std::string where = fmt::format("{}: array '{}'", path, kNpzMetadata);
    if (found->dtype != "U8" || found->shape.size() != 1) {
      throw DataError(where + ": expected is a list of uint8, the bytes of a JSON text");
    }
    // The texts within are bounded again, each by its own limit.
    const Tensor* mu = FindTensor(tensors, "mu");
    const Tensor* shift = FindTensor(tensors, "A");
    const Index visible = mu != nullptr ? static_cast<Index>(mu->bytes.size()) : 0;
    const Index conditions = shift != nullptr ? static_cast<Index>(shift->bytes.size()) : 0;
    const std::size_t limit = 4 * kMaxText + MaxStandardizationText(visible) + MaxStandardizationText(conditions) +
                              MaxNamesText(visible) + MaxNamesText(conditions);
    tensors.metadata = StringsFromJson(ParseJson(found->bytes, limit, where), where);
    std::erase_if(tensors.tensors, [](const Tensor& tensor) { return tensor.name == kNpzMetadata; });
  }
  return FromTensors(tensors);
}

Metadata MakeMetadata(const ModelFile& file, const std::string& source) {
  SamplerOptions sampler = file.sampler;
  const Metadata& provenance = file.provenance;
  Metadata metadata = {
      {"format", std::string(kFormat)},
      {"format_version", std::to_string(kFormatVersion)},
      {"grbm_version", Version()},
      {"variance_floor", fmt::format("{}", file.model.variance_floor())},
      {"sampler", DumpJson(OptionsToJson(sampler.Fields()), source)},
  };
  if (GenerateOptions generate = file.generate; generate != GenerateOptions()) {
    metadata["generate"] = DumpJson(OptionsToJson(generate.Fields()), source);
  }
  // A float is written as the double that it is, so it comes back bit for bit.
  for (const auto& [key, map] :
       {std::pair("standardization", &file.standardization), std::pair("conditions", &file.conditions)}) {
    if (map->identity()) continue;
    json text = {{"mean", map->mean}, {"deviation", map->deviation}};
    if (!map->margin.empty()) text["margin"] = map->margin;
    metadata[key] = DumpJson(text, source);
  }
  if (file.history > 0) metadata["history"] = std::to_string(file.history);
  if (file.image_shape.known()) metadata["image_shape"] = DumpJson(ImageShapeToJson(file.image_shape), source);
  if (!file.classes.empty()) metadata["classes"] = DumpJson(file.classes, source);
  if (!file.columns.empty()) metadata["columns"] = DumpJson(file.columns, source);
  if (!file.condition_columns.empty()) metadata["condition_columns"] = DumpJson(file.condition_columns, source);
  if (!provenance.empty()) metadata["provenance"] = DumpJson(provenance, source + ": provenance");
  if (metadata.contains("provenance") && metadata["provenance"].size() > kMaxText) {
    throw DataError(fmt::format("{}: provenance: {} bytes of JSON: allowed are {}", source,
                                metadata["provenance"].size(), kMaxText));
  }
  return metadata;
}

// Refers to the model's own numbers.
TensorFile ToTensors(const ModelFile& file, const std::string& source) {
  WithSource(source, [&] {
    CheckOptions(file.sampler);
    CheckGeneration(file.generate, file.sampler);
  });
  GRBM_CHECK(static_cast<Index>(file.classes.size()) == file.model.label_units());
  CheckStandardization(file.standardization, file.model.gaussian_units(), source);
  CheckImageShape(file.image_shape, file.model.gaussian_units(), source);
  CheckStandardization(file.conditions, file.model.conditions(), source);
  TensorFile tensors;
  tensors.source = source;
  AddParameters(file.model.parameters(), "", tensors);
  tensors.metadata = MakeMetadata(file, source);
  return tensors;
}

}  // namespace

VisibleLaw ModelFile::law() const { return VisibleLawOf(model, sampler); }
SamplerOptions ModelFile::generation() const { return generate.Apply(sampler); }
double ModelFile::hottest() const {
  const SamplerOptions drawn = generation();
  return std::max({sampler.temperature, drawn.temperature, drawn.move_temperature()});
}

ModelFile ModelFile::Given(std::string_view name, std::string_view where) const {
  if (classes.empty()) {
    throw ConfigError(fmt::format("{}: the model has no labels: train one with model.labels=true", where));
  }
  const auto found = std::ranges::find(classes, name);
  if (found == classes.end()) {
    throw ConfigError(fmt::format("{}: no such class: allowed are {}", where, fmt::join(classes, ", ")));
  }
  ModelFile given = *this;
  given.model = GivenLabel(model, found - classes.begin());
  given.classes.clear();
  given.generate.keep_labels = false;  // there are none left
  given.provenance["class"] = *found;
  return given;
}

ModelFile ReadModel(const std::string& path) { return FromTensors(ReadTensors(path)); }

ModelFile ParseModel(std::string contents, const std::string& source) {
  if (contents.starts_with("PK")) return FromNpz(ParseNpz(std::move(contents), source));
  return FromTensors(ParseTensors(std::move(contents), source));
}

void WriteModel(const std::string& path, const ModelFile& file) { WriteTensors(path, ToTensors(file, path)); }

void ExportNpz(const std::string& path, const ModelFile& file) {
  TensorFile tensors = ToTensors(file, path);
  const std::string text = DumpJson(tensors.metadata, path);
  tensors.tensors.push_back({std::string(kNpzMetadata), "U8", {static_cast<Index>(text.size())}, text});
  WriteNpz(path, tensors.tensors);
}

ModelFile ImportNpz(const std::string& path) { return FromNpz(ReadNpz(path)); }

}  // namespace grbm
