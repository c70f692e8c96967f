// Every public header compiles on its own terms, and the library draws.
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

#include <cmath>
#include <cstdio>

int main() {
  const grbm::Model model = grbm::Model::Initial(2, 5, 1);
  grbm::ThreadPool pool;
  grbm::Chains chains = grbm::NoiseChains(model, 10, 1, pool);
  grbm::Sampler(model, grbm::SamplerOptions(), pool).Run(chains, {.seed = 1});
  const double difference = grbm::ExactModel(model).log_partition() - grbm::Quadrature(model).log_partition();
  std::printf("grbm %s: log Z two ways differs by %.1e\n", grbm::Version().c_str(), difference);
  return std::abs(difference) < 1e-10 ? 0 : 1;
}
