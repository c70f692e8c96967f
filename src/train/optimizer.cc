#include "grbm/train/optimizer.h"

#include <array>
#include <cmath>

namespace grbm {

namespace {

std::array<std::span<float>, 4> Parts(Parameters& p) { return {p.W.values(), p.b, p.mu, p.log_var}; }
std::array<std::span<const float>, 4> Parts(const Parameters& p) { return {p.W.values(), p.b, p.mu, p.log_var}; }

constexpr double kAdamEpsilon = 1e-8;

}  // namespace

double Norm(const Parameters& gradient) {
  double sum = 0;
  for (const std::span<const float> part : Parts(gradient)) {
    for (const double g : part) sum += g * g;
  }
  return std::sqrt(sum);
}

Optimizer::Optimizer(const TrainOptions& options, Index visible, Index hidden) : options_(options) {
  const int count = options.optimizer == OptimizerKind::kAdam ? 2 : options.momentum > 0 ? 1 : 0;
  for (int i = 0; i < count; ++i) moments_.emplace_back(visible, hidden);
}

double Optimizer::Step(const Parameters& gradient, double learning_rate, Parameters& parameters) {
  const double norm = Norm(gradient);
  if (!std::isfinite(norm)) return norm;
  const double scale = options_.clip_norm > 0 && norm > options_.clip_norm ? options_.clip_norm / norm : 1.0;
  ++steps_;
  const double decay = learning_rate * options_.weight_decay;
  for (float& w : parameters.W.values()) w -= static_cast<float>(decay * double{w});

  const double beta1 = options_.momentum;
  const double beta2 = options_.adam_beta2;
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(steps_));
  for (std::size_t part = 0; part < 4; ++part) {
    const std::span<const float> g = Parts(gradient)[part];
    const std::span<float> theta = Parts(parameters)[part];
    for (std::size_t k = 0; k < g.size(); ++k) {
      double step = scale * double{g[k]};
      if (options_.optimizer == OptimizerKind::kAdam) {
        float& m = Parts(moments_[0])[part][k];
        float& s = Parts(moments_[1])[part][k];
        m = static_cast<float>(beta1 * double{m} + (1 - beta1) * step);
        s = static_cast<float>(beta2 * double{s} + (1 - beta2) * step * step);
        step = (double{m} / correction1) / (std::sqrt(double{s} / correction2) + kAdamEpsilon);
      } else if (!moments_.empty()) {
        float& m = Parts(moments_[0])[part][k];
        m = static_cast<float>(beta1 * double{m} + step);
        step = m;
      }
      theta[k] -= static_cast<float>(learning_rate * step);
    }
  }
  return norm;
}

}  // namespace grbm
