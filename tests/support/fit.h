// Training to the end, and the exact fit that it is compared with.
#pragma once

#include <cmath>

#include "grbm/model/exact.h"
#include "grbm/train/trainer.h"

namespace grbm::testing {

// Exact-gradient ascent from the same start with the same optimiser and schedule.
inline double ExactFit(const Trainer::Setup& setup, const Matrix& data) {
  Parameters p = Model::Initial(setup.visible, setup.model.hidden, setup.seed).parameters();
  Optimizer optimizer(setup.train, setup.visible, setup.model.hidden);
  ThreadPool pool(1);
  const int updates = 1500;
  for (int u = 0; u < updates; ++u) {
    const ExactGradient g = ExactModel(Model(p)).LogLikelihoodGradient(data);
    Parameters gradient(setup.visible, setup.model.hidden);
    for (std::size_t k = 0; k < gradient.W.values().size(); ++k)
      gradient.W.values()[k] = static_cast<float>(-g.W.values()[k]);
    for (std::size_t k = 0; k < gradient.b.size(); ++k) gradient.b[k] = static_cast<float>(-g.b[k]);
    for (std::size_t k = 0; k < gradient.mu.size(); ++k) {
      gradient.mu[k] = static_cast<float>(-g.mu[k]);
      gradient.log_var[k] = static_cast<float>(-g.log_var[k]);
    }
    const double decay = 0.5 * (1 + std::cos(M_PI * u / updates));
    optimizer.Step(p, setup.train.learning_rate * decay, gradient, pool);
    p = gradient;
  }
  return ExactModel(Model(p)).MeanLogLikelihood(data);
}

inline Trainer::Setup LearningSetup(const SamplerOptions& sampler) {
  Trainer::Setup setup;
  setup.model.hidden = 4;
  setup.sampler = sampler;
  setup.train.batch_size = 200;
  setup.train.epochs = 1500;
  setup.train.learning_rate = 0.1;
  setup.train.hidden = HiddenKind::kProbability;
  setup.train.burn_in = sampler.steps / 2;
  setup.seed = 3;
  setup.visible = 3;
  setup.rows = 200;
  return setup;
}

inline double Train(const Trainer::Setup& setup, const Matrix& data) {
  ThreadPool pool(1);
  Trainer trainer(
      setup, [&](std::uint64_t, MutableMatrix out) { CopyRows(data, out); }, pool);
  while (!trainer.done()) trainer.Update();
  return ExactModel(trainer.model()).MeanLogLikelihood(data);
}

}  // namespace grbm::testing
