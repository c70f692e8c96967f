#include "data/csv_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "grbm/core/error.h"

namespace grbm {

std::optional<double> NumberOfCell(std::string_view text) {
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

namespace {

// By its byte-order mark, or, without one, by the zeros beside ASCII.
bool IsUtf16(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return true;
  const auto zeros = [&](std::size_t at) { return text[at] == 0 && text[at + 2] == 0; };
  return text.size() >= 4 && zeros(0) != zeros(1);
}

}  // namespace

CsvLines::CsvLines(std::string_view text, const std::string& path) : text_(text), path_(path) {
  if (IsUtf16(text_)) throw DataError(path + ": text in UTF-16: save it as UTF-8");
  if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  if (text_.find('\n') == std::string_view::npos && text_.find('\r') != std::string_view::npos) line_end_ = '\r';
  const std::string_view first = text_.substr(0, text_.find_first_of("\r\n", text_.find_first_not_of(" \r\n")));
  separator_ = first.find('\t') != std::string_view::npos && first.find(',') == std::string_view::npos  ? '\t'
               : first.find(';') != std::string_view::npos && first.find(',') == std::string_view::npos ? ';'
                                                                                                        : ',';
}

bool CsvLines::Next() {
  while (!text_.empty()) {
    Split();
    if (cells_.size() == 1 && cells_[0].empty()) continue;
    if (drop_last_) cells_.pop_back();
    return true;
  }
  return false;
}

void CsvLines::DropEmptyLast() {
  CsvLines ahead = *this;
  do {
    if (ahead.cells_.size() < 2 || !ahead.cells_.back().empty()) return;
  } while (ahead.Next());
  drop_last_ = true;
  cells_.pop_back();
}

void CsvLines::RefuseAt(std::size_t line, std::string_view column, const std::string& what) const {
  throw DataError(fmt::format("{}: line {}, column {}: {}", path_, line, column, what));
}

std::string_view CsvLines::Trim(std::string_view text) const {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

void CsvLines::Split() {
  cells_.clear();
  unquoted_.clear();
  line_ = next_line_;
  for (bool more = true; more;) {
    std::size_t at = 0;
    while (at < text_.size() && IsSpace(text_[at])) ++at;
    if (at < text_.size() && text_[at] == '"') {
      text_.remove_prefix(at + 1);
      cells_.push_back(Trim(TakeQuoted()));
      const std::string_view rest = TakeCell(more);
      if (!rest.empty()) {
        Refuse(fmt::format("{}", cells_.size()),
               "text after a closing quote: expected is a comma, a tab or a semicolon");
      }
    } else {
      cells_.push_back(TakeCell(more));
    }
  }
}

std::string_view CsvLines::TakeCell(bool& more) {
  std::size_t end = 0;  // of few characters: no search through the rest of the text
  while (end < text_.size() && text_[end] != separator_ && text_[end] != line_end_) ++end;
  std::string_view cell = text_.substr(0, end);
  more = end < text_.size() && text_[end] == separator_;
  text_.remove_prefix(std::min(text_.size(), end + 1));
  if (!more) {
    ++next_line_;
    if (cell.ends_with('\r')) cell.remove_suffix(1);
  }
  return Trim(cell);
}

std::string_view CsvLines::TakeQuoted() {
  std::string& cell = unquoted_.emplace_back();
  for (;;) {
    const std::size_t quote = text_.find('"');
    if (quote == std::string_view::npos) {
      Refuse(fmt::format("{}", cells_.size() + 1), "a quote without its end");
    }
    cell += text_.substr(0, quote);
    text_.remove_prefix(quote + 1);
    if (!text_.starts_with('"')) break;
    cell += '"';
    text_.remove_prefix(1);
  }
  next_line_ += static_cast<std::size_t>(std::ranges::count(cell, line_end_));
  return cell;
}

}  // namespace grbm
