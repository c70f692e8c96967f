#include "grbm/data/classes.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/bytes.h"
#include "grbm/core/error.h"

namespace grbm {

std::string LabelName(const Dataset::Names& names, int label) {
  const auto at = static_cast<std::size_t>(label);
  return label >= 0 && at < names.labels.size() ? names.labels[at] : fmt::format("{}", label);
}

void RequireLabels(const Dataset& data) {
  if (!data.labels().empty()) return;
  throw DataError(fmt::format("{}: no labels: name the column or array that holds them (data.label)", data.source()));
}

void CheckClassNames(std::span<const std::string> names, const std::string& source) {
  if (names.size() < 2) throw DataError(fmt::format("{}: all rows are of one class: two are needed", source));
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    throw DataError(fmt::format("{}: two classes are called {}: each needs a name of its own", source, Quoted(name)));
  }
}

std::vector<std::string> ClassNames(const Dataset& data) {
  RequireLabels(data);
  const std::set<int> labels(data.labels().begin(), data.labels().end());
  std::vector<std::string> names;
  for (const int label : labels) names.push_back(LabelName(data.names(), label));
  CheckClassNames(names, data.source());
  return names;
}

std::vector<Index> ClassNumbers(std::span<const int> labels, const Dataset::Names& names,
                                std::span<const std::string> classes, const std::string& source) {
  std::map<int, Index> known;
  std::vector<Index> numbers;
  for (const int label : labels) {
    const auto [entry, fresh] = known.try_emplace(label);
    if (fresh) {
      const std::string name = LabelName(names, label);
      entry->second = std::ranges::find(classes, name) - classes.begin();
      if (entry->second == std::ssize(classes)) {
        throw DataError(fmt::format("{}: row {} (counted from 0) is of class {}: the model knows {}", source,
                                    numbers.size(), Quoted(name), fmt::join(classes, ", ")));
      }
    }
    numbers.push_back(entry->second);
  }
  return numbers;
}

std::vector<Index> ClassNumbers(const Dataset& data, std::span<const std::string> classes) {
  RequireLabels(data);
  return ClassNumbers(data.labels(), data.names(), classes, data.source());
}

}  // namespace grbm
