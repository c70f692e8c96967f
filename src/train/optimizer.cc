#include "grbm/train/optimizer.h"

#include <array>
#include <cmath>
#include <numeric>

#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr double kAdamEpsilon = 1e-8;

}  // namespace

double Norm(const Parameters& gradient, ThreadPool& pool) {
  std::vector<double> squares(static_cast<std::size_t>(LineCount(gradient)));
  const auto tensors = gradient.Tensors();
  ForLines(gradient, pool, [&](const ParameterLine& at) {
    squares[static_cast<std::size_t>(at.number)] = kernels::SumOfSquares(tensors[at.tensor].line(at.line));
  });
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

Optimizer::Optimizer(const TrainOptions& options, Index visible, Index hidden, std::vector<float> unit_scale)
    : options_(options), unit_scale_(std::move(unit_scale)) {
  const int count = options.optimizer == OptimizerKind::kAdam ? 2 : options.momentum > 0 ? 1 : 0;
  for (int i = 0; i < count; ++i) moments_.emplace_back(visible, hidden);
}

double Optimizer::Step(const Parameters& parameters, double learning_rate, Parameters& gradient, ThreadPool& pool) {
  const double norm = Norm(gradient, pool);
  if (!std::isfinite(norm)) return norm;
  const double scale = options_.clip_norm > 0 && norm > options_.clip_norm ? options_.clip_norm / norm : 1.0;
  ++steps_;
  const double decay = learning_rate * options_.weight_decay;
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
    const bool is_weights = !thetas[at.tensor].is_vector;
    const bool scaled = is_weights && !unit_scale_.empty();
    const double rate = scaled ? learning_rate * double{unit_scale_[static_cast<std::size_t>(at.line)]} : learning_rate;
    const double line_decay = is_weights ? decay : 0;
    if (options_.optimizer == OptimizerKind::kAdam) {
      kernels::StepAdam({scale, beta1, beta2, correction1, correction2, rate, line_decay, kAdamEpsilon}, theta,
                        moment(0), moment(1), g);
    } else {
      kernels::StepSgd({scale, beta1, rate, line_decay}, theta, moments.empty() ? std::span<float>() : moment(0), g);
    }
  });
  return norm;
}

}  // namespace grbm
