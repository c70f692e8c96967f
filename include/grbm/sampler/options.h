// How chains move. The names and meanings are those of the [sampler] section of a configuration.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grbm/core/options.h"

namespace grbm {

enum class Method { kGibbs, kLangevin, kGibbsLangevin, kPartialGibbs };
enum class StepScale { kMean, kUnit };
enum class Adjust { kNone, kMetropolis, kConditional };
enum class Final { kAuto, kMean, kSample };

struct SamplerOptions {
  Method method = Method::kGibbsLangevin;
  std::int64_t steps = 100;
  std::int64_t langevin_steps = 10;
  double step_size = 0.04;
  StepScale step_scale = StepScale::kMean;
  double temperature = 1.0;
  double proposal_temperature = 0;  // 0: the temperature
  bool anneal = true;
  Adjust adjust = Adjust::kNone;
  std::int64_t adjust_after = 0;
  double refresh = 0.5;
  Final final = Final::kAuto;
  std::int64_t final_steps = 0;
  bool keep_labels = false;  // no setting of its own: train.keep_labels, or generate.keep_labels

  // One declaration per field; refers to this object.
  std::vector<Field> Fields();

  // That of the noise in a move, where it is not drawn from a conditional.                         [math.md (53)]
  double move_temperature() const { return proposal_temperature > 0 ? proposal_temperature : temperature; }

  bool operator==(const SamplerOptions&) const = default;
};

// How samples are drawn from a trained model, where it is not as in training: 0, or "auto", is as there. The section
// [generate]. None of it changes the law that the model was trained to have, of which likelihoods and densities are.
struct GenerateOptions {
  std::int64_t steps = 0;
  double step_size = 0;
  double temperature = 0;
  double proposal_temperature = 0;
  Final final = Final::kAuto;
  bool keep_labels = false;

  std::vector<Field> Fields();
  // `training` with what is set here.
  SamplerOptions Apply(SamplerOptions training) const;
  // The setting of this name is as in training again; others have no part here.
  void FollowTraining(std::string_view name);

  bool operator==(const GenerateOptions&) const = default;
};

// Throws ConfigError for a value out of range, or for settings that contradict each other.
void CheckOptions(const SamplerOptions& options);
// The same of what is drawn by, opened by "[generate]".
void CheckGeneration(const GenerateOptions& generate, const SamplerOptions& training);
// Throws ConfigError where labels are to be kept and the model has none.
void CheckKeptLabels(const GenerateOptions& generate, bool labels);

}  // namespace grbm
