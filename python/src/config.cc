// Settings: the sections of a configuration, presets.
#include "grbm/train/config.h"

#include <fmt/core.h>

#include <algorithm>

#include "bindings.h"
#include "grbm/core/error.h"
#include "grbm/train/presets.h"

namespace grbm::python {

namespace {

Scalar ScalarOf(const py::handle& value, const std::string& where) {
  const bool numpy_bool = py::isinstance(value, py::module_::import("numpy").attr("bool_"));
  if (py::isinstance<py::bool_>(value) || numpy_bool)
    return py::bool_(py::reinterpret_borrow<py::object>(value)).cast<bool>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  try {
    if (PyIndex_Check(value.ptr()) != 0) return value.cast<std::int64_t>();
    if (PyNumber_Check(value.ptr()) != 0) return value.cast<double>();
  } catch (const py::cast_error&) {
    // Not one number, or one that no setting can be.
  }
  if (py::hasattr(value, "__fspath__")) return py::str(value.attr("__fspath__")()).cast<std::string>();
  throw ConfigError(
      fmt::format("{}: {}: allowed are numbers, texts, True and False", where, py::repr(value).cast<std::string>()));
}

const Field& Find(const std::vector<Config::Section>& sections, const std::string& name) {
  const std::size_t dot = name.find('.');
  const auto found = std::ranges::find(sections, name.substr(0, dot), &Config::Section::name);
  if (dot == std::string::npos || found == sections.end()) {
    throw ConfigError(fmt::format("{}: allowed is section.key, such as train.epochs", name));
  }
  return FindField(found->fields, name.substr(dot + 1), name.substr(0, dot));
}

py::dict ToDict(Config& config) {
  py::dict sections;
  for (const Config::Section& section : config.Sections()) {
    sections[py::str(section.name.data(), section.name.size())] = FieldValues(section.fields);
  }
  return sections;
}

std::string FirstComment(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return std::string(line.starts_with("# ") ? line.substr(2) : std::string_view());
}

}  // namespace

void SetField(const Field& field, const py::handle& value, const std::string& where) {
  Assign(field, ScalarOf(value, where), where);
}

py::object FieldValue(const Field& field) { return py::cast(Value(field)); }

void SetFields(std::span<const Field> fields, const py::dict& values, const std::string& where) {
  for (const auto& [name, value] : values) SetField(FindField(fields, name.cast<std::string>(), where), value, where);
}

py::dict FieldValues(std::span<const Field> fields) {
  py::dict values;
  for (const Field& field : fields) values[py::str(field.name.data(), field.name.size())] = FieldValue(field);
  return values;
}

void BindConfig(py::module_& m) {
  py::class_<Config>(m, "Config", R"(All settings of a training run: what a TOML file holds, by the same names.

>>> config = grbm.Config.preset("gmm-iso")
>>> config["train.epochs"] = 5
>>> config["train.epochs"], config["sampler.method"]
(5.0, 'gibbs-langevin')
>>> config["train.epoch"] = 5
Traceback (most recent call last):
grbm.ConfigError: train: unknown key 'epoch': did you mean 'epochs'?
)")
      .def(py::init<>(), "The defaults.")
      .def_static("preset", &LoadPreset, py::arg("name"),
                  R"(The settings of a preset, or of a TOML file where the name has a '/' or ends in ".toml".

>>> grbm.Config.preset("mnist")["model.hidden"]
1024
)")
      .def_static(
          "parse", [](const std::string& text) { return ParseConfig(text, "text"); }, py::arg("text"),
          R"(From TOML text; what it does not name keeps its default.

>>> grbm.Config.parse("[train]\nepochs = 3")["train.epochs"]
3.0
)")
      .def(
          "__getitem__", [](Config& c, const std::string& name) { return FieldValue(Find(c.Sections(), name)); },
          py::arg("name"))
      .def(
          "__setitem__",
          [](Config& c, const std::string& name, const py::object& value) {
            SetField(Find(c.Sections(), name), value, name.substr(0, name.find('.')));
          },
          py::arg("name"), py::arg("value"))
      .def("to_dict", &ToDict, R"(Every setting: {section: {key: value}}.

>>> grbm.Config().to_dict()["sampler"]["steps"]
100
)")
      .def(
          "text", [](const Config& c) { return ConfigText(c); }, R"(Every setting as TOML.

>>> "batch_size = 100" in grbm.Config().text()
True
)")
      .def(
          "help",
          [](Config& c) {
            std::vector<std::tuple<std::string, std::string, std::string>> lines;
            for (const Config::Section& section : c.Sections()) {
              for (const Field& field : section.fields) {
                lines.emplace_back(fmt::format("{}.{}", section.name, field.name), AllowedText(field),
                                   std::string(field.help));
              }
            }
            return lines;
          },
          R"(Of every setting its name, what it takes, and what it is for.

>>> [line for line in grbm.Config().help() if line[0] == "model.hidden"]
[('model.hidden', 'a whole number from 1 to 10000000', 'number of hidden units')]
)")
      .def(
          "__eq__", [](Config& a, const Config& b) { return ConfigText(a) == ConfigText(b); }, py::is_operator())
      .def("__repr__",
           [](const Config& c) {
             std::string text = "Config(";
             for (const std::string& setting : Differences(c, Config())) {
               text += (text.back() == '(' ? "" : ", ") + setting;
             }
             return text + ")";
           })
      .def(py::pickle([](const Config& c) { return ConfigText(c); },
                      [](const std::string& text) { return ParseConfig(text, "pickle"); }));

  m.def(
      "presets",
      [] {
        std::map<std::string, std::string> presets;
        for (const Preset& preset : Presets()) presets[std::string(preset.name)] = FirstComment(preset.text);
        return presets;
      },
      R"(The experiments that come with the library, and what each is.

>>> grbm.presets()["mnist"]
'Digits in ten minutes on two cores.'
)");
}

}  // namespace grbm::python
