#include "grbm/train/config.h"

#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/error.h"
#include "train/toml_file.h"

namespace grbm {

namespace {

const Config::Section& FindSection(std::span<const Config::Section> sections, std::string_view name,
                                   std::string_view where) {
  const auto found = std::ranges::find(sections, name, &Config::Section::name);
  if (found != sections.end()) return *found;
  std::vector<std::string_view> names;
  for (const Config::Section& section : sections) names.push_back(section.name);
  throw ConfigError(fmt::format("{}: unknown section '{}'{}", where, name, DidYouMean(name, names)));
}

// A basic TOML string.
std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

std::string TomlText(const Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Quote(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  std::string number = fmt::format("{}", std::get<double>(value));  // the shortest text that reads back the same
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return number;
}

std::vector<Config::Section> Config::Sections() {
  return {{"data", data.Fields()},        {"model", model.Fields()},       {"sampler", sampler.Fields()},
          {"train", train.Fields()},      {"generate", generate.Fields()}, {"checkpoint", checkpoint.Fields()},
          {"evaluate", evaluate.Fields()}};
}

Config ParseConfig(std::string_view text, const std::string& source) {
  Config config;
  const auto sections = config.Sections();
  const toml::table table = ParseToml(text, source);
  for (const auto& [section_key, node] : table) {
    const std::string where = SourceLine(source, node);
    const toml::table* entries = node.as_table();
    if (entries == nullptr) {
      throw ConfigError(
          fmt::format("{}: '{}' stands outside a section: put it under [data], [model], [sampler], "
                      "[train], [generate], [checkpoint] or [evaluate]",
                      where, section_key.str()));
    }
    const Config::Section& section = FindSection(sections, section_key.str(), where);
    for (const auto& [key, value] : *entries) {
      const std::string line = fmt::format("{}: [{}]", SourceLine(source, value), section.name);
      const Field& field = FindField(section.fields, key.str(), line);
      Assign(field, ToScalar(value, line, key.str()), line);
    }
  }
  return config;
}

void SetOption(Config& config, std::string_view assignment) {
  SetOption(config, assignment, fmt::format("--set {}", assignment));
}

void SetOption(Config& config, std::string_view assignment, std::string_view where) {
  const std::size_t equals = assignment.find('=');
  const std::size_t dot = assignment.substr(0, equals).find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos) {
    throw ConfigError(fmt::format("{}: allowed is section.key=value, for instance sampler.steps=50", where));
  }
  const auto sections = config.Sections();
  const Config::Section& section = FindSection(sections, assignment.substr(0, dot), where);
  AssignText(FindField(section.fields, assignment.substr(dot + 1, equals - dot - 1), where),
             assignment.substr(equals + 1), where);
}

std::vector<std::string> Differences(Config a, Config b) {
  std::vector<std::string> differences;
  const auto ours = a.Sections();
  const auto theirs = b.Sections();
  for (std::size_t s = 0; s < ours.size(); ++s) {
    if (ours[s].name == "checkpoint") continue;
    for (std::size_t f = 0; f < ours[s].fields.size(); ++f) {
      const Field& field = ours[s].fields[f];
      if (Value(field) == Value(theirs[s].fields[f])) continue;
      std::string value = ValueText(field);
      std::erase(value, '"');
      differences.push_back(fmt::format("{}.{}={}", ours[s].name, field.name, value));
    }
  }
  return differences;
}

std::string ConfigText(Config config) {
  std::string text;
  for (const Config::Section& section : config.Sections()) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section.name);
    for (const Field& field : section.fields) text += fmt::format("{} = {}\n", field.name, TomlText(Value(field)));
  }
  return text;
}

}  // namespace grbm
