#include "data/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "core/bytes.h"
#include "core/number.h"
#include "data/column_steps.h"
#include "data/columns.h"
#include "data/csv_lines.h"
#include "data/row_store.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

class Table {
 public:
  Table(std::string_view text, const std::string& path, const CsvOptions& options)
      : lines_(text, path), path_(path), options_(options) {
    for (std::string_view rest = options.missing; !rest.empty();) {
      const std::string_view mark = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), mark.size() + 1));
      marks_.push_back(TrimSpaces(mark));
      const std::optional<double> number = NumberOfCell(marks_.back());
      if (number && !std::isnan(*number)) number_marks_.push_back(*number);
    }
  }

  Dataset Read() {
    bool more = ReadNames();
    if (!more) throw DataError(fmt::format("{}: no line with numbers: expected is one row of numbers per line", path_));
    ChooseFromFirstRow();
    rows_.emplace(static_cast<Index>(columns_.size()));
    steps_.emplace(static_cast<Index>(columns_.size()));
    for (; more; more = lines_.Next()) AddRow();
    return Finish();
  }

  bool HasColumn(const std::string& column) {
    const bool more = ReadNames();
    const std::size_t count = more ? lines_.cells().size() : names_.size();
    return FindColumn(column, names_, count).has_value();
  }

 private:
  // The names of the columns, where there are any; whether a line comes after them, which is then the present one.
  bool ReadNames() {
    if (!lines_.Next()) return false;
    lines_.DropEmptyLast();
    if (!IsHeader()) return true;
    names_.assign(lines_.cells().begin(), lines_.cells().end());
    return lines_.Next();
  }

  // `value`: the number that the cell is. A mark that is a number stands for equal ones, however they are written.
  bool IsMissing(std::string_view cell, const std::optional<double>& value) const {
    return cell.empty() || std::ranges::find(marks_, cell) != marks_.end() ||
           (value && std::ranges::find(number_marks_, *value) != number_marks_.end());
  }
  bool IsText(std::string_view cell) const {
    const std::optional<double> value = NumberOfCell(cell);
    return !value && !IsMissing(cell, value);
  }

  // Whether the line names the columns: it has no number, or none above those of the next line, or counts the columns, as
  // pandas does where they have no names. The first name may be empty.
  bool IsHeader() {
    const auto& cells = lines_.cells();
    if (std::ranges::any_of(cells.begin() + 1, cells.end(), [](auto cell) { return cell.empty(); })) return false;
    if (cells[0].empty() && cells.size() > 1) return true;
    if (std::ranges::none_of(cells, [](auto cell) { return NumberOfCell(cell).has_value(); })) return true;
    if (Counts(cells)) {
      notes_.emplace_back("the first line counts the columns, and is left out");
      return true;
    }
    CsvLines ahead = lines_;
    if (!ahead.Next() || ahead.cells().size() != cells.size()) return false;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (IsText(cells[c]) && NumberOfCell(ahead.cells()[c])) return true;
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

  // Whether the first column is 0, 1, 2, ..., from this line to the last, as pandas' reset_index makes it.
  bool CountsRows() const {
    CsvLines ahead = lines_;
    std::size_t row = 0;
    do {
      if (NumberIn<std::size_t>(ahead.cells()[0]) != row++) return false;
    } while (ahead.Next());
    return true;
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
    const auto taken = [&](std::size_t c) {
      return label_ == c || weight_ == c || std::ranges::find(conditions_, c) != conditions_.end();
    };
    const bool counted = !index && count_ > 1 && !names_.empty() && names_[0] == "index" && !taken(0) && CountsRows();
    if (index) notes_.emplace_back("column 1 names the rows, and is left out");
    if (counted) notes_.emplace_back("column 1 'index' counts the rows, and is left out");
    std::vector<std::size_t> texts;
    for (std::size_t c = index || counted ? 1 : 0; c < count_; ++c) {
      if (taken(c)) continue;
      (IsText(lines_.cells()[c]) ? texts : columns_).push_back(c);
    }
    // What begins as a number does, "2,5" or a date, was not meant as a name.
    const bool names = std::ranges::none_of(texts, [&](std::size_t c) {
      return std::string_view("0123456789+-.").find(lines_.cells()[c][0]) != std::string_view::npos;
    });
    if (texts.size() == 1 && names && !label_ && !columns_.empty()) {
      label_ = texts[0];
      text_line_ = lines_.line();
      notes_.push_back(fmt::format("column {} holds text, and is taken as labels", Named(texts[0])));
    } else if (!texts.empty()) {
      const std::string_view cell = lines_.cells()[texts[0]];
      const std::string hint = Hint(cell);
      lines_.Refuse(
          Named(texts[0]),
          fmt::format("{} is not a number{}", Quoted(cell),
                      hint.empty() ? ": name the columns that are by data.columns, labels by data.label" : hint));
    }
    if (columns_.empty()) {
      throw ConfigError(fmt::format(
          "{}: no column is left to model: all {} are names of rows, labels, weights or conditions", path_, count_));
    }
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

  // What may have been meant by a cell that is no number.
  std::string Hint(std::string_view cell) const {
    const auto parts = [&](char c) {  // whether a number ends there
      const std::size_t at = cell.find(c);
      return at != std::string_view::npos && NumberOfCell(cell.substr(0, at)).has_value();
    };
    if (lines_.separator() != ',' && parts(',')) return ": decimals have a point";
    if (lines_.cells().size() > 1) {
      return lines_.separator() == ',' && parts(';')
                 ? ": the line has commas and semicolons: one of them separates cells, and decimals have a point"
                 : "";
    }
    for (const auto& [c, name] : {std::pair('\t', "tab"), std::pair(';', "semicolon")}) {
      if (!parts(c)) continue;
      return fmt::format(": cells are separated as those of the first line are, and it has no {}", name);
    }
    for (const auto& [c, name] : {std::pair('|', "'|'"), std::pair(' ', "blanks"), std::pair(':', "':'")}) {
      if (!parts(c)) continue;
      return fmt::format(": cells seem to be separated by {}: allowed are commas, tabs and semicolons", name);
    }
    return "";
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
    const std::string_view label = cells[*label_];
    if (IsMissing(label, number_marks_.empty() ? std::nullopt : NumberOfCell(label)))
      lines_.Refuse(Named(*label_), "the label is missing: leave the row out");
    labels_.emplace_back(label);
  }

  // As it is given; finite as a float, too, or NaN where it is missing.
  double Value(std::string_view cell, std::size_t column) const {
    const std::string shown = cell.empty() ? "an empty cell" : Quoted(cell);
    const std::optional<double> value = NumberOfCell(cell);
    if (IsMissing(cell, value) || (options_.gaps && value && std::isnan(*value))) {
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
    const std::optional<double> value = NumberOfCell(cell);
    if (value && std::isfinite(*value) && *value >= 0) return *value;
    lines_.Refuse(Named(*weight_), fmt::format("{} is no weight: allowed are finite numbers of at least 0",
                                               cell.empty() ? "an empty cell" : Quoted(cell)));
  }

  // A column that was taken as labels for its first cell alone, though most of it are numbers.
  void CheckText() const {
    const auto numbers =
        std::ranges::count_if(labels_, [](const auto& cell) { return NumberOfCell(cell).has_value(); });
    if (2 * numbers <= std::ssize(labels_)) return;
    lines_.RefuseAt(text_line_, Named(*label_),
                    fmt::format("{} is not a number, as {} of the {} cells below are: name it in data.missing, or the "
                                "columns that are numbers by data.columns, labels by data.label",
                                Quoted(labels_[0]), numbers, labels_.size() - 1));
  }

  Dataset Finish() {
    if (text_line_ > 0) CheckText();
    Dataset::Names names{.columns = {}, .labels = {}, .notes = std::move(notes_)};
    if (!names_.empty()) {
      for (const std::size_t c : columns_) names.columns.push_back(names_[c]);
    }
    std::vector<int> labels = NumberLabels(labels_, names.labels);
    Dataset::Storage storage = rows_->Finish({}, path_);
    std::vector<std::string> texts;
    for (const std::size_t c : columns_) texts.push_back(Named(c));
    storage.warning = steps_->Warning(path_, texts);
    storage.gaps = options_.gaps;
    const Dataset all =
        Dataset(std::move(storage), std::move(labels)).WithNames(std::move(names)).WithWeights(std::move(weights_));
    if (conditions_.empty()) return all;
    std::vector<std::size_t> last(conditions_.size());
    std::iota(last.begin(), last.end(), columns_.size() - conditions_.size());
    return all.WithConditions(last);
  }

  CsvLines lines_;
  const std::string& path_;
  const CsvOptions& options_;
  std::vector<std::string_view> marks_;
  std::vector<double> number_marks_;
  std::vector<std::string> names_;  // of all columns, or none
  std::size_t count_ = 0;
  std::vector<std::size_t> columns_;
  std::optional<std::size_t> label_;
  std::size_t text_line_ = 0;  // where the column of text begins that became the labels unasked; 0: none did
  std::optional<std::size_t> weight_;
  std::vector<std::size_t> conditions_;
  std::vector<float> row_;
  std::optional<RowStore> rows_;
  std::optional<ColumnSteps<double>> steps_;
  std::vector<std::string> labels_;
  std::vector<double> weights_;
  std::vector<std::string> notes_;
};

}  // namespace

Dataset ParseCsv(std::string_view text, const std::string& path, const CsvOptions& options) {
  return Table(text, path, options).Read();
}

bool CsvHasColumn(std::string_view text, const std::string& path, const std::string& column) {
  const CsvOptions options;
  return Table(text, path, options).HasColumn(column);
}

}  // namespace grbm
