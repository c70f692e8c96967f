// Matrices as the kernels hold them: cut into panels of sixteen columns, a row of a panel being one cache line.
#pragma once

#include "grbm/core/matrix.h"

// The loop that follows is written out so many times. Instrumented code is too long for it, and the compiler would say so.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GRBM_UNROLL(times)
#else
#define GRBM_PRAGMA(text) _Pragma(#text)
#define GRBM_UNROLL(times) GRBM_PRAGMA(GCC unroll times)
#endif

namespace grbm::kernels {

inline constexpr Index kPanel = 16;

constexpr Index PanelCount(Index cols) { return (cols + kPanel - 1) / kPanel; }

// Panel p holds columns 16p ... 16p + 15 of all rows, row after row; columns past the last are zero or ignored. T is
// float or const float.
template <typename T>
class BasicPanelView {
 public:
  BasicPanelView() = default;
  BasicPanelView(T* data, Index rows, Index cols, Index stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  template <typename U>
  requires std::same_as<const U, T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  BasicPanelView(const BasicPanelView<U>& other)
      : BasicPanelView(other.data(), other.rows(), other.cols(), other.stride()) {}

  T* data() const { return data_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index stride() const { return stride_; }  // floats from a panel to the next
  Index panels() const { return PanelCount(cols_); }
  // The sixteen floats of a row in a panel.
  T* line(Index panel, Index row) const { return data_ + panel * stride_ + row * kPanel; }
  T& operator()(Index row, Index col) const { return line(col / kPanel, row)[col % kPanel]; }
  BasicPanelView Rows(Index first, Index count) const { return {data_ + first * kPanel, count, cols_, stride_}; }

 private:
  T* data_ = nullptr;
  Index rows_ = 0;
  Index cols_ = 0;
  Index stride_ = 0;
};

using PanelView = BasicPanelView<float>;
using ConstPanelView = BasicPanelView<const float>;

// Owned panels, zero at first. An odd number of lines lies between panels, so that the same rows of many panels do not
// fall into the same sets of a cache.
class Panels {
 public:
  Panels() = default;
  Panels(Index rows, Index cols)
      : rows_(rows), cols_(cols), data_(static_cast<std::size_t>(PanelCount(cols) * (rows | 1) * kPanel)) {}

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  std::span<float> values() { return data_; }
  std::span<const float> values() const { return data_; }

  PanelView view() { return {data_.data(), rows_, cols_, (rows_ | 1) * kPanel}; }
  ConstPanelView view() const { return {data_.data(), rows_, cols_, (rows_ | 1) * kPanel}; }
  operator PanelView() { return view(); }             // NOLINT(google-explicit-constructor)
  operator ConstPanelView() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  Index rows_ = 0;
  Index cols_ = 0;
  AlignedVector<float> data_;
};

// One number for each column, padded with zeros to whole panels.
class PanelRow {
 public:
  PanelRow() = default;
  explicit PanelRow(Index cols, float padding = 0)
      : data_(static_cast<std::size_t>(PanelCount(cols) * kPanel), padding) {}
  explicit PanelRow(std::span<const float> values, float padding = 0)
      : PanelRow(static_cast<Index>(values.size()), padding) {
    std::copy(values.begin(), values.end(), data_.begin());
  }
  const float* panel(Index p) const { return data_.data() + p * kPanel; }
  float* data() { return data_.data(); }

 private:
  AlignedVector<float> data_;
};

}  // namespace grbm::kernels
