// Numbers as text: tables as spreadsheets, pandas and R write them.
#pragma once

#include <string>
#include <string_view>

#include "grbm/data/dataset.h"

namespace grbm {

struct CsvOptions {
  std::string columns = {};  // which, see ChooseColumns; empty: all that hold numbers
  std::string label = {};    // the column of labels, by name or number; empty: a single one of text, where there is one
  std::string weight = {};   // the column of row weights, by name or number; empty: none
  std::string condition = {};  // which columns are conditions; empty: none
  // Marks of missing values, separated by commas, of which numbers stand for equal ones; an empty cell always is one.
  std::string missing = {};
  bool gaps = false;  // whether missing values are taken, as NaN, or refused
};

// One row per line; cells separated by commas, tabs or semicolons: what the first line has of tabs, else of semicolons,
// else commas. A cell in quotes may hold separators, line ends and doubled quotes. A first line without any number names
// the columns. Lines end in LF, CRLF or CR; empty ones do not count, nor does a byte-order mark, nor a separator at the
// end of every line. A first column without a name, where others have one, numbers the rows (pandas) or names them (R,
// which leaves out its name), and is left out; so is one called "index" that counts the rows from 0.
//
// A column whose first cell is text is one of text: the label, where it is the only one, and unless most of its cells are
// numbers, which is refused. Labels that are whole numbers stay so; others are numbered in the order of their names.
// What was left out or taken as labels stands in notes(). Throws DataError with line and column (counted from 1) for
// anything else, missing values that are not taken among it, ConfigError for options that do not fit.
Dataset ParseCsv(std::string_view text, const std::string& path, const CsvOptions& options = {});

// Whether ParseCsv would find a column of this name or number.
bool CsvHasColumn(std::string_view text, const std::string& path, const std::string& column);

}  // namespace grbm
