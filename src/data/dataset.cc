#include "grbm/data/dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/bytes.h"
#include "data/row_store.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

float FloatAt(const void* values, Index index) {
  float value;
  std::memcpy(&value, static_cast<const char*>(values) + index * Index{sizeof(float)}, sizeof(float));
  return value;
}

// Whether there are gaps.
bool CheckFinite(const Dataset::Storage& s) {
  bool gaps = false;
  // The sum of the values times zero is zero, unless one is not finite: a loop without a branch.
  for (Index r = 0; r < s.rows; ++r) {
    float sum = 0;
    for (Index c = 0; c < s.visible; ++c) sum += 0.0f * FloatAt(s.values, r * s.visible + c);
    if (sum == 0) continue;
    for (Index c = 0; c < s.visible; ++c) {
      const float value = FloatAt(s.values, r * s.visible + c);
      if (std::isfinite(value)) continue;
      if (s.gaps && std::isnan(value)) {
        gaps = true;
        continue;
      }
      throw DataError(fmt::format(
          "{}: row {}, column {} (counted from 0): the value is {}: allowed are finite numbers below 3.4e38: leave "
          "the row out, or fill in the value{}",
          s.source, r, c, value, std::isnan(value) ? kGapAdvice : ""));
    }
  }
  return gaps;
}

template <typename Values>
Dataset::Storage InMemory(Values values, bool is_8bit, Index rows, Index visible, ImageShape shape,
                          std::string source) {
  auto owner = std::make_shared<const Values>(std::move(values));
  const void* data = owner->data();
  return {std::move(owner), data, is_8bit, rows, visible, shape, std::move(source)};
}

}  // namespace

Dataset::Dataset(Storage storage, std::vector<int> labels) {
  if (storage.rows <= 0 || storage.visible <= 0) {
    throw DataError(fmt::format("{}: {} rows of {} values: expected is at least one of each", storage.source,
                                storage.rows, storage.visible));
  }
  if (storage.shape.known() && storage.shape.size() != storage.visible) {
    throw DataError(fmt::format("{}: images of {} values, but rows of {}: expected are as many", storage.source,
                                storage.shape.size(), storage.visible));
  }
  if (!labels.empty() && static_cast<Index>(labels.size()) != storage.rows) {
    throw DataError(fmt::format("{}: {} labels for {} rows: expected is one for each", storage.source, labels.size(),
                                storage.rows));
  }
  storage.gaps = !storage.is_8bit && CheckFinite(storage);
  storage_ = std::make_shared<const Storage>(std::move(storage));
  if (!labels.empty()) labels_ = std::make_shared<const std::vector<int>>(std::move(labels));
}

Dataset::Dataset(std::vector<std::uint8_t> values, Index visible, ImageShape shape, std::string source,
                 std::vector<int> labels) {
  const auto size = static_cast<Index>(values.size());
  const Index rows = visible > 0 ? size / visible : 0;
  if (rows * visible != size) {
    throw DataError(fmt::format("{}: {} values do not fill rows of {}", source, size, visible));
  }
  *this = Dataset(InMemory(std::move(values), true, rows, visible, shape, std::move(source)), std::move(labels));
}

Dataset::Dataset(Matrix values, ImageShape shape, std::string source, std::vector<int> labels, bool is_16bit,
                 std::string warning, bool gaps) {
  const Index rows = values.rows();
  const Index visible = values.cols();
  Storage storage = InMemory(std::move(values), false, rows, visible, shape, std::move(source));
  storage.is_16bit = is_16bit;
  storage.warning = std::move(warning);
  storage.gaps = gaps;
  *this = Dataset(std::move(storage), std::move(labels));
}

void Dataset::RequireNoGaps(const char* what) const {
  if (!has_gaps()) return;
  throw DataError(
      fmt::format("{}: {} has missing values: whole rows are needed: fill them in (grbm inpaint), or leave rows out",
                  what, source()));
}

const Dataset::Storage& Dataset::storage() const {
  static const Storage kNothing;
  return storage_ ? *storage_ : kNothing;
}

std::span<const int> Dataset::labels() const {
  return labels_ ? std::span<const int>(*labels_) : std::span<const int>();
}

