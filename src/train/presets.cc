#include "grbm/train/presets.h"

#include <fmt/core.h>

#include <algorithm>

#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

const Preset& FindPreset(const std::string& name) {
  const auto found = std::ranges::find(Presets(), name, &Preset::name);
  if (found != Presets().end()) return *found;
  std::vector<std::string_view> names;
  for (const Preset& preset : Presets()) names.push_back(preset.name);
  throw ConfigError(fmt::format("unknown preset '{}'{} ('grbm presets' lists them; a file's name ends in .toml)", name,
                                DidYouMean(name, names)));
}

Config LoadPreset(const std::string& name) {
  if (name.ends_with(".toml") || name.find('/') != std::string::npos)
    return ParseConfig(ReadFile(name, {.max_bytes = 1 << 20}), name);
  const Preset& preset = FindPreset(name);
  return ParseConfig(preset.text, fmt::format("presets/{}.toml", preset.name));
}

}  // namespace grbm
