// The parameters of a model, by name for the maths and one after another for what goes through all of them: files,
// optimisers, averages, checks. Who adds one adds it here and in parameters.cc.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"

namespace grbm {

// What the rows of a parameter are by: a row for each of these units.
enum class UnitKind { kVisible, kHidden };

// A view of one parameter: a matrix, row after row, or a vector, of which an element is a row. T is float or const float.
template <typename T>
struct ParameterTensor {
  std::string_view name;     // as files, settings and Python have it
  std::string_view meaning;  // a sentence
  UnitKind units = UnitKind::kVisible;
  bool is_vector = false;
  Index rows = 0;
  Index cols = 0;  // 1 for a vector
  T* data = nullptr;

  bool empty() const { return rows == 0 || cols == 0; }
  std::span<T> values() const { return {data, static_cast<std::size_t>(rows * cols)}; }
  std::span<T> Rows(Index first, Index count) const {
    return values().subspan(static_cast<std::size_t>(first * cols), static_cast<std::size_t>(count * cols));
  }
  // In files: [rows, cols], or [rows] of a vector.
  std::vector<Index> shape() const { return is_vector ? std::vector{rows} : std::vector{rows, cols}; }

  // What lies together and is worked on at once: a row of a matrix, or the whole vector.
  Index lines() const { return empty() ? 0 : is_vector ? 1 : rows; }
  std::span<T> line(Index k) const { return is_vector ? values() : Rows(k, 1); }
};

// The parameters, and anything else of their shape: gradients, moments.
struct Parameters {
  Matrix W;                    // visible × hidden
  std::vector<float> b;        // hidden
  std::vector<float> mu;       // visible
  std::vector<float> log_var;  // visible
  // Of models with conditions; otherwise empty.
  Matrix A;  // visible × conditions
  Matrix B;  // hidden × conditions

  Parameters() = default;
  // All zero.
  Parameters(Index visible, Index hidden, Index conditions = 0);

  // All of them, in the order of files. They refer to these parameters.
  static constexpr std::size_t kCount = 6;
  static constexpr std::size_t kMu = 2;
  std::array<ParameterTensor<float>, kCount> Tensors();
  std::array<ParameterTensor<const float>, kCount> Tensors() const;

  bool operator==(const Parameters&) const = default;
};

// Whether every parameter of one has the shape that it has in the other.
bool SameShapes(const Parameters& a, const Parameters& b);

// Throws DataError unless a parameter with a row for each of these units has `rows`, as the model has units.
void CheckRows(std::string_view name, UnitKind units, Index rows, Index expected);

struct ParameterLine {
  Index number = 0;        // among the lines of all parameters
  std::size_t tensor = 0;  // whose line it is
  Index line = 0;          // of that parameter
};
Index LineCount(const Parameters& parameters);
// Calls body for every line of parameters of this shape, on several threads.
void ForLines(const Parameters& parameters, ThreadPool& pool, const std::function<void(const ParameterLine&)>& body);

}  // namespace grbm
