#include "data/csv.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "core/bytes.h"
#include "data/column_steps.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The number that the text is, all of it; may be infinite or NaN.
std::optional<double> Number(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return {};
  if (error == std::errc::result_out_of_range) {
    // Too large, or too small: only the exponent's sign tells.
    return text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos ? 0.0 : HUGE_VAL;
  }
  if (error != std::errc()) return {};
  return value;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  Dataset Parse() {
    bool first = true;
    while (NextLine()) {
      if (Trim(line_).empty()) continue;
      Split();
      if (first && IsHeader()) {
        columns_ = cells_.size();
      } else {
        AddRow();
      }
      first = false;
    }
    if (rows_ == 0) {
      throw DataError(fmt::format("{}: no line with numbers: expected is one row of numbers per line", path_));
    }
    Matrix values(rows_, static_cast<Index>(columns_));
    std::copy(values_.begin(), values_.end(), values.values().begin());
    return {std::move(values), {}, path_, {}, false, steps_->Warning(path_)};
  }

 private:
  [[noreturn]] void Refuse(std::size_t column, const std::string& what) const {
    throw DataError(fmt::format("{}: line {}, column {}: {}", path_, line_number_, column, what));
  }

  bool NextLine() {
    if (text_.empty()) return false;
    const std::size_t end = text_.find('\n');
    line_ = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++line_number_;
    return true;
  }

  // line_ into cells_, without quotes and the spaces around cells.
  void Split() {
    cells_.clear();
    std::string_view rest = line_;
    for (;;) {
      const std::size_t start = rest.find_first_not_of(" \t");
      std::size_t end = 0;
      if (start != std::string_view::npos && rest[start] == '"') {
        const std::size_t close = rest.find('"', start + 1);
        if (close == std::string_view::npos) Refuse(cells_.size() + 1, "a quote without its end on the same line");
        end = rest.find(',', close);
        if (!Trim(rest.substr(close + 1, end == std::string_view::npos ? end : end - close - 1)).empty()) {
          Refuse(cells_.size() + 1, "text after a closing quote: expected is a comma");
        }
        cells_.push_back(Trim(rest.substr(start + 1, close - start - 1)));
      } else {
        end = rest.find(',');
        cells_.push_back(Trim(rest.substr(0, end)));
      }
      if (end == std::string_view::npos) return;
      rest.remove_prefix(end + 1);
    }
  }

  bool IsHeader() const {
    for (const std::string_view cell : cells_) {
      if (cell.empty() || Number(cell)) return false;
    }
    return true;
  }

  void AddRow() {
    if (columns_ == 0) columns_ = cells_.size();
    if (!steps_) steps_.emplace(static_cast<Index>(columns_));
    for (std::size_t c = 0; c < cells_.size() && c < columns_; ++c) {
      const std::optional<double> value = Number(cells_[c]);
      if (!value) {
        const bool semicolons = cells_[c].find(';') != std::string_view::npos;
        Refuse(c + 1, fmt::format("{} is not a number{}", cells_[c].empty() ? "an empty cell" : Quoted(cells_[c]),
                                  semicolons ? ": separate cells by commas, not semicolons" : ""));
      }
      const auto number = static_cast<float>(*value);
      if (!std::isfinite(number)) {
        Refuse(c + 1,
               fmt::format("{}: allowed are finite numbers below 3.4e38: leave the row out, or fill in the value",
                           Quoted(cells_[c])));
      }
      values_.push_back(number);
      steps_->Add(c, *value);
    }
    if (cells_.size() != columns_) {
      Refuse(std::min(cells_.size(), columns_) + 1,
             fmt::format("the line has {} cells: expected are {}, as above", cells_.size(), columns_));
    }
    ++rows_;
  }

  std::string_view text_;  // what is left
  const std::string& path_;
  std::string_view line_;
  std::size_t line_number_ = 0;
  std::vector<std::string_view> cells_;
  std::size_t columns_ = 0;
  Index rows_ = 0;
  std::vector<float> values_;
  std::optional<ColumnSteps> steps_;
};

}  // namespace

Dataset ParseCsv(std::string_view text, const std::string& path) { return Parser(text, path).Parse(); }

}  // namespace grbm
