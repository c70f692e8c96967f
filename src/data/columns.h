// Which columns of a table are meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace grbm {

// "a,c" or "1,3" or "2-5": names, numbers counted from 1, and ranges of numbers, separated by commas. A name goes before
// a number that looks like it. Throws ConfigError, opened by `where`, for columns that there are not, that are named
// twice, or whose name another has, too. Indices counted from 0, in the order of the list.
std::vector<std::size_t> ChooseColumns(std::string_view list, std::span<const std::string> names, std::size_t count,
                                       const std::string& where);
std::size_t ChooseColumn(std::string_view word, std::span<const std::string> names, std::size_t count,
                         const std::string& where);
// The first column that a word may mean; none where there is none.
std::optional<std::size_t> FindColumn(std::string_view word, std::span<const std::string> names, std::size_t count);

// What stands in a list of words, without the spaces around it.
std::string_view TrimSpaces(std::string_view text);

// "3 'petal length'", counted from 1; names may be empty.
std::string ColumnText(std::size_t column, std::span<const std::string> names);

// Labels as numbers: whole numbers as they are, other texts in the order of their sorted names, which `names` then holds.
std::vector<int> NumberLabels(std::span<const std::string> labels, std::vector<std::string>& names);

}  // namespace grbm
