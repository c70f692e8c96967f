// Data to train on: rows × visible values, in their own units.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/data/image_shape.h"

namespace grbm {

// What can be done about a missing value, for messages.
inline constexpr const char* kGapAdvice =
    "; grbm train takes it as missing with data.gaps = \"sample\", grbm inpaint fills it in";

// Rows of 8-bit or 32-bit values. A copy is cheap and shares the values; nothing ever changes them.
//
// Values of a mapped file are read from it when they are used: the file must not be changed in place meanwhile.
// (Replacing it by renaming, as WriteFileAtomically does, is safe.)
class Dataset {
 public:
  // Where values lie: rows × visible elements without gaps, 8-bit or 32-bit floats, maybe unaligned.
  struct Storage {
    std::shared_ptr<const void> owner;
    const void* values = nullptr;
    bool is_8bit = false;
    Index rows = 0;
    Index visible = 0;
    ImageShape shape;       // all zero, or of size `visible`
    std::string source;     // a file's name, or the name of the data; opens messages
    bool is_16bit = false;  // floats that are pixels of 16 bits, on the scale of 8: 0 to 255
    std::string warning{};  // what whoever trains on them should know
    bool gaps = false;      // whether NaN is a value that is missing; otherwise it is refused
  };

  // What a file says of its values.
  struct Names {
    std::vector<std::string> columns;          // one per visible unit, or none
    std::vector<std::string> labels;           // names of the labels 0, 1, ...; none where labels are plain numbers
    std::vector<std::string> notes;            // what of the file was left out or taken in a way of its own, for people
    std::vector<std::string> conditions = {};  // of columns that are conditions, one each, or none
  };

  // No rows, no visible units.
  Dataset() = default;
  // `labels`: one per row, or none. Throws DataError where there are no values, labels of another number, or a float
  // that is not finite, gaps apart: floats are all looked at once, here, and never again.
  explicit Dataset(Storage storage, std::vector<int> labels = {});
  // The same of values in memory; values.size() is a multiple of `visible`.
  Dataset(std::vector<std::uint8_t> values, Index visible, ImageShape shape, std::string source,
          std::vector<int> labels = {});
  Dataset(Matrix values, ImageShape shape, std::string source, std::vector<int> labels = {}, bool is_16bit = false,
          std::string warning = {}, bool gaps = false);

  Index rows() const { return selection_ ? static_cast<Index>(selection_->size()) : storage().rows; }
  Index visible() const { return storage().visible; }
  const ImageShape& shape() const { return storage().shape; }
  const std::string& source() const { return storage().source; }
  // What whoever trains on them should know; mostly empty.
  const std::string& warning() const { return storage().warning; }
  // Whether values are missing, in whatever rows of the file or array: these are NaN.
  bool has_gaps() const { return storage().gaps; }
  // Throws DataError where it has gaps; `what` opens the message: for those who need whole rows.
  void RequireNoGaps(const char* what) const;
  bool is_8bit() const { return storage().is_8bit; }
  // What the values came as: pixels of 8 or 16 bits, all from 0 to 255, or 32 for any floats.
  int bits() const { return is_8bit() ? 8 : storage().is_16bit ? 16 : 32; }
  // One per row; empty where unknown.
  std::span<const int> labels() const;

  // What each row counts for in the law of the data; empty where all count the same.
  std::span<const double> weights() const;
  // The same rows with these weights, or none. Throws DataError unless there is one for each row, finite and not negative,
  // and at least one is above 0.
  Dataset WithWeights(std::vector<double> weights) const;

  // How many conditions each row has: values that are given with it, and are none of its own.
  Index conditions() const { return condition_values_ ? condition_values_->cols() : history_ * visible(); }
  // Whether they are rows before it, and how many of them.
  Index history() const { return history_; }
  // The same rows without these columns, which are conditions now. Throws DataError where no column is left, or where values
  // are missing.
  Dataset WithConditions(std::span<const std::size_t> columns) const;
  // The rows that have as many before them, whose values are their conditions, the oldest first: of data in the order of time, of
  // which nothing is selected yet. Throws DataError where there are none, or where values are missing.
  Dataset WithHistory(Index frames) const;
  // out: rows.size() × conditions, in their own units.
  void ReadConditions(std::span<const Index> rows, MutableMatrix out) const;
  Matrix ReadConditions(std::span<const Index> rows) const;

  const Names& names() const;
  // Throws DataError where a column or a condition has another name than is expected in its place; with no names on either
  // side, places are all that is known. `whose` the names are, for the message: "the model".
  void CheckNames(std::span<const std::string> columns, std::span<const std::string> conditions,
                  std::string_view whose) const;
  // The same rows, with these names.
  Dataset WithNames(Names names) const;

  // out = these rows, in this order, as floats; out: rows.size() × visible. A row may be asked for more than once.
  void Read(std::span<const Index> rows, MutableMatrix out) const;
  // out = rows first ... first + out.rows() - 1.
  void Read(Index first, MutableMatrix out) const;
  Matrix Read(Index first, Index count) const;
  Matrix ReadAll() const { return Read(0, rows()); }

  // These rows, in this order.
  Dataset Select(std::span<const Index> rows) const;

  // The values of one row: visible() elements, of 8 bits if is_8bit(), otherwise floats, maybe unaligned.
  const void* row(Index index) const;

 private:
  const Storage& storage() const;
  // Throw DataError for rows that there are not, and for room of another width.
  void CheckRows(Index first, Index count) const;
  void CheckRoom(MutableMatrix out) const;
  Index StoredRow(Index index) const { return selection_ ? (*selection_)[static_cast<std::size_t>(index)] : index; }
  const void* Stored(Index stored) const;
  // Of a stored row, as floats.
  void ReadStored(Index stored, std::span<float> out) const;

  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<const std::vector<int>> labels_;
  std::shared_ptr<const std::vector<double>> weights_;   // null: all the same
  std::shared_ptr<const std::vector<Index>> selection_;  // null: all
  std::shared_ptr<const Names> names_;                   // null: none
  std::shared_ptr<const Matrix> condition_values_;       // of stored rows; null: none
  Index history_ = 0;
};

}  // namespace grbm
