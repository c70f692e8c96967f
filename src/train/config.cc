#include "grbm/train/config.h"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>

#include "grbm/core/error.h"

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

Scalar ToScalar(const toml::node& node, std::string_view where, std::string_view key) {
  if (const auto* v = node.as_boolean()) return v->get();
  if (const auto* v = node.as_integer()) return v->get();
  if (const auto* v = node.as_floating_point()) return v->get();
  if (const auto* v = node.as_string()) return v->get();
  throw ConfigError(fmt::format("{}: {}: allowed is a number, true or false, or text in quotes", where, key));
}

std::string Place(const std::string& source, const toml::source_region& region) {
  return fmt::format("{}:{}", source, region.begin.line);
}

// Settings are section.key. A key of very many parts is a table in a table in a table, and the parser's own recursion over
// them has no end but the stack's.
void CheckKeys(std::string_view text, const std::string& source) {
  constexpr int kMaxDots = 8;
  int line = 1;
  int dots = 0;
  char quote = 0;
  bool comment = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      quote = 0;
      comment = false;
    }
    if (comment) continue;
    if (quote != 0) {
      if (c == '\\' && quote == '"' && at + 1 < text.size() && text[at + 1] != '\n') ++at;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      comment = true;
    } else if (std::string_view("\n=,{}[]").find(c) != std::string_view::npos) {
      dots = 0;
    } else if (c == '.' && ++dots > kMaxDots) {
      throw ConfigError(
          fmt::format("{}:{}: a key of more than {} parts: settings are section.key", source, line, kMaxDots + 1));
    }
  }
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

std::string TomlText(const Scalar& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Quote(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  std::string number = fmt::format("{}", std::get<double>(value));  // the shortest text that reads back the same
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return number;
}

}  // namespace

std::vector<Config::Section> Config::Sections() {
  return {{"data", data.Fields()},   {"model", model.Fields()},           {"sampler", sampler.Fields()},
          {"train", train.Fields()}, {"checkpoint", checkpoint.Fields()}, {"evaluate", evaluate.Fields()}};
}

Config ParseConfig(std::string_view text, const std::string& source) {
  Config config;
  const auto sections = config.Sections();
  CheckKeys(text, source);
  toml::table table;
  try {
    table = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}: not valid TOML: {}", Place(source, error.source()), error.description()));
  }
  for (const auto& [section_key, node] : table) {
    const std::string where = Place(source, node.source());
    const toml::table* entries = node.as_table();
    if (entries == nullptr) {
      throw ConfigError(
          fmt::format("{}: '{}' stands outside a section: put it under [data], [model], [sampler], "
                      "[train], [checkpoint] or [evaluate]",
                      where, section_key.str()));
    }
    const Config::Section& section = FindSection(sections, section_key.str(), where);
    for (const auto& [key, value] : *entries) {
      const std::string line = fmt::format("{}: [{}]", Place(source, value.source()), section.name);
      const Field& field = FindField(section.fields, key.str(), line);
      Assign(field, ToScalar(value, line, key.str()), line);
    }
  }
  return config;
}

void SetOption(Config& config, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::size_t dot = assignment.substr(0, equals).find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos) {
    throw ConfigError(fmt::format("--set {}: allowed is section.key=value, for instance sampler.steps=50", assignment));
  }
  const std::string where = fmt::format("--set {}", assignment);
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
