// The classes that data are of, by their names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "grbm/data/dataset.h"

namespace grbm {

// The name of a row's label: what the data call it, or its number.
std::string LabelName(const Dataset::Names& names, int label);
// Throws DataError for data without labels.
void RequireLabels(const Dataset& data);
// Throws DataError, opened by `source`, unless there are two or more, each with a name of its own.
void CheckClassNames(std::span<const std::string> names, const std::string& source);
// Of all labels that rows have, in the order of their numbers. Throws DataError for data without labels, of
// one class, or where two classes have one name.
std::vector<std::string> ClassNames(const Dataset& data);
// The number of each label's class among `classes`. Throws DataError, opened by `source`, for one that is none of them.
std::vector<Index> ClassNumbers(std::span<const int> labels, const Dataset::Names& names,
                                std::span<const std::string> classes, const std::string& source);
// Of all rows. Throws DataError for data without labels, too.
std::vector<Index> ClassNumbers(const Dataset& data, std::span<const std::string> classes);

}  // namespace grbm
