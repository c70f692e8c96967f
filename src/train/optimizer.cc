#include "grbm/train/optimizer.h"

#include <array>
#include <cmath>
#include <numeric>

#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr double kAdamEpsilon = 1e-8;

// Of each parameter.
ByParameter SumsOfSquares(const Parameters& gradient, ThreadPool& pool) {
  std::vector<double> squares(static_cast<std::size_t>(LineCount(gradient)));
  const auto tensors = gradient.Tensors();
  ForLines(gradient, pool, [&](const ParameterLine& at) {
    squares[static_cast<std::size_t>(at.number)] = kernels::SumOfSquares(tensors[at.tensor].line(at.line));
  });
  ByParameter sums{};
  auto line = squares.cbegin();
  for (std::size_t t = 0; t < sums.size(); ++t) {
    const auto end = line + tensors[t].lines();
    sums[t] = std::accumulate(line, end, 0.0);
    line = end;
  }
  return sums;
}

double Length(const ByParameter& squares) { return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0)); }

// What brings a length to `clip` where it is above; 0: never.
double ScaleTo(double clip, double length) { return clip > 0 && length > clip ? clip / length : 1.0; }

}  // namespace

double Norm(const Parameters& gradient, ThreadPool& pool) { return Length(SumsOfSquares(gradient, pool)); }

Optimizer::Optimizer(const TrainOptions& options, Index visible, Index hidden, std::vector<float> unit_scale,
                     Index conditions)
    : options_(options), unit_scale_(std::move(unit_scale)) {
  const int count = options.optimizer == OptimizerKind::kAdam ? 2 : options.momentum > 0 ? 1 : 0;
  for (int i = 0; i < count; ++i) moments_.emplace_back(visible, hidden, conditions);
}

double Optimizer::Step(const Parameters& parameters, double learning_rate, Parameters& gradient, ThreadPool& pool) {
  ByParameter squares = SumsOfSquares(gradient, pool);
  const double norm = Length(squares);
  if (!std::isfinite(norm)) return norm;
  ByParameter scales{};
  for (std::size_t t = 0; t < scales.size(); ++t) {
    scales[t] = ScaleTo(options_.clip[t], std::sqrt(squares[t]));
    squares[t] *= scales[t] * scales[t];
  }
  const double scale_of_all = ScaleTo(options_.clip_norm, Length(squares));
  ++steps_;
  const double beta1 = options_.momentum;
  const double beta2 = options_.adam_beta2;
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(steps_));

  const auto thetas = parameters.Tensors();
  const auto gradients = gradient.Tensors();
  std::vector<std::array<ParameterTensor<float>, Parameters::kCount>> moments;
  for (Parameters& moment : moments_) moments.push_back(moment.Tensors());
  ForLines(parameters, pool, [&](const ParameterLine& at) {
    const std::span<const float> theta = thetas[at.tensor].line(at.line);
    const std::span<float> g = gradients[at.tensor].line(at.line);
    const auto moment = [&](std::size_t k) { return moments[k][at.tensor].line(at.line); };
    const double scale = scales[at.tensor] * scale_of_all;
    const double tensor_rate = learning_rate * options_.rate[at.tensor];
    const double decay = tensor_rate * options_.weight_decay * options_.decay[at.tensor];
    const bool by_visible = !thetas[at.tensor].is_vector && thetas[at.tensor].units == UnitKind::kVisible;
    const bool scaled = by_visible && !unit_scale_.empty();
    const double rate = scaled ? tensor_rate * double{unit_scale_[static_cast<std::size_t>(at.line)]} : tensor_rate;
    if (options_.optimizer == OptimizerKind::kAdam) {
      kernels::StepAdam({scale, beta1, beta2, correction1, correction2, rate, decay, kAdamEpsilon}, theta, moment(0),
                        moment(1), g);
    } else {
      kernels::StepSgd({scale, beta1, rate, decay}, theta, moments.empty() ? std::span<float>() : moment(0), g);
    }
  });
  return norm;
}

}  // namespace grbm
