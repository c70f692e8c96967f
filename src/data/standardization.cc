#include "grbm/data/standardization.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "grbm/core/error.h"

namespace grbm {

namespace {

// value = function(value, unit) for each element; values: rows × visible.
template <typename Function>
void Map(const Standardization& s, MutableMatrix values, Function function) {
  if (s.identity()) return;
  const auto visible = static_cast<std::size_t>(values.cols());
  GRBM_CHECK(s.mean.size() == visible && s.deviation.size() == visible);
  GRBM_CHECK(s.margin.empty() || s.margin.size() == visible);
  for (Index r = 0; r < values.rows(); ++r) {
    const std::span<float> row = values.row(r);
    for (std::size_t i = 0; i < visible; ++i) row[i] = function(row[i], i);
  }
}

// A unit x of one standardisation is (x - shift) · scale in the other.
struct Change {
  double shift;
  double scale;
};
Change ChangeOf(const Standardization& from, const Standardization& to, std::size_t i) {
  const auto mean = [&](const Standardization& s) { return s.identity() ? 0.0 : double{s.mean[i]}; };
  const auto deviation = [&](const Standardization& s) { return s.identity() ? 1.0 : double{s.deviation[i]}; };
  return {(mean(to) - mean(from)) / deviation(from), deviation(from) / deviation(to)};
}

}  // namespace

void Standardization::Apply(MutableMatrix values) const {
  if (margin.empty()) return Map(*this, values, [&](float x, std::size_t i) { return (x - mean[i]) / deviation[i]; });
  Map(*this, values, [&](float x, std::size_t i) { return ((x <= 0 ? x - margin[i] : x) - mean[i]) / deviation[i]; });
}

void Standardization::Invert(MutableMatrix values) const {
  Map(*this, values, [&](float x, std::size_t i) { return x * deviation[i] + mean[i]; });
  if (margin.empty()) return;
  Map(*this, values, [&](float x, std::size_t i) { return x < 0 && margin[i] > 0 ? 0.0f : x; });
}

void Standardization::Shown(MutableMatrix values) const {
  if (margin.empty()) return;
  Map(*this, values, [&](float x, std::size_t i) { return margin[i] > 0 ? std::max(x, -mean[i] / deviation[i]) : x; });
}

Model InUnits(const Model& model, const Standardization& from, const Standardization& to) {
  if (from == to) return model;
  Parameters p = model.parameters();
  std::vector<double> b(p.b.begin(), p.b.end());
  double least = 1;  // of what variances are multiplied by
  for (std::size_t i = 0; i < static_cast<std::size_t>(model.gaussian_units()); ++i) {
    const auto [shift, scale] = ChangeOf(from, to, i);
    const std::span<float> weights = p.W.row(static_cast<Index>(i));
    for (std::size_t j = 0; j < weights.size(); ++j) {
      b[j] += double{weights[j]} * shift / double{model.variance()[i]};
      weights[j] = static_cast<float>(double{weights[j]} * scale);
    }
    p.mu[i] = static_cast<float>((double{p.mu[i]} - shift) * scale);
    for (Index k = 0; k < model.conditions(); ++k) {
      float& a = p.A(static_cast<Index>(i), k);
      a = static_cast<float>(double{a} * scale);
    }
    p.log_var[i] = static_cast<float>(double{p.log_var[i]} + 2 * std::log(scale));
    least = std::min(least, scale * scale);
  }
  for (std::size_t j = 0; j < b.size(); ++j) p.b[j] = static_cast<float>(b[j]);
  return Model(std::move(p), model.variance_floor() * least, model.label_units());
}

Model InConditionUnits(const Model& model, const Standardization& from, const Standardization& to) {
  if (from == to) return model;
  Parameters p = model.parameters();
  // u = u'/scale + shift, in what is added to each bias.
  const auto change = [&](Matrix& weights, std::vector<float>& biases) {
    for (std::size_t j = 0; j < biases.size(); ++j) {
      double bias = biases[j];
      for (Index k = 0; k < weights.cols(); ++k) {
        float& weight = weights(static_cast<Index>(j), k);
        const auto [shift, scale] = ChangeOf(from, to, static_cast<std::size_t>(k));
        bias += double{weight} * shift;
        weight = static_cast<float>(double{weight} / scale);
      }
      biases[j] = static_cast<float>(bias);
    }
  };
  change(p.A, p.mu);
  change(p.B, p.b);
  return Model(std::move(p), model.variance_floor());
}

void CheckMargin(std::span<const float> margin, std::span<const float> values, Index row, const std::string& source) {
  for (std::size_t i = 0; i < margin.size(); ++i) {
    if (!(margin[i] > 0 && values[i] < 0)) continue;
    throw DataError(
        fmt::format("{}: row {}, column {} (counted from 0): {} is below 0, but zeros of the rows that were trained on "
                    "lie lower by a margin: allowed is 0 and above, or a model that is trained with margin=0",
                    source, row, i, values[i]));
  }
}

void CheckStandardization(const Standardization& standardization, Index visible, const std::string& where) {
  const auto& [mean, deviation, margin] = standardization;
  if (mean.empty() && deviation.empty() && margin.empty()) return;
  const auto expected = static_cast<std::size_t>(visible);
  const auto check = [&](const std::vector<float>& values, std::string_view name, auto allowed,
                         std::string_view allowed_text) {
    if (values.size() != expected) {
      throw DataError(
          fmt::format("{}: standardization: {} has {} elements: expected are {}, one "
                      "per visible unit",
                      where, name, values.size(), visible));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i]) || !allowed(values[i])) {
        throw DataError(
            fmt::format("{}: standardization: {}[{}] = {}: allowed is {}", where, name, i, values[i], allowed_text));
      }
    }
  };
  check(
      mean, "mean", [](float) { return true; }, "a finite number");
  check(
      deviation, "deviation", [](float d) { return d > 0; }, "a finite number above 0");
  if (margin.empty()) return;
  check(
      margin, "margin", [](float m) { return m >= 0; }, "a finite number of at least 0");
}

}  // namespace grbm