std::span<const double> Dataset::weights() const {
  return weights_ ? std::span<const double>(*weights_) : std::span<const double>();
}

Dataset Dataset::WithWeights(std::vector<double> weights) const {
  Dataset result = *this;
  result.weights_.reset();
  if (weights.empty()) return result;
  if (static_cast<Index>(weights.size()) != rows()) {
    throw DataError(
        fmt::format("{}: {} weights for {} rows: expected is one for each", source(), weights.size(), rows()));
  }
  double sum = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    if (!std::isfinite(weights[r]) || weights[r] < 0) {
      throw DataError(
          fmt::format("{}: the weight of row {} (counted from 0) is {}: allowed are finite numbers of at "
                      "least 0",
                      source(), r, weights[r]));
    }
    sum += weights[r];
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    throw DataError(
        fmt::format("{}: the weights add up to {}: at least one must be above 0, and their sum finite", source(), sum));
  }
  result.weights_ = std::make_shared<const std::vector<double>>(std::move(weights));
  return result;
}

Dataset Dataset::WithConditions(std::span<const std::size_t> columns) const {
  const auto given = static_cast<Index>(columns.size());
  if (given >= visible()) {
    throw DataError(fmt::format("{}: all {} columns are conditions: at least one must be another", source(), given));
  }
  std::vector<std::size_t> others;
  Names names_of_values = names();
  names_of_values.columns.clear();
  for (std::size_t i = 0; i < ToSize(visible()); ++i) {
    if (std::ranges::find(columns, i) != columns.end()) continue;
    others.push_back(i);
    if (!names().columns.empty()) names_of_values.columns.push_back(names().columns[i]);
  }
  if (!names().columns.empty()) {
    for (const std::size_t i : columns) names_of_values.conditions.push_back(names().columns[i]);
  }
  RowStore values(visible() - given);
  values.Expect(rows());
  auto conditions = std::make_shared<Matrix>(rows(), given);
  std::vector<float> row(ToSize(visible()));
  std::vector<float> kept(others.size());
  for (Index r = 0; r < rows(); ++r) {
    ReadStored(StoredRow(r), row);
    std::ranges::transform(others, kept.begin(), [&](std::size_t i) { return row[i]; });
    values.Append(kept);
    std::ranges::transform(columns, conditions->row(r).begin(), [&](std::size_t i) { return row[i]; });
    if (!AllFinite(conditions->row(r))) {
      throw DataError(
          fmt::format("{}: row {} (counted from 0): a condition is missing: values may be, conditions must be known: "
                      "fill them in, or leave the row out",
                      source(), r));
    }
  }
  Storage storage = values.Finish({}, source());
  storage.gaps = has_gaps();
  storage.warning = warning();
  Dataset result = Dataset(std::move(storage), {labels().begin(), labels().end()})
                       .WithNames(std::move(names_of_values))
                       .WithWeights({weights().begin(), weights().end()});
  result.condition_values_ = std::move(conditions);
  return result;
}

Dataset Dataset::WithHistory(Index frames) const {
  GRBM_CHECK(!selection_);
  RequireNoGaps("history");
  if (frames >= rows()) {
    throw DataError(
        fmt::format("{}: {} rows, of which each needs {} before it: none has so many", source(), rows(), frames));
  }
  std::vector<Index> later(static_cast<std::size_t>(rows() - frames));
  std::iota(later.begin(), later.end(), frames);
  Dataset result = Select(later);
  result.history_ = frames;
  return result;
}

void Dataset::ReadConditions(std::span<const Index> rows, MutableMatrix out) const {
  GRBM_CHECK(out.cols() == conditions() && out.rows() == static_cast<Index>(rows.size()));
  for (Index r = 0; r < out.rows(); ++r) {
    const Index index = rows[static_cast<std::size_t>(r)];
    CheckRows(index, 1);
    const std::span<float> to = out.row(r);
    if (condition_values_) std::ranges::copy(condition_values_->row(StoredRow(index)), to.begin());
    const auto width = static_cast<std::size_t>(visible());
    for (Index k = 0; k < history_; ++k) {
      ReadStored(StoredRow(index) - history_ + k, to.subspan(static_cast<std::size_t>(k) * width, width));
    }
  }
}

