// Every setting with its meaning, default, range and an example: told from the declarations that parse them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/options.h"

namespace grbm {

struct Setting {
  std::string name;                // "train.epochs"
  std::string help;                // what it means
  std::string allowed;             // "a number above 0"
  Scalar value;                    // its default
  std::string example;             // another value, as after --set
  std::string preset;              // that has the example; empty where none has one
  std::vector<std::string> words;  // all that it takes, where these are few
};

// In the order of files of settings.
std::vector<Setting> Settings();
// Those of a section ("train"), the one of a name ("train.epochs"), or all of that key ("epochs"); without a name, every
// one. Throws ConfigError with the nearest known name.
std::vector<Setting> FindSettings(std::string_view name);

// The default as it stands in a file of settings.
std::string DefaultText(const Setting& setting);
// As Markdown, a section under each heading: docs/settings.md is that of all of them.
std::string SettingsText(std::span<const Setting> settings);

}  // namespace grbm
