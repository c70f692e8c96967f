// Settings chosen for data: what `grbm train DATA` takes. docs/own-data.md has the rules.
#pragma once

#include <string>
#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/train/config.h"

namespace grbm {

struct ChosenSettings {
  std::string kind;  // "a table of 150 rows and 4 columns"
  Config config;
  std::string toml;                // what was chosen or differs from the defaults, with reasons: a file of settings
  std::vector<std::string> notes;  // what the reader of the data has to say
};

// For the data that `data` names. What it sets apart from the defaults stays; all else is chosen by kind, number of rows
// and size. Throws as LoadDataset does.
ChosenSettings ChooseSettings(const DataOptions& data, ThreadPool& pool);

// Fewer updates than this seldom make a model of anything.
constexpr std::uint64_t kFewUpdates = 1000;

}  // namespace grbm
