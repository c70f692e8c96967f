// What the presets of the mixtures learn with each adjusted sampler, judged by quadrature against the true density.
#include <gtest/gtest.h>

#include "grbm/evaluate/mixture.h"
#include "grbm/sampler/sampler.h"
#include "grbm/store/model_file.h"
#include "grbm/train/presets.h"
#include "grbm/train/run.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

struct Experiment {
  const char* preset;
  const char* sampler;
  double epochs;  // fewer than the preset's
  std::vector<const char*> settings;
};

void PrintTo(const Experiment& e, std::ostream* out) { *out << e.preset << ' ' << e.sampler; }

// With the joint rule fewer moves are accepted, and gmm-aniso takes longer.
std::vector<Experiment> Experiments() {
  const std::vector<const char*> metropolis = {"sampler.adjust=metropolis", "sampler.step_size=0.1"};
  const std::vector<const char*> langevin = {"sampler.method=langevin", "sampler.adjust=metropolis",
                                             "sampler.anneal=false"};
  return {{"gmm-iso", "conditional", 200, {}},          {"gmm-iso", "metropolis", 200, metropolis},
          {"gmm-iso", "langevin", 200, langevin},       {"gmm-aniso", "conditional", 600, {}},
          {"gmm-aniso", "metropolis", 800, metropolis}, {"gmm-aniso", "langevin", 600, langevin}};
}

class Mixtures : public testing::TemporaryFolder, public ::testing::WithParamInterface<Experiment> {
 protected:
  ModelFile Train() const {
    RunRequest request{.config = LoadPreset(GetParam().preset), .folder = Path("run")};
    for (const char* setting : GetParam().settings) SetOption(request.config, setting);
    request.config.train.epochs = GetParam().epochs;
    ThreadPool pool(1);
    RunObserver silent;
    EXPECT_TRUE(TrainRun(request, pool, silent));
    return ReadModel(Path("run/model.safetensors"));
  }
};

INSTANTIATE_TEST_SUITE_P(Adjusted, Mixtures, ::testing::ValuesIn(Experiments()), [](const auto& test) {
  const std::string preset = test.param.preset;
  return preset.substr(preset.find('-') + 1) + "_" + test.param.sampler;
});

// A single Gaussian has a divergence of 1.9 (gmm-iso) and 2.4 (gmm-aniso). With the seeds 1 to 4 these runs end between
// 0.06 and 0.11, and 0.22 and 0.27. Points from noise show the modes' basins, not their weights: with the same seeds a
// mode has at least 0.22 of them, and 0.08, as for gmm-aniso noise starts nearer to the third mode than to the others.
TEST_P(Mixtures, AllModesAreLearned) {
  const ModelFile file = Train();
  const bool iso = GetParam().preset == std::string("gmm-iso");
  const Mixture mixture = iso ? IsotropicMixture() : AnisotropicMixture();
  const Quadrature law(file.model);
  const double kl = KlDivergence(mixture, DensityInOwnUnits(law, file.standardization));
  RecordProperty("kl", std::to_string(kl));
  EXPECT_LE(kl, 0.3);

  ThreadPool pool(1);
  Chains chains = NoiseChains(file.model, 2000, 1, pool);
  Sampler(file.model, file.generation(), pool).Run(chains, {.seed = 1});
  file.standardization.Invert(chains.visible);
  double all = 0;
  for (const Estimate& share : ModeShares(mixture, chains.visible)) {
    EXPECT_GE(share.value, iso ? 0.15 : 0.05);
    all += share.value;
  }
  EXPECT_GE(all, 0.7);
}

}  // namespace
}  // namespace grbm
