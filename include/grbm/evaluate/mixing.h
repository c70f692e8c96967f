// How fast the chains of a model's sampler forget where they began.
#pragma once

#include <cstdint>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/evaluate/quick.h"
#include "grbm/sampler/diagnostics.h"
#include "grbm/store/model_file.h"

namespace grbm {

struct MixingOptions {
  Index chains = 32;          // half from noise, half from data
  std::int64_t steps = 1000;  // of each; the first half is left out
  std::uint64_t seed = 1;
};

struct Mixing {
  Diagnostics energy;    // of the marginal energy, all chains together
  Diagnostics activity;  // of the share of hidden units that are on
  double acceptance = 1;
  BasicMatrix<double> energies;  // chains × steps after the first half; even chains are those from data
};
// data: rows in the model's units; chains start from rows spread over them.
Mixing MeasureMixing(const ModelFile& file, ConstMatrix data, const MixingOptions& options, ThreadPool& pool,
                     const EvaluationProgress& progress = {});

// The quick distance of samples from noise, by the number of steps.
struct StepsCurve {
  struct Point {
    std::int64_t steps;
    Estimate distance;
  };
  std::vector<Point> points;
  // The first number of steps whose distance is within two standard errors of the smallest.
  std::int64_t enough = 0;
};
// At 1, 2, 5, 10, ... steps, up to max_steps. `features` are those of as many rows of data as there are chains.
StepsCurve MeasureSteps(const ModelFile& file, const QuickFeatures& quick, ConstMatrix features, std::int64_t max_steps,
                        std::uint64_t seed, ThreadPool& pool, const EvaluationProgress& progress = {});

}  // namespace grbm
