#include "grbm/evaluate/samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "grbm/data/permutation.h"
#include "grbm/model/conditions.h"
#include "grbm/model/labels.h"

namespace grbm {

namespace {

// Moves a progress bar.
class Bar : public Observer {
 public:
  Bar(std::int64_t steps, const EvaluationProgress& progress) : steps_(steps), progress_(progress) {}
  void OnStep(const ChainState& state) override {
    if (progress_) progress_("samples", state.step, steps_);
  }

 private:
  std::int64_t steps_;
  const EvaluationProgress& progress_;
};

}  // namespace

std::vector<Index> SomeRows(const Dataset& data, Index limit, std::uint64_t seed) {
  const Permutation order(Stream(EvaluationSeed(seed, EvaluationStream::kSubset), Purpose::kSubset), 0,
                          static_cast<std::uint64_t>(data.rows()));
  std::vector<Index> rows;
  for (Index r = 0; r < std::min(limit, data.rows()); ++r) {
    rows.push_back(static_cast<Index>(order(static_cast<std::uint64_t>(r))));
  }
  return rows;
}

Matrix ReadSome(const Dataset& data, Index limit, std::uint64_t seed) {
  const std::vector<Index> rows = SomeRows(data, limit, seed);
  Matrix out(static_cast<Index>(rows.size()), data.visible());
  data.Read(rows, out);
  return out;
}

Final ShownFinal(const ModelFile& file, const SamplerOptions& options) {
  if (options.final != Final::kAuto) return options.final;
  return file.image_shape.known() ? Final::kMean : Final::kSample;
}

void CheckFinite(const ModelFile& file, ConstMatrix rows, std::string_view what) {
  for (Index r = 0; r < rows.rows(); ++r) {
    const auto bad = std::ranges::find_if(rows.row(r), [](float x) { return !std::isfinite(x); });
    if (bad == rows.row(r).end()) continue;
    const Stability stability = CheckStability(file.model, file.generation());
    throw NumericError(fmt::format(
        "{}: row {}, unit {} (counted from 0) is {}: {}", what, r, bad - rows.row(r).begin(), *bad,
        stability.unstable > 0
            ? fmt::format("the step of sampler.step_size = {} diverges for {} units: set sampler.step_scale=unit",
                          file.generation().step_size, stability.unstable)
            : "the model, its standardisation or the data are in absurd units: see 'grbm info'"));
  }
}

Matrix InOwnUnits(const ModelFile& file, Matrix states) {
  if (file.model.label_units() > 0) states = WithoutLabels(file.model, states);
  file.standardization.Invert(states);
  return states;
}

Matrix ShowState(const ModelFile& file, const SamplerOptions& options, const ChainState& state, ThreadPool& pool) {
  Matrix shown;
  if (ShownFinal(file, options) == Final::kMean && (state.hidden.rows() > 0 || options.final_steps > 0)) {
    shown = FinalMean(file.model, state.visible, state.hidden, options, pool);
  } else {
    shown = Matrix(state.visible.rows(), state.visible.cols());
    CopyRows(state.visible, shown);
  }
  return InOwnUnits(file, std::move(shown));
}

SamplerOptions ShownSampler(const ModelFile& file) {
  SamplerOptions options = file.generation();
  options.final = ShownFinal(file, options);
  return options;
}

SamplerOptions JudgedSampler(const ModelFile& file) {
  SamplerOptions options = ShownSampler(file);
  if (!file.image_shape.known()) options.final = Final::kSample;
  return options;
}

void ClipToData(const ModelFile& file, MutableMatrix rows) {
  if (!file.is_pixels()) return;
  for (Index r = 0; r < rows.rows(); ++r) {
    for (float& x : rows.row(r)) x = std::clamp(x, 0.0f, 255.0f);
  }
}

namespace {

Matrix Draw(const ModelFile& file, const SamplerOptions& options, Index count, std::uint64_t seed, ThreadPool& pool,
            const EvaluationProgress& progress, std::uint32_t first) {
  Chains chains = NoiseChains(file.model, count, seed, pool, first);
  Bar bar(options.steps, progress);
  Sampler(file.model, options, pool, OnUnstable::kAllow).Run(chains, {.seed = seed}, &bar);
  Matrix samples = InOwnUnits(file, FinalVisible(file.model, chains, options, pool));
  ClipToData(file, samples);
  return samples;
}

}  // namespace

void DrawGiven(const ModelFile& file, const SamplerOptions& options, Matrix conditions, Index frames,
               std::uint64_t seed, std::uint32_t first, ThreadPool& pool,
               const std::function<void(Index, Matrix)>& visit) {
  const Model units = WithConditionUnits(file.model);
  const auto visible = ToSize(file.model.visible());
  for (Index f = 0; f < frames; ++f) {
    const auto frame = static_cast<std::uint64_t>(f);
    Chains chains = NoiseChains(units, conditions, seed, pool, first, frame);
    Sampler(units, options, pool, OnUnstable::kAllow)
        .Run(chains, {.seed = seed, .first_step = frame * static_cast<std::uint64_t>(options.steps)});
    Matrix states = FinalVisible(units, chains, options, pool);
    AddShift(file.model, states, pool);
    Matrix rows = WithoutConditions(file.model, states);
    if (!file.standardization.margin.empty()) {  // what is shown becomes history, and 0 lies lower than it is shown
      file.standardization.Invert(rows);
      file.standardization.Apply(rows);
    }
    for (Index r = 0; r < rows.rows() && file.history > 0; ++r) {
      const std::span<float> u = conditions.row(r);
      std::ranges::copy(u.subspan(visible), u.begin());
      std::ranges::copy(rows.row(r), u.last(visible).begin());
    }
    visit(f, std::move(rows));
  }
}

Matrix DrawSamples(const ModelFile& file, Index count, std::uint64_t seed, ThreadPool& pool,
                   const EvaluationProgress& progress, std::uint32_t first) {
  return Draw(file, JudgedSampler(file), count, seed, pool, progress, first);
}

Matrix DrawShown(const ModelFile& file, Index count, std::uint64_t seed, ThreadPool& pool,
                 const EvaluationProgress& progress) {
  return Draw(file, ShownSampler(file), count, seed, pool, progress, 0);
}

std::optional<Dataset> LoadHeldOut(const DataOptions& options, ThreadPool& pool) {
  DataOptions other = options;
  if (!options.held_out.empty() && options.split == "train") {
    other.split = "test";
    other.subset = 0;
  } else if ((options.source == "mnist" || options.source == "fashion-mnist") && options.split == "train") {
    other.split = "test";
    other.subset = 0;
  } else if (options.source == "gmm-iso" || options.source == "gmm-aniso" || options.source == "strokes") {
    other.subset_seed = options.subset_seed + 1'000'000;
  } else {
    return std::nullopt;
  }
  return LoadDataset(other, pool);
}

}  // namespace grbm
