#include "grbm/model/reach.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr double kLargest = 0.25 * double{std::numeric_limits<float>::max()};
constexpr double kNoise = 16;  // standard deviations: normals made of 32 random bits end before 7
constexpr double kMargin = 4;  // over-relaxed chains go beyond their means

[[noreturn]] void Refuse(std::string_view where, const std::string& parameter, const std::string& what, double reach) {
  throw NumericError(fmt::format(
      "{}: {}: {} can reach {:.3g}, and floats end at 3.4e+38: the model is broken, or the data are in other "
      "units",
      where, parameter, what, reach));
}

// |μ_i| + Σ_j |W_ij|
double MeanReach(const Model& model, Index unit) {
  double sum = std::abs(double{model.mu()[static_cast<std::size_t>(unit)]});
  for (const float w : model.W().row(unit)) sum += std::abs(double{w});
  return sum;
}

void CheckMean(const Model& model, Index unit, std::string_view where) {
  const double reach = MeanReach(model, unit);
  if (reach <= kLargest) return;
  const float mu = model.mu()[static_cast<std::size_t>(unit)];
  const std::span<const float> row = model.W().row(unit);
  const auto worst = std::ranges::max_element(row, {}, [](float w) { return std::abs(w); });
  const std::string parameter = std::abs(*worst) >= std::abs(mu)
                                    ? fmt::format("W[{}, {}] = {}", unit, worst - row.begin(), *worst)
                                    : fmt::format("mu[{}] = {}", unit, mu);
  Refuse(where, parameter, fmt::format("the mean of visible unit {}", unit), reach);
}

// Of the logit of one hidden unit that is too large: the parameter with the largest share.
[[noreturn]] void RefuseLogit(const Model& model, std::span<const double> largest, Index unit, double reach,
                              std::string_view where) {
  double most = std::abs(double{model.b()[static_cast<std::size_t>(unit)]});
  std::string parameter = fmt::format("b[{}] = {}", unit, model.b()[static_cast<std::size_t>(unit)]);
  for (Index i = 0; i < model.visible(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double share = std::abs(double{model.W()(i, unit)}) * largest[at] * double{model.inverse_variance()[at]};
    if (share <= most) continue;
    most = share;
    parameter = fmt::format("W[{}, {}] = {} with a variance of {:.3g} and values of up to {:.3g}", i, unit,
                            model.W()(i, unit), model.variance()[at], largest[at]);
  }
  Refuse(where, parameter, fmt::format("the logit of hidden unit {}", unit), reach);
}

}  // namespace

void CheckReach(const Model& model, std::span<const double> largest, std::string_view where) {
  GRBM_CHECK(static_cast<Index>(largest.size()) == model.visible());
  for (Index i = 0; i < model.visible(); ++i) CheckMean(model, i, where);
  std::vector<double> logits(model.b().size());
  for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = std::abs(double{model.b()[j]});
  for (Index i = 0; i < model.visible(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double scale = largest[at] * double{model.inverse_variance()[at]};
    const std::span<const float> row = model.W().row(i);
    for (std::size_t j = 0; j < logits.size(); ++j) logits[j] += std::abs(double{row[j]}) * scale;
  }
  const auto worst = std::ranges::max_element(logits);
  if (*worst > kLargest) RefuseLogit(model, largest, worst - logits.begin(), *worst, where);
}

void CheckReach(const Model& model, double temperature, std::string_view where) {
  std::vector<double> largest;
  for (Index i = 0; i < model.visible(); ++i) {
    const double deviation = std::sqrt(temperature * double{model.variance()[static_cast<std::size_t>(i)]});
    largest.push_back(kMargin * (MeanReach(model, i) + kNoise * std::max(1.0, deviation)));
  }
  CheckReach(model, largest, where);
}

void CheckReach(const Model& model, ConstMatrix data, std::string_view where) {
  std::vector<double> largest(static_cast<std::size_t>(model.visible()));
  for (Index r = 0; r < data.rows(); ++r) {
    const std::span<const float> row = data.row(r);
    for (std::size_t i = 0; i < row.size(); ++i) largest[i] = std::max(largest[i], std::abs(double{row[i]}));
  }
  std::fill(largest.end() - model.label_units(), largest.end(), 1.0);
  CheckReach(model, largest, where);
}

}  // namespace grbm
