#include "data/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "core/bytes.h"
#include "data/column_steps.h"
#include "data/columns.h"
#include "data/row_store.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

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

// Cuts text into lines of cells.
class Lines {
 public:
  Lines(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    const std::string_view first = text_.substr(0, text_.find_first_of("\r\n", text_.find_first_not_of(" \r\n")));
    separator_ = first.find('\t') != std::string_view::npos && first.find(',') == std::string_view::npos  ? '\t'
                 : first.find(';') != std::string_view::npos && first.find(',') == std::string_view::npos ? ';'
                                                                                                          : ',';
  }

  // The next line that is not empty into cells().
  bool Next() {
    while (!text_.empty()) {
      Split();
      if (cells_.size() > 1 || !cells_[0].empty()) return true;
    }
    return false;
  }

  const std::vector<std::string_view>& cells() const { return cells_; }  // without quotes and the spaces around them
  char separator() const { return separator_; }

  [[noreturn]] void Refuse(std::string_view column, const std::string& what) const {
    throw DataError(fmt::format("{}: line {}, column {}: {}", path_, line_, column, what));
  }

 private:
  bool IsSpace(char c) const { return c == ' ' || (c == '\t' && separator_ != '\t'); }

  std::string_view Trim(std::string_view text) const {
    while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
    return text;
  }

  // One line off text_, into cells_.
  void Split() {
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
          Refuse(fmt::format("{}", cells_.size()), "text after a closing quote: expected is a separator");
        }
      } else {
        cells_.push_back(TakeCell(more));
      }
    }
  }

  // Up to the next separator or the line's end, which are taken off, too.
  std::string_view TakeCell(bool& more) {
    const std::size_t end = std::min(text_.find(separator_), text_.find('\n'));
    std::string_view cell = text_.substr(0, end);
    more = end != std::string_view::npos && text_[end] == separator_;
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    if (!more) {
      ++next_line_;
      if (cell.ends_with('\r')) cell.remove_suffix(1);
    }
    return Trim(cell);
  }

  // What stands in quotes, of which the first was taken.
  std::string_view TakeQuoted() {
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
    next_line_ += static_cast<std::size_t>(std::ranges::count(cell, '\n'));
    return cell;
  }

  std::string_view text_;  // what is left
  const std::string& path_;
  char separator_ = ',';
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  std::vector<std::string_view> cells_;
  std::deque<std::string> unquoted_;
};

class Table {
 public:
  Table(std::string_view text, const std::string& path, const CsvOptions& options)
      : lines_(text, path), path_(path), options_(options) {
    for (std::string_view rest = options.missing; !rest.empty();) {
      const std::string_view mark = rest.substr(0, rest.find(','));
      marks_.push_back(mark);
      rest.remove_prefix(std::min(rest.size(), mark.size() + 1));
    }
  }

  Dataset Read() {
    bool more = lines_.Next();
    if (more && IsHeader()) {
      names_.assign(lines_.cells().begin(), lines_.cells().end());
      more = lines_.Next();
    }
    if (!more) throw DataError(fmt::format("{}: no line with numbers: expected is one row of numbers per line", path_));
    ChooseFromFirstRow();
    rows_.emplace(static_cast<Index>(columns_.size()));
    steps_.emplace(static_cast<Index>(columns_.size()));
    for (; more; more = lines_.Next()) AddRow();
    return Finish();
  }

 private:
  bool IsMissing(std::string_view cell) const {
    return cell.empty() || std::ranges::find(marks_, cell) != marks_.end();
  }
  bool IsText(std::string_view cell) const { return !IsMissing(cell) && !Number(cell); }

