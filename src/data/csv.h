// Numbers as text, separated by commas.
#pragma once

#include <string>
#include <string_view>

#include "grbm/data/dataset.h"

namespace grbm {

// One row per line, cells separated by commas, each a finite number, maybe in quotes or with spaces around it. A first
// line without any number is taken as names of the columns. Lines end in LF or CRLF; empty ones do not count, nor does
// a byte-order mark. Throws DataError with line and column (counted from 1) for anything else.
Dataset ParseCsv(std::string_view text, const std::string& path);

}  // namespace grbm
