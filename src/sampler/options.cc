#include "grbm/sampler/options.h"

#include <fmt/core.h>

#include "grbm/core/error.h"
#include "sampler/table.h"

namespace grbm {

std::vector<Field> SamplerOptions::Fields() {
  const Range count = {.min = 1, .max = 1e9};
  return {
      {"method", MakeChoice(method, SamplerNames()), "how a chain moves"},
      {"steps", &steps, "steps of a chain; the contrastive-divergence steps when training", count},
      {"langevin_steps",
       &langevin_steps,
       "gibbs-langevin: inner Langevin steps K within one step (they cost one draw, whatever K is)",
       {.min = 1, .max = 1e5},
       "20"},
      {"step_size",
       &step_size,
       "langevin, gibbs-langevin: step size in units of the variance that step_scale names",
       {.min = 0, .min_open = true}},
      {"step_scale", MakeChoice(step_scale, {"mean", "unit"}),
       "what the step size is measured in: the mean variance of all units, or each unit's own"},
      {"temperature",
       &temperature,
       "temperature of the chain; 1 samples the model itself. Training follows the likelihood at this temperature, "
       "but for samplers without adjustment (docs/math.md (31))",
       {.min = 0, .min_open = true}},
      {"proposal_temperature",
       &proposal_temperature,
       "langevin, gibbs-langevin with adjustment: the temperature of the noise in proposals, which are accepted or "
       "rejected as the temperature says; 0: the same",
       {.min = 0}},
      {"anneal", &anneal,
       "cosine decay of the step size: over the chain (langevin), over the inner steps "
       "(gibbs-langevin)"},
      {"adjust", MakeChoice(adjust, {"none", "metropolis", "conditional"}),
       "accept or reject each move: of visible and hidden units together (metropolis), or of the "
       "visible units given the hidden ones (conditional; gibbs-langevin only)"},
      {"adjust_after",
       &adjust_after,
       "steps at the start of a chain that are never rejected",
       {.min = 0, .max = 1e9},
       "5"},
      {"refresh",
       &refresh,
       "partial-gibbs: 1 - rho, the share of the visible units' state that a step renews; 1 is "
       "Gibbs, "
       "above 1 over-relaxes",
       {.min = 0, .max = 2, .min_open = true, .max_open = true},
       "0.2"},
      {"final", MakeChoice(final, {"auto", "mean", "sample"}),
       "what to show of the last state: the mean of the visible units given the hidden ones, which takes the noise out "
       "of images, or the sample; auto: the mean of images, the sample of other data"},
      {"final_steps",
       &final_steps,
       "where the mean is shown: steps without noise before that, v to mu + W p(h | v); 0: the mean given h as it is",
       {.min = 0, .max = 1e6}},
  };
}

std::vector<Field> GenerateOptions::Fields() {
  return {
      {"steps", &steps, "steps of a chain that draws samples; 0: as in training", {.min = 0, .max = 1e9}},
      {"step_size", &step_size, "its step size; 0: as in training", {.min = 0}},
      {"temperature",
       &temperature,
       "its temperature; likelihoods and densities stay those of the training's; 0: as in training",
       {.min = 0}},
      {"proposal_temperature", &proposal_temperature, "that of its proposals; 0: as in training", {.min = 0}, "1.5"},
      {"final", MakeChoice(final, {"auto", "mean", "sample"}),
       "what to show of its last state: see sampler.final; auto: as there"},
      {"keep_labels", &keep_labels,
       "of a model with labels: a chain keeps the class that it starts with, so that each class is as likely as the "
       "others; otherwise it is drawn with the rest at each step"},
  };
}

SamplerOptions GenerateOptions::Apply(SamplerOptions training) const {
  if (steps > 0) training.steps = steps;
  if (step_size > 0) training.step_size = step_size;
  if (temperature > 0) training.temperature = temperature;
  if (proposal_temperature > 0) training.proposal_temperature = proposal_temperature;
  if (final != Final::kAuto) training.final = final;
  training.keep_labels = keep_labels;
  return training;
}

void GenerateOptions::FollowTraining(std::string_view name) {
  GenerateOptions as_in_training;
  const std::vector<Field> fields = Fields();
  const std::vector<Field> plain = as_in_training.Fields();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].name == name) Assign(fields[f], Value(plain[f]), "generate");
  }
}

void CheckGeneration(const GenerateOptions& generate, const SamplerOptions& training) {
  GenerateOptions copy = generate;
  CheckFields(copy.Fields(), "generate");
  try {
    CheckOptions(generate.Apply(training));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("[generate]: {}", error.what()));
  }
}

void CheckKeptLabels(const GenerateOptions& generate, bool labels) {
  if (!generate.keep_labels || labels) return;
  throw ConfigError(
      "generate: keep_labels = true: the model has no labels: allowed is false, or train one with model.labels=true");
}

void CheckOptions(const SamplerOptions& options) {
  SamplerOptions copy = options;
  CheckFields(copy.Fields(), "sampler");
  const SamplerKind& kind = FindSampler(options.method);
  // At least one unit has no more than the mean variance: a step of 2 variances diverges in every model. [math.md (26)]
  if (kind.has_step_size && options.step_size >= 2) {
    throw ConfigError(fmt::format("sampler: step_size = {}: a step of {:.3g} variances diverges; allowed is below 2",
                                  options.step_size, options.step_size));
  }
  if (options.adjust != Adjust::kNone && !kind.metropolis && !kind.conditional) {
    throw ConfigError(
        "sampler: adjust: this method is exact and has nothing to adjust; allowed is \"none\" with "
        "methods "
        "\"gibbs\" and \"partial-gibbs\"");
  }
  if (options.adjust == Adjust::kConditional && !kind.conditional) {
    throw ConfigError(
        fmt::format("sampler: adjust = \"conditional\": method \"{}\" {}; allowed are \"none\" and \"metropolis\"",
                    kind.name, kind.marginal ? "has no hidden state to condition on" : "does not offer it"));
  }
  if (options.adjust == Adjust::kMetropolis && !kind.metropolis) {
    throw ConfigError(fmt::format(
        "sampler: adjust = \"metropolis\": method \"{}\" does not offer it; allowed are \"none\" and \"conditional\"",
        kind.name));
  }
  if (options.proposal_temperature > 0 && options.adjust == Adjust::kNone) {
    throw ConfigError(fmt::format(
        "sampler: proposal_temperature = {}: {}; allowed is 0, with temperature for the moves",
        options.proposal_temperature,
        kind.has_step_size ? "without adjustment a move is no proposal, and has the chain's temperature"
                           : "methods \"gibbs\" and \"partial-gibbs\" draw from the law, and propose nothing"));
  }
}

}  // namespace grbm
