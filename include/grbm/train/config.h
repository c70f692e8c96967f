// All settings of a run: what a preset or a configuration file holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/options.h"
#include "grbm/data/options.h"
#include "grbm/evaluate/curves.h"
#include "grbm/sampler/options.h"
#include "grbm/train/options.h"

namespace grbm {

struct Config {
  DataOptions data;
  ModelOptions model;
  SamplerOptions sampler;
  TrainOptions train;
  GenerateOptions generate;
  CheckpointOptions checkpoint;
  EvaluateOptions evaluate;

  // The sections [data], [model], ... with their fields, which refer to this object.
  struct Section {
    std::string_view name;
    std::vector<Field> fields;
  };
  std::vector<Section> Sections();
};

// From TOML text; what it does not name keeps its default. Throws ConfigError with `source` and the line of whatever is
// unknown, of a wrong type or out of range.
Config ParseConfig(std::string_view text, const std::string& source);

// One setting: "section.key=value", as after --set.
void SetOption(Config& config, std::string_view assignment);
// The same from elsewhere: `where` opens messages.
void SetOption(Config& config, std::string_view assignment, std::string_view where);

// What `a` sets otherwise than `b`, [checkpoint] apart: "section.key=value", as after --set.
std::vector<std::string> Differences(Config a, Config b);

// A value as it stands in TOML.
std::string TomlText(const Scalar& value);
// Every setting as TOML, in a fixed order: parsing it gives the same settings.
std::string ConfigText(Config config);

}  // namespace grbm
