#include <fmt/core.h>

#include <cmath>

#include "evaluate/metrics.h"
#include "grbm/evaluate/mixture.h"

namespace grbm {

namespace {

std::vector<Score> Measure(Evaluation& evaluation) {
  const ModelFile& file = evaluation.file();
  const Mixture mixture = *FindMixture(evaluation.request().data.source());
  const Quadrature law(evaluation.law());
  const LogDensity2 log_density = DensityInOwnUnits(law, file.standardization);
  const std::string note =
      "nats, by quadrature" + (file.sampler.temperature == 1 ? "" : fmt::format(", of {}", LawText(file.sampler)));
  std::vector<Score> scores = {
      {"kl_data_model", {KlDivergence(mixture, log_density), 0}, note},
      {"kl_data_gaussian", {KlOfFittedGaussian(mixture), 0}, "the same of a single Gaussian"},
      {"kl_model_data", {KlFromLaw(law, file.standardization, mixture), 0}, note},
      {"kl_gaussian_data", {KlFromFittedGaussian(mixture), 0}, "the same of a single Gaussian"}};
  const auto of_data = [&](std::size_t c) {
    return fmt::format("within 3 deviations; of the data {:.3f}", mixture.components[c].weight * (1 - std::exp(-4.5)));
  };
  const std::vector<double> masses = ModeMasses(mixture, log_density);
  for (std::size_t c = 0; c < masses.size(); ++c) {
    scores.push_back({fmt::format("mass_mode_{}", c + 1), {masses[c], 0}, "of the density, " + of_data(c)});
  }
  const std::vector<Estimate> shares = ModeShares(mixture, evaluation.samples());
  for (std::size_t c = 0; c < shares.size(); ++c) {
    scores.push_back({fmt::format("share_mode_{}", c + 1), shares[c], "of the samples, " + of_data(c)});
  }
  return scores;
}

}  // namespace

const Metric kMixtureMetric = {
    "mixture", "KL divergences both ways, masses of the modes and shares of samples in them, for models of the plane",
    [](const Evaluation& evaluation) -> std::string {
      const EvaluationRequest& r = evaluation.request();
      if (!FindMixture(r.data.source())) return "the data must be gmm-iso or gmm-aniso";
      if (!evaluation.file().standardization.margin.empty()) return "the model has a margin";
      return r.samples < 2 ? "at least two samples are needed" : WhyNotOfRows(evaluation);
    },
    Measure};

}  // namespace grbm
