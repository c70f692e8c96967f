#include "data/columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/bytes.h"
#include "core/number.h"
#include "grbm/core/error.h"
#include "grbm/core/options.h"

namespace grbm {

std::string_view TrimSpaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string ColumnText(std::size_t column, std::span<const std::string> names) {
  return names.empty() ? fmt::format("{}", column + 1) : fmt::format("{} {}", column + 1, Quoted(names[column]));
}

std::optional<std::size_t> FindColumn(std::string_view word, std::span<const std::string> names, std::size_t count) {
  const auto named = std::ranges::find(names, word);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  const std::optional<std::size_t> number = NumberIn<std::size_t>(word);
  if (number && *number >= 1 && *number <= count) return *number - 1;
  return std::nullopt;
}

std::size_t ChooseColumn(std::string_view word, std::span<const std::string> names, std::size_t count,
                         const std::string& where) {
  const std::optional<std::size_t> found = FindColumn(word, names, count);
  if (!found) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    throw ConfigError(fmt::format("{}: no column {}{}: allowed are {}numbers from 1 to {}", where, Quoted(word),
                                  DidYouMean(word, known), names.empty() ? "" : "names of the first line, and ",
                                  count));
  }
  const auto rest = names.subspan(std::min(*found + 1, names.size()));
  if (const auto again = std::ranges::find(rest, word); again != rest.end()) {
    throw ConfigError(fmt::format("{}: columns {} and {} are both called {}: choose by number", where, *found + 1,
                                  *found + 2 + static_cast<std::size_t>(again - rest.begin()), Quoted(word)));
  }
  return *found;
}

std::vector<std::size_t> ChooseColumns(std::string_view list, std::span<const std::string> names, std::size_t count,
                                       const std::string& where) {
  std::vector<std::size_t> columns;
  const auto add = [&](std::size_t column) {
    if (std::ranges::find(columns, column) != columns.end()) {
      throw ConfigError(fmt::format("{}: column {} is named twice", where, ColumnText(column, names)));
    }
    columns.push_back(column);
  };
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = TrimSpaces(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    const std::size_t dash = word.find('-', 1);
    const bool named = std::ranges::find(names, word) != names.end();
    const auto first =
        named || dash == std::string_view::npos ? std::nullopt : NumberIn<std::size_t>(word.substr(0, dash));
    const auto last = first ? NumberIn<std::size_t>(word.substr(dash + 1)) : std::nullopt;
    if (!first || !last) {
      add(ChooseColumn(word, names, count, where));
      continue;
    }
    if (*first < 1 || *last > count || *first > *last) {
      throw ConfigError(fmt::format("{}: columns {}: allowed are numbers from 1 to {}, the smaller first", where,
                                    Quoted(word), count));
    }
    for (std::size_t column = *first; column <= *last; ++column) add(column - 1);
  }
  if (columns.empty()) throw ConfigError(where + ": no column is named");
  return columns;
}

std::vector<int> NumberLabels(std::span<const std::string> labels, std::vector<std::string>& names) {
  names.clear();
  std::vector<int> numbers;
  for (const std::string& label : labels) {
    const std::optional<int> number = NumberIn<int>(label);
    if (!number) break;
    numbers.push_back(*number);
  }
  if (numbers.size() == labels.size()) return numbers;
  names.assign(labels.begin(), labels.end());
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  numbers.clear();
  for (const std::string& label : labels) {
    numbers.push_back(static_cast<int>(std::ranges::lower_bound(names, label) - names.begin()));
  }
  return numbers;
}

}  // namespace grbm
