// How a model is trained. The names and meanings are those of the sections [model], [train] and [checkpoint].
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grbm/core/options.h"
#include "grbm/model/model.h"

namespace grbm {

struct ModelOptions {
  std::int64_t hidden = 256;
  double initial_variance = 1.0;
  double variance_floor = Model::kDefaultVarianceFloor;
  bool labels = false;

  std::vector<Field> Fields();
  bool operator==(const ModelOptions&) const = default;
};

enum class Algorithm { kNoiseCd, kCd, kPcd };
enum class Schedule { kConstant, kCosine };
enum class OptimizerKind { kSgd, kAdam };
enum class HiddenKind { kSample, kProbability };
enum class VisibleKind { kSample, kMean };
enum class UnitScale { kSame, kData };
enum class GapStart { kLast, kNoise };
enum class StopOn { kReconstruction, kPseudo, kLabels };

// A number for each parameter, in the order of Parameters::Tensors().
using ByParameter = std::array<double, Parameters::kCount>;
constexpr ByParameter SameForAll(double value) {
  ByParameter values{};
  values.fill(value);
  return values;
}

struct TrainOptions {
  Algorithm algorithm = Algorithm::kNoiseCd;
  std::int64_t batch_size = 100;
  double epochs = 10;
  double learning_rate = 0.01;
  Schedule learning_rate_schedule = Schedule::kCosine;
  double clip_norm = 10;
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double momentum = 0;
  double adam_beta2 = 0.999;
  double weight_decay = 0;
  double average = 0;
  ByParameter rate = SameForAll(1);  // times learning_rate
  ByParameter decay = {1};           // times weight_decay: W alone
  ByParameter clip = SameForAll(0);  // as clip_norm, of one parameter
  double discriminative = 0;
  bool keep_labels = false;
  std::int64_t burn_in = 0;
  double start_temperature = 1;
  HiddenKind hidden = HiddenKind::kSample;
  VisibleKind visible = VisibleKind::kSample;
  bool centred = false;
  UnitScale unit_scale = UnitScale::kSame;
  Schedule step_size_schedule = Schedule::kConstant;
  double adjust_warmup_epochs = 0;
  double restart_fraction = 0.05;
  double far_starts = 0;
  std::int64_t gap_steps = 10;
  GapStart gap_start = GapStart::kLast;
  double stop_after = 0;
  StopOn stop_on = StopOn::kReconstruction;
  std::int64_t log_every = 0;

  std::vector<Field> Fields();
  bool operator==(const TrainOptions&) const = default;
};

struct CheckpointOptions {
  std::int64_t every_steps = 0;
  double every_seconds = 60;
  std::int64_t keep = 2;
  std::int64_t pictures = 16;

  std::vector<Field> Fields();
  bool operator==(const CheckpointOptions&) const = default;
};

}  // namespace grbm
