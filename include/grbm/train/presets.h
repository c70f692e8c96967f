// The experiments that ship with the library, from presets/*.toml.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "grbm/train/config.h"

namespace grbm {

struct Preset {
  std::string_view name;
  std::string_view text;  // TOML; its first line is a comment that says what it is
};

// Made at build time from the files.
std::span<const Preset> Presets();
// Throws ConfigError with the nearest known name.
const Preset& FindPreset(const std::string& name);

// Settings of a preset, or of a TOML file where the name has a '/' or ends in ".toml".
Config LoadPreset(const std::string& name);

}  // namespace grbm
