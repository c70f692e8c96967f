#include "grbm/evaluate/mixing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evaluate/common.h"
#include "evaluate/traces.h"
#include "grbm/evaluate/samples.h"
#include "grbm/sampler/sampler.h"

namespace grbm {

namespace {

// 1, 2, 5, 10, 20, 50, ...
bool IsMark(std::int64_t step) {
  while (step % 10 == 0) step /= 10;
  return step == 1 || step == 2 || step == 5;
}

class StepsObserver : public Observer {
 public:
  StepsObserver(const ModelFile& file, const SamplerOptions& options, const QuickFeatures& quick, ConstMatrix features,
                ThreadPool& pool, const EvaluationProgress& progress)
      : file_(file), options_(options), quick_(quick), features_(features), pool_(pool), progress_(progress) {}

  void OnStep(const ChainState& state) override {
    if (progress_) progress_("steps from noise", state.step, options_.steps);
    if (!IsMark(state.step)) return;
    Matrix shown = ShowState(file_, options_, state, pool_);
    ClipToData(file_, shown);
    points.push_back({state.step, QuickDistances(features_, quick_(shown, pool_)).frechet});
  }

  std::vector<StepsCurve::Point> points;

 private:
  const ModelFile& file_;
  const SamplerOptions& options_;
  const QuickFeatures& quick_;
  ConstMatrix features_;
  ThreadPool& pool_;
  const EvaluationProgress& progress_;
};

}  // namespace

Mixing MeasureMixing(const ModelFile& file, ConstMatrix data, const MixingOptions& options, ThreadPool& pool,
                     const EvaluationProgress& progress) {
  const std::uint64_t seed = EvaluationSeed(options.seed, EvaluationStream::kMixing);
  const Matrix start = NoiseAndData(file.model, data, options.chains, seed, pool);
  Chains chains = ChainsFrom(file.model, start, seed, pool);
  SamplerOptions sampler = file.generation();
  sampler.steps = options.steps;
  sampler.keep_labels = false;  // chains of one law each, of different classes, would never agree
  Traces traces(file.model, pool, options.chains, options.steps, options.steps / 2, "mixing", progress);
  const std::vector<double> accepted =
      Sampler(file.model, sampler, pool, OnUnstable::kAllow).Run(chains, {.seed = seed}, &traces);
  return {Diagnose(traces.energy()), Diagnose(traces.activity()),
          std::accumulate(accepted.begin(), accepted.end(), 0.0) / static_cast<double>(accepted.size()),
          traces.energy()};
}

StepsCurve MeasureSteps(const ModelFile& file, const QuickFeatures& quick, ConstMatrix features, std::int64_t max_steps,
                        std::uint64_t seed, ThreadPool& pool, const EvaluationProgress& progress) {
  const std::uint64_t part = EvaluationSeed(seed, EvaluationStream::kSteps);
  Chains chains = NoiseChains(file.model, features.rows(), part, pool);
  SamplerOptions sampler = JudgedSampler(file);
  sampler.steps = max_steps;
  StepsObserver observer(file, sampler, quick, features, pool, progress);
  Sampler(file.model, sampler, pool, OnUnstable::kAllow).Run(chains, {.seed = part}, &observer);
  StepsCurve curve{std::move(observer.points)};
  const auto& best = *std::ranges::min_element(curve.points, {}, [](const auto& p) { return p.distance.value; });
  for (const StepsCurve::Point& p : curve.points) {
    if (p.distance.value > best.distance.value + 2 * std::hypot(p.distance.error, best.distance.error)) continue;
    curve.enough = p.steps;
    break;
  }
  return curve;
}

}  // namespace grbm