  // Whether the line names the columns: it has no number, or none above those of the next line, or counts the columns, as
  // pandas does where they have no names. The first name may be empty.
  bool IsHeader() {
    const auto& cells = lines_.cells();
    if (std::ranges::any_of(cells.begin() + 1, cells.end(), [](auto cell) { return cell.empty(); })) return false;
    if (cells[0].empty() && cells.size() > 1) return true;
    if (std::ranges::none_of(cells, [](auto cell) { return Number(cell).has_value(); })) return true;
    if (Counts(cells)) {
      notes_.emplace_back("the first line counts the columns, and is left out");
      return true;
    }
    Lines ahead = lines_;
    if (!ahead.Next() || ahead.cells().size() != cells.size()) return false;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (IsText(cells[c]) && Number(ahead.cells()[c])) return true;
    }
    return false;
  }

  // 0, 1, 2, ...: so many that it is no row.
  static bool Counts(const std::vector<std::string_view>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (cells[c] != fmt::format("{}", c)) return false;
    }
    return cells.size() >= 3;
  }

  std::string Named(std::size_t column) const { return ColumnText(column, names_); }

  // Which columns are taken, seen from the first row.
  void ChooseFromFirstRow() {
    count_ = lines_.cells().size();
    const bool row_names = !names_.empty() && names_.size() + 1 == count_;  // as R writes them
    if (row_names) names_.insert(names_.begin(), "");
    if (!names_.empty() && names_.size() != count_) RefuseLength(names_.size());
    const bool index = !names_.empty() && count_ > 1 && (names_[0].empty() || names_[0] == "Unnamed: 0");
    if (!options_.label.empty()) label_ = ChooseColumn(options_.label, names_, count_, path_ + ": data.label");
    if (!options_.weight.empty()) {
      weight_ = ChooseColumn(options_.weight, names_, count_, path_ + ": data.weight");
      if (label_ == weight_) {
        throw ConfigError(fmt::format("{}: column {} is both data.label and data.weight", path_, Named(*weight_)));
      }
    }
    if (!options_.condition.empty()) {
      conditions_ = ChooseColumns(options_.condition, names_, count_, path_ + ": data.condition");
      RefuseAmong(conditions_, "condition");
    }
    if (!options_.columns.empty()) {
      columns_ = ChooseColumns(options_.columns, names_, count_, path_ + ": data.columns");
      RefuseAmong(columns_, "columns");
      for (const std::size_t column : conditions_) {
        if (std::ranges::find(columns_, column) == columns_.end()) continue;
        throw ConfigError(fmt::format("{}: column {} is a condition, and among data.columns", path_, Named(column)));
      }
      return TakeConditions();
    }
    if (index) notes_.emplace_back("column 1 names the rows, and is left out");
    std::vector<std::size_t> texts;
    for (std::size_t c = index ? 1 : 0; c < count_; ++c) {
      if (label_ == c || weight_ == c || std::ranges::find(conditions_, c) != conditions_.end()) continue;
      (IsText(lines_.cells()[c]) ? texts : columns_).push_back(c);
    }
    // What begins as a number does, "2,5" or a date, was not meant as a name.
    const bool names = std::ranges::none_of(texts, [&](std::size_t c) {
      return std::string_view("0123456789+-.").find(lines_.cells()[c][0]) != std::string_view::npos;
    });
    if (texts.size() == 1 && names && !label_ && !columns_.empty()) {
      label_ = texts[0];
      notes_.push_back(fmt::format("column {} holds text, and is taken as labels", Named(texts[0])));
    } else if (!texts.empty()) {
      lines_.Refuse(Named(texts[0]),
                    fmt::format("{} is not a number{}: name the columns that are by data.columns, labels by data.label",
                                Quoted(lines_.cells()[texts[0]]), Hint(lines_.cells()[texts[0]])));
    }
    if (columns_.empty()) lines_.Refuse("1", "no column of numbers");
    TakeConditions();
  }

  void RefuseAmong(const std::vector<std::size_t>& columns, const char* setting) const {
    for (const auto& [column, what] : {std::pair(label_, "label"), std::pair(weight_, "weight")}) {
      if (!column || std::ranges::find(columns, *column) == columns.end()) continue;
      throw ConfigError(
          fmt::format("{}: column {} is the {}, and among data.{}", path_, Named(*column), what, setting));
    }
  }

  // Behind the values, until Finish.
  void TakeConditions() { columns_.insert(columns_.end(), conditions_.begin(), conditions_.end()); }

  // What may have been meant.
  std::string Hint(std::string_view cell) const {
    if (lines_.separator() != ';' && cell.find(';') != std::string_view::npos) {
      return ": separate cells by commas, not semicolons";
    }
    return lines_.separator() != ',' && cell.find(',') != std::string_view::npos ? ": decimals have a point" : "";
  }

  [[noreturn]] void RefuseLength(std::size_t expected) const {
    const std::size_t cells = lines_.cells().size();
    lines_.Refuse(fmt::format("{}", std::min(cells, expected) + 1),
                  fmt::format("the line has {} cells: expected are {}, as above", cells, expected));
  }

  void AddRow() {
    const auto& cells = lines_.cells();
    row_.resize(columns_.size());
    for (std::size_t k = 0; k < columns_.size() && columns_[k] < cells.size(); ++k) {
      const double value = Value(cells[columns_[k]], columns_[k]);
      row_[k] = static_cast<float>(value);
      steps_->Add(k, value);
    }
    if (cells.size() != count_) RefuseLength(count_);
    rows_->Append(row_);
    if (weight_) weights_.push_back(Weight(cells[*weight_]));
    if (!label_) return;
    if (IsMissing(cells[*label_])) lines_.Refuse(Named(*label_), "the label is missing: leave the row out");
    labels_.emplace_back(cells[*label_]);
  }

  // As it is given; finite as a float, too, or NaN where it is missing.
  double Value(std::string_view cell, std::size_t column) const {
    const std::string shown = cell.empty() ? "an empty cell" : Quoted(cell);
    const std::optional<double> value = Number(cell);
    if (IsMissing(cell) || (options_.gaps && value && std::isnan(*value))) {
      if (options_.gaps) return std::numeric_limits<double>::quiet_NaN();
      lines_.Refuse(Named(column), fmt::format("{}: the value is missing: leave the row out, or fill in the value{}",
                                               shown, kGapAdvice));
    }
    if (!value) lines_.Refuse(Named(column), fmt::format("{} is not a number{}", shown, Hint(cell)));
    if (std::isfinite(static_cast<float>(*value))) return *value;
    lines_.Refuse(
        Named(column),
        fmt::format("{}: allowed are finite numbers below 3.4e38: leave the row out, or fill in the value", shown));
  }

  double Weight(std::string_view cell) const {
    const std::optional<double> value = Number(cell);
    if (value && std::isfinite(*value) && *value >= 0) return *value;
    lines_.Refuse(Named(*weight_), fmt::format("{} is no weight: allowed are finite numbers of at least 0",
                                               cell.empty() ? "an empty cell" : Quoted(cell)));
  }

  Dataset Finish() {
    Dataset::Names names{.columns = {}, .labels = {}, .notes = std::move(notes_)};
    if (!names_.empty()) {
      for (const std::size_t c : columns_) names.columns.push_back(names_[c]);
    }
    std::vector<int> labels = NumberLabels(labels_, names.labels);
    Dataset::Storage storage = rows_->Finish({}, path_);
    storage.warning = steps_->Warning(path_);
    storage.gaps = options_.gaps;
    const Dataset all =
        Dataset(std::move(storage), std::move(labels)).WithNames(std::move(names)).WithWeights(std::move(weights_));
    if (conditions_.empty()) return all;
    std::vector<std::size_t> last(conditions_.size());
    std::iota(last.begin(), last.end(), columns_.size() - conditions_.size());
    return all.WithConditions(last);
  }

  Lines lines_;
  const std::string& path_;
  const CsvOptions& options_;
  std::vector<std::string_view> marks_;
  std::vector<std::string> names_;  // of all columns, or none
  std::size_t count_ = 0;
  std::vector<std::size_t> columns_;
  std::optional<std::size_t> label_;
  std::optional<std::size_t> weight_;
  std::vector<std::size_t> conditions_;
  std::vector<float> row_;
  std::optional<RowStore> rows_;
  std::optional<ColumnSteps> steps_;
  std::vector<std::string> labels_;
  std::vector<double> weights_;
  std::vector<std::string> notes_;
};

}  // namespace

Dataset ParseCsv(std::string_view text, const std::string& path, const CsvOptions& options) {
  return Table(text, path, options).Read();
}

}  // namespace grbm
