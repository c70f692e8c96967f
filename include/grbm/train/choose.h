// Settings chosen for data: what `grbm train DATA` takes. docs/own-data.md has the rules.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/train/config.h"

namespace grbm {

struct ChosenSettings {
  std::string kind;  // "a table of 150 rows and 4 columns"
  Config config;
  std::map<std::string, std::string> reasons;  // by setting, "data.noise"
  std::vector<std::string> notes;              // what the reader of the data has to say

  // A file of settings, in which some may have been set anew since: what was chosen or differs from the defaults, with the
  // reasons of what is as it was chosen.
  std::string Toml(Config settings) const;
};

// For the data that `data` names. What it sets apart from the defaults stays; all else is chosen by kind, number of rows
// and size. Throws as LoadDataset does.
ChosenSettings ChooseSettings(const DataOptions& data, ThreadPool& pool);

// Fewer updates than this seldom make a model of anything.
constexpr std::uint64_t kFewUpdates = 1000;

}  // namespace grbm
