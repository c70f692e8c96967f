// The lines of a table, cut into cells.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grbm {

// The number that the text is, all of it; may be infinite or NaN.
std::optional<double> NumberOfCell(std::string_view text);

// Cuts text into lines of cells. Lines end in LF or CRLF, or, where there is no LF in the text, in CR.
class CsvLines {
 public:
  // Throws DataError for text in UTF-16.
  CsvLines(std::string_view text, const std::string& path);

  // The next line that is not empty into cells().
  bool Next();

  // Where this line and all that follow end in an empty cell, as programs write that put a separator behind every cell:
  // leaves it out, here and in what follows.
  void DropEmptyLast();

  const std::vector<std::string_view>& cells() const { return cells_; }  // without quotes and the spaces around them
  char separator() const { return separator_; }
  std::size_t line() const { return line_; }  // counted from 1

  [[noreturn]] void Refuse(std::string_view column, const std::string& what) const { RefuseAt(line_, column, what); }
  [[noreturn]] void RefuseAt(std::size_t line, std::string_view column, const std::string& what) const;

 private:
  bool IsSpace(char c) const { return c == ' ' || (c == '\t' && separator_ != '\t'); }
  std::string_view Trim(std::string_view text) const;
  void Split();  // one line off text_, into cells_
  // Up to the next separator or the line's end, which are taken off, too.
  std::string_view TakeCell(bool& more);
  // What stands in quotes, of which the first was taken.
  std::string_view TakeQuoted();

  std::string_view text_;  // what is left
  const std::string& path_;
  char separator_ = ',';
  char line_end_ = '\n';
  bool drop_last_ = false;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  std::vector<std::string_view> cells_;
  std::deque<std::string> unquoted_;
};

}  // namespace grbm
