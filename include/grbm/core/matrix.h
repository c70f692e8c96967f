// Dense row-major matrices, views of them, and matrices of bits.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "grbm/core/error.h"

namespace grbm {

using Index = std::ptrdiff_t;

// An index that is not negative, for the standard library.
constexpr std::size_t ToSize(Index value) { return static_cast<std::size_t>(value); }

// rows × cols elements, `stride` elements from one row to the next. Does not own them.
template <typename T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, Index rows, Index cols, Index stride) : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  // A view of constants from a view of variables.
  template <typename U>
  requires std::same_as<const U, T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  MatrixView(const MatrixView<U>& other) : MatrixView(other.data(), other.rows(), other.cols(), other.stride()) {}

  T* data() const { return data_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index stride() const { return stride_; }
  bool empty() const { return rows_ == 0 || cols_ == 0; }

  T& operator()(Index row, Index col) const { return data_[row * stride_ + col]; }
  std::span<T> row(Index row) const { return {data_ + row * stride_, static_cast<std::size_t>(cols_)}; }
  MatrixView Rows(Index first, Index count) const {
    GRBM_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
    return {data_ + first * stride_, count, cols_, stride_};
  }

 private:
  T* data_ = nullptr;
  Index rows_ = 0;
  Index cols_ = 0;
  Index stride_ = 0;
};

using ConstMatrix = MatrixView<const float>;
using MutableMatrix = MatrixView<float>;

// Memory on cache-line boundaries, so that no two rows of different chains share a line by accident; large blocks on
// boundaries of large pages, which the system is asked for. Throws std::bad_alloc.
void* AllocateAligned(std::size_t bytes);
void FreeAligned(void* pointer, std::size_t bytes);

template <typename T>
struct AlignedAllocator {
  using value_type = T;

  AlignedAllocator() = default;
  template <typename U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t count) { return static_cast<T*>(AllocateAligned(count * sizeof(T))); }
  void deallocate(T* pointer, std::size_t count) { FreeAligned(pointer, count * sizeof(T)); }
  template <typename U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

template <typename T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// An owned matrix, zero at first.
template <typename T>
class BasicMatrix {
 public:
  BasicMatrix() = default;
  BasicMatrix(Index rows, Index cols) : rows_(rows), cols_(cols), data_(static_cast<std::size_t>(rows * cols)) {}

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  std::span<T> values() { return data_; }
  std::span<const T> values() const { return data_; }

  T& operator()(Index row, Index col) { return data_[Offset(row) + static_cast<std::size_t>(col)]; }
  const T& operator()(Index row, Index col) const { return data_[Offset(row) + static_cast<std::size_t>(col)]; }
  std::span<T> row(Index row) { return values().subspan(Offset(row), static_cast<std::size_t>(cols_)); }
  std::span<const T> row(Index row) const { return values().subspan(Offset(row), static_cast<std::size_t>(cols_)); }

  MatrixView<T> view() { return {data(), rows_, cols_, cols_}; }
  MatrixView<const T> view() const { return {data(), rows_, cols_, cols_}; }
  operator MatrixView<T>() { return view(); }              // NOLINT(google-explicit-constructor)
  operator MatrixView<const T>() const { return view(); }  // NOLINT(google-explicit-constructor)
  operator MatrixView<const T>()                           // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<T>) {
    return view();
  }

  bool operator==(const BasicMatrix&) const = default;

 private:
  std::size_t Offset(Index row) const { return static_cast<std::size_t>(row * cols_); }

  Index rows_ = 0;
  Index cols_ = 0;
  AlignedVector<T> data_;
};

using Matrix = BasicMatrix<float>;

// Bits, one per hidden unit: rows × units. Sixty-four units of one row share a word, and the words of one such group
// lie together for all rows, so that a kernel walks down the rows of a group without a gap. T is std::uint64_t or
// const std::uint64_t.
template <typename T>
class BasicBitView {
 public:
  static constexpr Index kGroup = 64;

  BasicBitView() = default;
  BasicBitView(T* words, Index rows, Index units, Index stride)
      : words_(words), rows_(rows), units_(units), stride_(stride) {}
  template <typename U>
  requires std::same_as<const U, T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  BasicBitView(const BasicBitView<U>& other)
      : BasicBitView(other.words(), other.rows(), other.units(), other.stride()) {}

  T* words() const { return words_; }
  Index rows() const { return rows_; }
  Index units() const { return units_; }
  Index stride() const { return stride_; }
  Index groups() const { return (units_ + kGroup - 1) / kGroup; }

  // The units kGroup·group ... of one row; bits past the last unit are zero.
  T& word(Index row, Index group) const { return words_[group * stride_ + row]; }
  bool Get(Index row, Index unit) const { return (word(row, unit / kGroup) >> (unit % kGroup) & 1) != 0; }
  void Set(Index row, Index unit, bool value) const requires(!std::is_const_v<T>) {
    const std::uint64_t bit = std::uint64_t{1} << (unit % kGroup);
    T& w = word(row, unit / kGroup);
    w = value ? (w | bit) : (w & ~bit);
  }
  BasicBitView Rows(Index first, Index count) const {
    GRBM_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
    return {words_ + first, count, units_, stride_};
  }

 private:
  T* words_ = nullptr;
  Index rows_ = 0;
  Index units_ = 0;
  Index stride_ = 0;
};

using BitView = BasicBitView<std::uint64_t>;
using ConstBitView = BasicBitView<const std::uint64_t>;

// Owned bits, zero at first.
class BitMatrix {
 public:
  BitMatrix() = default;
  BitMatrix(Index rows, Index units)
      : rows_(rows),
        units_(units),
        words_(static_cast<std::size_t>(rows * ((units + BitView::kGroup - 1) / BitView::kGroup))) {}

  Index rows() const { return rows_; }
  Index units() const { return units_; }
  bool Get(Index row, Index unit) const { return view().Get(row, unit); }
  void Set(Index row, Index unit, bool value) { view().Set(row, unit, value); }

  BitView view() { return {words_.data(), rows_, units_, rows_}; }
  ConstBitView view() const { return {words_.data(), rows_, units_, rows_}; }
  operator BitView() { return view(); }             // NOLINT(google-explicit-constructor)
  operator ConstBitView() const { return view(); }  // NOLINT(google-explicit-constructor)

  bool operator==(const BitMatrix&) const = default;

 private:
  Index rows_ = 0;
  Index units_ = 0;
  AlignedVector<std::uint64_t> words_;
};

// dst = src, row by row.
void CopyRows(ConstMatrix src, MutableMatrix dst);
void CopyRows(ConstBitView src, BitView dst);

// Σ (a - b)²; both are of one size.
double SquaredDistance(std::span<const float> a, std::span<const float> b);

bool AllFinite(std::span<const float> values);

}  // namespace grbm
