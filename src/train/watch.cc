#include "train/watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace grbm {

namespace {

// Data in the model's units have variances of about 1. Those of a unit given the hidden ones that are far below are of
// values that hardly vary, and the chains' noise then drives every hidden unit. (At temperature τ that noise is of τσ².)
constexpr double kLow = 1e-3;
constexpr double kHigh = 100;
// Chains' hidden units differ about as much as the data's where all is well.
constexpr double kAlike = 0.3;
// How much further it must go for another word.
constexpr double kDegree = 30;

constexpr double kShareOfOne = 0.02;  // of one update in the running mean

}  // namespace

Watch::Watch(const ModelOptions& model, const SamplerOptions& sampler)
    : low_(kLow * model.initial_variance / std::max(1.0, sampler.temperature)),
      high_(kHigh * model.initial_variance),
      alike_(kAlike) {}

std::vector<std::string> Watch::See(const UpdateMetrics& metrics) {
  std::vector<std::string> words;
  const auto say = [&](const std::string& text) {
    words.push_back(fmt::format("update {}: {}", metrics.update, text));
  };

  if (metrics.batch.unstable_units > 2 * unstable_) {
    unstable_ = metrics.batch.unstable_units;
    say(
        fmt::format("the step overshoots for {} visible units whose variance is far below the mean; "
                    "sampler.step_scale = \"unit\" fits every unit",
                    unstable_));
  }
  if (const double least = std::exp(metrics.min_log_var); least < low_) {
    say(fmt::format(
        "the variance of a visible unit has fallen to {:.2g}: where values hardly vary it falls without end, "
        "and samples become alike; a larger model.variance_floor holds it, 1 for images",
        least));
    low_ = least / kDegree;
  }
  if (const double most = std::exp(metrics.max_log_var); most > high_) {
    say(
        fmt::format("the variance of a visible unit has grown to {:.2g}: it runs away; lower train.learning_rate, or "
                    "set train.clip_norm",
                    most));
    high_ = most * kDegree;
  }
  variety_ += kShareOfOne * (std::min(1.0, metrics.batch.variety) - variety_);
  if (variety_ < alike_) {
    say(
        fmt::format("samples become alike: the chains' hidden units differ {:.0f} % as much as the data's; lower "
                    "train.learning_rate, or raise model.variance_floor, and start again from an earlier state",
                    100 * variety_));
    alike_ /= 3;
  }
  return words;
}

}  // namespace grbm
