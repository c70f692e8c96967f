// The experiments that ship with the program, from presets/*.toml.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "grbm/train/config.h"

namespace grbm::app {

struct Preset {
  std::string_view name;
  std::string_view text;  // TOML; its first line is a comment that says what it is
};

// Made at build time from the files.
std::span<const Preset> Presets();

// Settings of a preset, or of a TOML file where the name has a '/' or ends in ".toml".
Config LoadPreset(const std::string& name);

}  // namespace grbm::app
