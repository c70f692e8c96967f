#include "grbm/model/parameters.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "grbm/core/error.h"

namespace grbm {

namespace {

// Throws where the weights' bytes could not even be counted.
void CheckSize(Index visible, Index hidden) {
  constexpr Index kMost = std::numeric_limits<Index>::max() / 64;
  if (visible <= 0 || hidden <= 0 || hidden <= kMost / visible) return;
  throw ConfigError(fmt::format("model: {} × {} weights: no memory holds so many", visible, hidden));
}

// P is Parameters or const Parameters.
template <typename P>
auto TensorsOf(P& p) {
  using T = std::remove_pointer_t<decltype(p.W.data())>;
  using Tensor = ParameterTensor<T>;
  const auto matrix = [](auto name, auto meaning, UnitKind units, auto& m) {
    return Tensor{name, meaning, units, false, m.rows(), m.cols(), m.data()};
  };
  const auto vector = [](auto name, auto meaning, UnitKind units, auto& v) {
    return Tensor{name, meaning, units, true, std::ssize(v), 1, v.data()};
  };
  return std::array<Tensor, Parameters::kCount>{
      matrix("W", "Weights, visible × hidden.", UnitKind::kVisible, p.W),
      vector("b", "Biases of the hidden units.", UnitKind::kHidden, p.b),
      vector("mu", "Means of the visible units.", UnitKind::kVisible, p.mu),
      vector("log_var", "Logarithms of the variances.", UnitKind::kVisible, p.log_var),
      matrix("A", "What conditions add to the means, visible × conditions.", UnitKind::kVisible, p.A),
      matrix("B", "What conditions add to the biases, hidden × conditions.", UnitKind::kHidden, p.B),
  };
}

}  // namespace

Parameters::Parameters(Index visible, Index hidden, Index conditions)
    : W((CheckSize(visible, hidden), visible), hidden),
      b(static_cast<std::size_t>(hidden)),
      mu(static_cast<std::size_t>(visible)),
      log_var(static_cast<std::size_t>(visible)) {
  if (conditions == 0) return;
  CheckSize(visible + hidden, conditions);
  A = Matrix(visible, conditions);
  B = Matrix(hidden, conditions);
}

std::array<ParameterTensor<float>, Parameters::kCount> Parameters::Tensors() { return TensorsOf(*this); }
std::array<ParameterTensor<const float>, Parameters::kCount> Parameters::Tensors() const { return TensorsOf(*this); }

bool SameShapes(const Parameters& a, const Parameters& b) {
  return std::ranges::equal(a.Tensors(), b.Tensors(),
                            [](const auto& x, const auto& y) { return x.rows == y.rows && x.cols == y.cols; });
}

void CheckRows(std::string_view name, UnitKind units, Index rows, Index expected) {
  if (rows == expected) return;
  throw DataError(fmt::format("model: {} has {} elements, but W has {} {} units: they must be as many", name, rows,
                              expected, units == UnitKind::kVisible ? "visible" : "hidden"));
}

Index LineCount(const Parameters& parameters) {
  Index count = 0;
  for (const auto& tensor : parameters.Tensors()) count += tensor.lines();
  return count;
}

void ForLines(const Parameters& parameters, ThreadPool& pool, const std::function<void(const ParameterLine&)>& body) {
  constexpr Index kLeastElements = 1 << 14;  // that are worth a thread
  const auto tensors = parameters.Tensors();
  const Index least = kLeastElements / std::max<Index>(1, parameters.W.cols());
  pool.ParallelForRanges(LineCount(parameters), least, [&](Index first, Index end) {
    ParameterLine at{first, 0, first};
    for (; at.number < end; ++at.number, ++at.line) {
      for (; at.line >= tensors[at.tensor].lines(); ++at.tensor) at.line -= tensors[at.tensor].lines();
      body(at);
    }
  });
}

}  // namespace grbm