Matrix Dataset::ReadConditions(std::span<const Index> rows) const {
  Matrix out(static_cast<Index>(rows.size()), conditions());
  ReadConditions(rows, out);
  return out;
}

const Dataset::Names& Dataset::names() const {
  static const Names kNone;
  return names_ ? *names_ : kNone;
}

void Dataset::CheckNames(std::span<const std::string> columns, std::span<const std::string> conditions,
                         std::string_view whose) const {
  const auto check = [&](std::span<const std::string> own, std::span<const std::string> expected, const char* what,
                         const char* option) {
    const auto [differs, other] = std::ranges::mismatch(own, expected);
    if (differs == own.end() || other == expected.end()) return;
    const bool elsewhere = std::ranges::find(own, *other) != own.end();
    throw DataError(fmt::format(
        "{}: its {} {} is {}, that of {} {}: {}", source(), what, differs - own.begin() + 1, Quoted(*differs), whose,
        Quoted(*other),
        elsewhere ? fmt::format("name them in that order by {}", option) : "rename it, or leave out the first line"));
  };
  check(names().columns, columns, "column", "--columns");
  check(names().conditions, conditions, "condition", "data.condition");
}

Dataset Dataset::WithNames(Names names) const {
  Dataset result = *this;
  result.names_ = std::make_shared<const Names>(std::move(names));
  return result;
}

void Dataset::CheckRows(Index first, Index count) const {
  if (first >= 0 && count >= 0 && count <= rows() && first <= rows() - count) return;
  throw DataError(fmt::format("{}: {} rows from row {} on were asked for: there are {}, counted from 0", source(),
                              count, first, rows()));
}

void Dataset::CheckRoom(MutableMatrix out) const {
  if (out.cols() == visible()) return;
  throw DataError(
      fmt::format("{}: room for rows of {} values was given: its rows have {}", source(), out.cols(), visible()));
}

const void* Dataset::row(Index index) const {
  CheckRows(index, 1);
  return Stored(StoredRow(index));
}

const void* Dataset::Stored(Index stored) const {
  const Index width = visible() * (is_8bit() ? 1 : Index{sizeof(float)});
  return static_cast<const char*>(storage().values) + stored * width;
}

void Dataset::ReadStored(Index stored, std::span<float> out) const {
  if (is_8bit()) {
    const auto* values = static_cast<const std::uint8_t*>(Stored(stored));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(values[i]);
  } else {
    std::memcpy(out.data(), Stored(stored), out.size_bytes());
  }
}

void Dataset::Read(std::span<const Index> rows, MutableMatrix out) const {
  CheckRoom(out);
  if (out.rows() != static_cast<Index>(rows.size())) {
    throw DataError(
        fmt::format("{}: room for {} rows was given, and {} were asked for", source(), out.rows(), rows.size()));
  }
  for (Index r = 0; r < out.rows(); ++r) {
    const Index index = rows[static_cast<std::size_t>(r)];
    CheckRows(index, 1);
    ReadStored(StoredRow(index), out.row(r));
  }
}

void Dataset::Read(Index first, MutableMatrix out) const {
  CheckRoom(out);
  CheckRows(first, out.rows());
  for (Index r = 0; r < out.rows(); ++r) ReadStored(StoredRow(first + r), out.row(r));
}

Matrix Dataset::Read(Index first, Index count) const {
  CheckRows(first, count);
  Matrix result(count, visible());
  Read(first, result.view());
  return result;
}

Dataset Dataset::Select(std::span<const Index> rows) const {
  auto selection = std::make_shared<std::vector<Index>>();
  auto labels = std::make_shared<std::vector<int>>();
  std::vector<double> weights;
  selection->reserve(rows.size());
  for (const Index index : rows) {
    CheckRows(index, 1);
    const auto at = static_cast<std::size_t>(index);
    selection->push_back(selection_ ? (*selection_)[at] : index);
    if (labels_) labels->push_back((*labels_)[at]);
    if (weights_) weights.push_back((*weights_)[at]);
  }
  Dataset result = *this;
  result.selection_ = std::move(selection);
  if (labels_) result.labels_ = std::move(labels);
  return weights_ ? result.WithWeights(std::move(weights)) : result;
}

}  // namespace grbm
