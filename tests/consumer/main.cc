// Every public header compiles on its own terms, the library draws, and a sampler of this program draws and trains with it.
#include <grbm/core/options.h>
#include <grbm/core/version.h>
#include <grbm/model/backend.h>
#include <grbm/model/energy.h>
#include <grbm/model/exact.h>
#include <grbm/model/gradient.h>
#include <grbm/model/quadrature.h>
#include <grbm/sampler/diagnostics.h>
#include <grbm/sampler/sampler.h>
#include <grbm/store/model_file.h>
#include <grbm/train/trainer.h>

#include <cmath>
#include <cstdio>

#include "alternating.h"

namespace {

// Whether chains of an added sampler, which is found by its name, have the mean of v that the model has, and a trainer runs
// with it. 20,000 chains: 5 standard errors, wrong once in a million.
bool DrawsAndTrains(const grbm::Model& model, grbm::ThreadPool& pool) {
  grbm::SamplerOptions options;
  for (const grbm::Field& field : options.Fields()) {
    if (field.name == "method") grbm::AssignText(field, "alternating", "main");
  }
  options.steps = 50;
  grbm::Chains chains = grbm::NoiseChains(model, 20000, 2, pool);
  grbm::Sampler(model, options, pool).Run(chains, {.seed = 2});
  double mean = 0;
  for (grbm::Index r = 0; r < chains.count(); ++r) mean += double{chains.visible(r, 0)} / 20000;
  const grbm::ExactMoments exact = grbm::ExactModel(model).Moments();
  const double variance = exact.vv(0, 0) - exact.v[0] * exact.v[0];
  const bool draws = std::abs(mean - exact.v[0]) < 5 * std::sqrt(variance / 20000);

  grbm::Trainer::Setup setup;
  setup.model.hidden = 5;
  setup.sampler = options;
  setup.train.batch_size = 10;
  setup.visible = 2;
  setup.rows = 10;
  grbm::Trainer trainer(
      setup, [](std::uint64_t, grbm::MutableMatrix) {}, pool);
  return draws && trainer.Update().batch.acceptance == 1;
}

}  // namespace

int main() {
  grbm::AddSampler(AlternatingKind());
  const grbm::Model model = grbm::Model::Initial(2, 5, 1);
  grbm::ThreadPool pool;
  grbm::Chains chains = grbm::NoiseChains(model, 10, 1, pool);
  grbm::Sampler(model, grbm::SamplerOptions(), pool).Run(chains, {.seed = 1});
  const double difference = grbm::ExactModel(model).log_partition() - grbm::Quadrature(model).log_partition();
  std::printf("grbm %s: log Z two ways differs by %.1e\n", grbm::Version().c_str(), difference);
  return std::abs(difference) < 1e-10 && DrawsAndTrains(model, pool) ? 0 : 1;
}
