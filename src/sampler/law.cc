// What a sampler's chains are worth: their law, and which settings make them fail.
#include "grbm/sampler/law.h"

#include <fmt/core.h>

#include "grbm/core/error.h"
#include "grbm/sampler/sampler.h"
#include "grbm/sampler/transition.h"
#include "sampler/schedule.h"

namespace grbm {

Law LawOf(const SamplerOptions& options) { return FindSampler(options.method).law(options); }

VisibleLaw VisibleLawOf(const Model& model, const SamplerOptions& options) {
  const Law law = LawOf(options);
  if (law.kind == Law::Kind::kMarginal) return {model, law.temperature};
  const double temperature = law.kind == Law::Kind::kNone ? options.temperature : law.temperature;
  return {temperature == 1 ? model : model.Tempered(temperature)};
}

std::string LawText(const SamplerOptions& options) {
  const char* const energy = LawOf(options).kind == Law::Kind::kMarginal ? "Ẽ" : "E";
  return options.temperature == 1 ? fmt::format("exp(-{})", energy)
                                  : fmt::format("exp(-{}/{})", energy, options.temperature);
}

Stability CheckStability(const Model& model, const SamplerOptions& options) {
  Stability stability;
  if (!FindSampler(options.method).has_step_size) return stability;
  for (Index i = 0; i < model.gaussian_units(); ++i) {
    const double ratio = StepRatio(model, options, static_cast<std::size_t>(i));
    if (ratio >= 2) ++stability.unstable;
    if (ratio > stability.ratio) {
      stability.ratio = ratio;
      stability.worst = i;
    }
  }
  return stability;
}

void RequireStable(const Model& model, const SamplerOptions& options) {
  const Stability stability = CheckStability(model, options);
  if (stability.unstable == 0) return;
  throw ConfigError(
      fmt::format("sampler: step_size = {}: a step diverges for {} of {} visible units, worst unit {} whose step is "
                  "{:.3g} of its variance; allowed is below 2: set step_size below {:.3g}, or step_scale = \"unit\"",
                  options.step_size, stability.unstable, model.gaussian_units(), stability.worst, stability.ratio,
                  2 * options.step_size / stability.ratio));
}

void RequireMeans(const SamplerOptions& options, bool of_probabilities) {
  const bool steps = FindSampler(options.method).has_step_size;
  const char* const wanted = !of_probabilities                                 ? "train.hidden = \"probability\""
                             : options.adjust != Adjust::kNone                 ? "sampler.adjust = \"none\""
                             : steps && options.step_scale != StepScale::kUnit ? "sampler.step_scale = \"unit\""
                                                                               : nullptr;
  if (wanted == nullptr) return;
  throw ConfigError(fmt::format(
      "train: visible = \"mean\": the mean of a step is known with {}: set it, or visible = \"sample\"", wanted));
}

}  // namespace grbm
