// TOML files with messages that name file and line.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "grbm/core/options.h"

namespace grbm {

// Throws ConfigError.
toml::table ParseToml(std::string_view text, const std::string& source);

// "file:12".
std::string SourceLine(const std::string& source, const toml::node& node);

// Throws ConfigError, opened by `where`, for what is no single value.
Scalar ToScalar(const toml::node& node, std::string_view where, std::string_view key);

}  // namespace grbm
