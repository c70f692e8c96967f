#include "grbm/model/conditions.h"

#include <fmt/core.h>

#include <algorithm>

namespace grbm {

namespace {

constexpr std::size_t kTogether = 8;  // elements that instructions can take together

double Dot(std::span<const float> a, std::span<const float> b) {
  double sums[kTogether] = {};
  std::size_t k = 0;
  for (; k + kTogether <= a.size(); k += kTogether) {
    for (std::size_t s = 0; s < kTogether; ++s) sums[s] += double{a[k + s]} * double{b[k + s]};
  }
  double sum = 0;
  for (const double each : sums) sum += each;
  for (; k < a.size(); ++k) sum += double{a[k]} * double{b[k]};
  return sum;
}

// to += factor · x
template <typename T>
void AddScaled(T factor, std::span<const float> x, std::span<T> to) {
  std::size_t k = 0;
  for (; k + kTogether <= x.size(); k += kTogether) {
    T sums[kTogether];
    for (std::size_t s = 0; s < kTogether; ++s) sums[s] = to[k + s] + factor * T{x[k + s]};
    for (std::size_t s = 0; s < kTogether; ++s) to[k + s] = sums[s];
  }
  for (; k < x.size(); ++k) to[k] += factor * T{x[k]};
}

// v + sign · A u of every row.
void Shift(const Model& model, MutableMatrix rows, double sign, ThreadPool& pool) {
  const Index visible = model.visible();
  pool.ParallelFor(rows.rows(), [&](Index r) {
    const std::span<float> row = rows.row(r);
    const std::span<const float> u = row.subspan(ToSize(visible));
    for (Index i = 0; i < visible; ++i) {
      row[ToSize(i)] = static_cast<float>(double{row[ToSize(i)]} + sign * Dot(model.A().row(i), u));
    }
  });
}

}  // namespace

Model GivenConditions(const Model& model, std::span<const float> u) {
  if (std::ssize(u) != model.conditions()) {
    throw DataError(
        fmt::format("conditions: {} values, but the model has {}: they must be as many", u.size(), model.conditions()));
  }
  Parameters p = model.parameters();
  for (std::size_t i = 0; i < p.mu.size(); ++i) {
    p.mu[i] = static_cast<float>(double{p.mu[i]} + Dot(p.A.row(static_cast<Index>(i)), u));
  }
  for (std::size_t j = 0; j < p.b.size(); ++j) {
    p.b[j] = static_cast<float>(double{p.b[j]} + Dot(p.B.row(static_cast<Index>(j)), u));
  }
  p.A = p.B = {};
  return Model(std::move(p), model.variance_floor());
}

// With v' = v - A u the energy is that of v' and h with b + (B + Wᵀ(A/σ²)) u for b: the weights of units u, of variance 1.
Model WithConditionUnits(const Model& model) {
  const Index visible = model.visible();
  Parameters p(visible + model.conditions(), model.hidden());
  CopyRows(model.W(), p.W.view().Rows(0, visible));
  std::ranges::copy(model.b(), p.b.begin());
  std::ranges::copy(model.mu(), p.mu.begin());
  std::ranges::copy(model.log_var(), p.log_var.begin());
  for (Index k = 0; k < model.conditions(); ++k) {
    const std::span<float> weights = p.W.row(visible + k);
    std::vector<double> sums(weights.size());
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] = model.B()(static_cast<Index>(j), k);
    for (Index i = 0; i < visible; ++i) {
      const double scaled = double{model.A()(i, k)} * double{model.inverse_variance()[ToSize(i)]};
      AddScaled(scaled, model.W().row(i), std::span(sums));
    }
    std::ranges::transform(sums, weights.begin(), [](double sum) { return static_cast<float>(sum); });
  }
  return Model(std::move(p), model.variance_floor(), 0, model.conditions());
}

void TakeShift(const Model& model, MutableMatrix rows, ThreadPool& pool) { Shift(model, rows, -1, pool); }
void AddShift(const Model& model, MutableMatrix rows, ThreadPool& pool) { Shift(model, rows, 1, pool); }

Matrix WithConditions(ConstMatrix values, ConstMatrix conditions) {
  GRBM_CHECK(values.rows() == conditions.rows());
  Matrix rows(values.rows(), values.cols() + conditions.cols());
  for (Index r = 0; r < rows.rows(); ++r) {
    const auto end = std::ranges::copy(values.row(r), rows.row(r).begin()).out;
    std::ranges::copy(conditions.row(r), end);
  }
  return rows;
}

Matrix WithoutConditions(const Model& model, ConstMatrix rows) {
  Matrix values(rows.rows(), model.visible());
  CopyRows(ConstMatrix(rows.data(), rows.rows(), values.cols(), rows.stride()), values);
  return values;
}

// The weights C = Bᵀ + (A/σ²)ᵀW of the condition units depend on B, A, W and σ².
Parameters GradientGivenConditions(const Model& model, const Parameters& of_units, std::span<const double> shift,
                                   ThreadPool& pool) {
  const Index visible = model.visible();
  const Index conditions = model.conditions();
  Parameters gradient(visible, model.hidden(), conditions);
  gradient.b = of_units.b;
  std::copy_n(of_units.mu.begin(), visible, gradient.mu.begin());
  pool.ParallelFor(visible, [&](Index i) {
    const double scale = model.inverse_variance()[ToSize(i)];
    const std::span<float> row = gradient.W.row(i);
    std::ranges::copy(of_units.W.row(i), row.begin());
    double of_variance = of_units.log_var[ToSize(i)];
    for (Index k = 0; k < conditions; ++k) {
      const std::span<const float> of_weights = of_units.W.row(visible + k);
      const double of_shift = scale * Dot(model.W().row(i), of_weights);
      const double a = model.A()(i, k);
      gradient.A(i, k) = static_cast<float>(shift[ToSize(i * conditions + k)] + of_shift);
      of_variance -= a * of_shift;
      AddScaled(static_cast<float>(a * scale), of_weights, row);
    }
    gradient.log_var[ToSize(i)] = static_cast<float>(of_variance);
  });
  for (Index j = 0; j < model.hidden(); ++j) {
    for (Index k = 0; k < conditions; ++k) gradient.B(j, k) = of_units.W(visible + k, j);
  }
  return gradient;
}

}  // namespace grbm
