// What can be drawn and measured of a run's model, as the page reads it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "dashboard/run_view.h"
#include "grbm/core/options.h"
#include "grbm/core/parallel.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/store/model_file.h"

namespace grbm {

// Of chains whose samples are shown, so that nobody waits for them for ever: a sampler may have a thousand million.
inline constexpr std::int64_t kMaxShownSteps = 2000;

// {updates, visible, hidden, sampler, variances, filters, chain}: all that needs no data. Where the chain has fewer steps
// than the sampler, {chain_note} says so. What `progress` throws ends this and the others.
nlohmann::ordered_json DescribeModel(const ModelFile& file, std::uint64_t seed, ThreadPool& pool,
                                     const EvaluationProgress& progress = {});

// {mixing, quick}, from the data of the model's run; {note} where these cannot be had. The distance is that of
// `grbm evaluate`, as long as its sampler takes no more steps than are shown.
nlohmann::ordered_json MeasureModel(const ModelFile& file, std::uint64_t seed, ThreadPool& pool,
                                    const EvaluationProgress& progress = {});

// Samples that someone asks for while looking on.
struct FreshOptions {
  std::int64_t steps = 100;
  double temperature = 1;
  std::int64_t seed = 1;

  std::vector<Field> Fields();
};
// {image} or {points}, with {seconds}. Throws ConfigError for options out of range, and for rows that cannot be shown.
nlohmann::ordered_json DrawFresh(const ModelFile& file, const FreshOptions& options, ThreadPool& pool,
                                 const EvaluationProgress& progress = {});

}  // namespace grbm
