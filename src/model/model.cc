#include "grbm/model/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "grbm/core/random.h"
#include "kernels/kernels.h"
#include "model/packed.h"

namespace grbm {

namespace {

void CheckFinite(const ParameterTensor<const float>& tensor) {
  const std::span<const float> values = tensor.values();
  if (AllFinite(values)) return;
  const auto wrong = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); });
  const Index at = wrong - values.begin();
  const std::string place = tensor.is_vector
                                ? fmt::format("{}[{}]", tensor.name, at)
                                : fmt::format("{}[{}, {}]", tensor.name, at / tensor.cols, at % tensor.cols);
  throw DataError(fmt::format("model: {} is {}: every parameter must be finite", place, *wrong));
}

float LogFloor(double variance_floor) { return static_cast<float>(std::log(variance_floor)); }

}  // namespace

struct Model::Packing {
  std::once_flag once;
  std::optional<PackedWeights> weights;  // before they are packed: memory to pack into, where there is some
};

Model::Model(Parameters parameters, double variance_floor, Index label_units, Index condition_units)
    : parameters_(std::move(parameters)),
      variance_floor_(variance_floor),
      label_units_(label_units),
      condition_units_(condition_units),
      packing_(std::make_shared<Packing>()) {
  if (visible() < 1 || hidden() < 1) {
    throw DataError(fmt::format("model: W is {} × {}: a model needs at least one visible and one hidden unit",
                                visible(), hidden()));
  }
  if (label_units < 0 || label_units >= visible()) {
    throw DataError(
        fmt::format("model: {} of {} visible units are labels: at least one must be another", label_units, visible()));
  }
  if (parameters_.A.cols() != parameters_.B.cols()) {
    throw DataError(fmt::format("model: A has {} columns, and B {}: they must be as many, one for each condition",
                                parameters_.A.cols(), parameters_.B.cols()));
  }
  if (conditions() > 0 && label_units > 0)
    throw DataError("model: labels and conditions: a model has one or the other");
  const auto tensors = std::as_const(parameters_).Tensors();
  for (const auto& t : tensors) {
    const bool optional = t.name == "A" || t.name == "B";
    if (optional && conditions() == 0) continue;
    CheckRows(t.name, t.units, t.rows, t.units == UnitKind::kVisible ? visible() : hidden());
  }
  for (const auto& tensor : tensors) CheckFinite(tensor);
  if (!(variance_floor > 0) || !std::isfinite(variance_floor)) {
    throw ConfigError(fmt::format("model: variance_floor = {}: allowed is a number above 0", variance_floor));
  }

  const float log_floor = LogFloor(variance_floor);
  for (std::size_t i = 0; i < parameters_.log_var.size(); ++i) {
    float& log_var = parameters_.log_var[i];
    const bool label = static_cast<Index>(i) >= gaussian_units();
    if (!label) log_var = std::max(log_var, log_floor);
    if (label && log_var != parameters_.log_var.back()) {
      throw DataError(fmt::format("model: log_var[{}] is {}, that of another label unit {}: all must have one variance",
                                  i, log_var, parameters_.log_var.back()));
    }
    const double variance = std::exp(double{log_var});
    variance_.push_back(static_cast<float>(variance));
    inverse_variance_.push_back(static_cast<float>(1 / variance));
    if (!std::isfinite(variance_.back()) || !std::isfinite(inverse_variance_.back()) || variance_.back() == 0) {
      throw DataError(
          fmt::format("model: log_var[{}] is {}: its variance must be a finite number above 0", i, log_var));
    }
    if (!label) mean_variance_ += variance / static_cast<double>(gaussian_units());
  }
}

Model Model::Initial(Index visible, Index hidden, std::uint64_t seed, double initial_variance, double variance_floor,
                     Index label_units, Index conditions) {
  if (visible < 1 || hidden < 1) {
    throw ConfigError(
        fmt::format("model: {} visible and {} hidden units: allowed is at least one of each", visible, hidden));
  }
  if (!(initial_variance > 0) || !std::isfinite(initial_variance)) {
    throw ConfigError(fmt::format("model: initial_variance = {}: allowed is a number above 0", initial_variance));
  }
  Parameters parameters(visible, hidden, conditions);
  const Stream stream(seed, Purpose::kInitialWeights);
  const auto deviation = static_cast<float>(std::sqrt(initial_variance / static_cast<double>(visible + hidden)));
  for (Index i = 0; i < visible; ++i) {
    kernels::DrawNormals({stream, 0, 0}, i, parameters.W.row(i));
    for (float& w : parameters.W.row(i)) w *= deviation;
  }
  std::fill(parameters.log_var.begin(), parameters.log_var.end() - label_units,
            static_cast<float>(std::log(initial_variance)));
  return Model(std::move(parameters), variance_floor, label_units);
}

void Model::RequireNoConditions() const {
  if (conditions() == 0) return;
  throw ConfigError("model: it has conditions: take it given them (GivenConditions)");
}

const PackedWeights& Model::packed(ThreadPool& pool) const {
  RequireNoConditions();
  std::call_once(packing_->once, [&] {
    if (!packing_->weights) packing_->weights.emplace(visible(), hidden());
    packing_->weights->Pack(*this, pool);
  });
  return *packing_->weights;
}

Parameters Model::Replace(Model next) {
  GRBM_CHECK(next.visible() == visible() && next.hidden() == hidden());
  const bool shared = packing_.use_count() > 1;  // by copies of this model
  if (!shared && !next.packing_->weights) next.packing_->weights = std::move(packing_->weights);
  Parameters before = std::move(parameters_);
  *this = std::move(next);
  return before;
}

Model Model::Tempered(double temperature) const {
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    throw ConfigError(fmt::format("model: temperature = {}: allowed is a number above 0", temperature));
  }
  Parameters tempered = parameters_;
  for (float& b : tempered.b) b = static_cast<float>(double{b} / temperature);
  for (float& shift : tempered.B.values()) shift = static_cast<float>(double{shift} / temperature);
  const auto hotter = [&](float log_var) { return static_cast<float>(double{log_var} + std::log(temperature)); };
  for (float& l : tempered.log_var) l = hotter(l);
  // The floor goes along, rounded as the variances are: a unit at the floor stays there, and none is lifted to it.
  return Model(std::move(tempered), std::exp(double{hotter(LogFloor(variance_floor_))}), label_units_,
               condition_units_);
}

}  // namespace grbm
