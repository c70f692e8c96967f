#include "train/toml_file.h"

#include <fmt/core.h>

#include "grbm/core/error.h"

namespace grbm {

namespace {

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

}  // namespace

toml::table ParseToml(std::string_view text, const std::string& source) {
  CheckKeys(text, source);
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}:{}: not valid TOML: {}", source, error.source().begin.line, error.description()));
  }
}

std::string SourceLine(const std::string& source, const toml::node& node) {
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
