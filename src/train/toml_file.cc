#include "train/toml_file.h"

#include <fmt/core.h>

#include "grbm/core/error.h"

namespace grbm {

toml::table ParseToml(std::string_view text, const std::string& source) {
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}:{}: not valid TOML: {}", source, error.source().begin.line, error.description()));
  }
}

std::string Place(const std::string& source, const toml::node& node) {
  return fmt::format("{}:{}", source, node.source().begin.line);
}

Scalar ToScalar(const toml::node& node, std::string_view where, std::string_view key) {
  if (const auto* v = node.as_boolean()) return v->get();
  if (const auto* v = node.as_integer()) return v->get();
  if (const auto* v = node.as_floating_point()) return v->get();
  if (const auto* v = node.as_string()) return v->get();
  throw ConfigError(fmt::format("{}: {}: allowed is a number, true or false, or text in quotes", where, key));
}

}  // namespace grbm
