// Where chains begin, and what is shown of their end.
#include <algorithm>

#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
#include "grbm/sampler/sampler.h"
#include "kernels/kernels.h"

namespace grbm {

namespace {

Chains WithHidden(const Model& model, Matrix visible, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                  std::uint64_t step, double hidden_temperature) {
  const DrawPlace draw{Stream(seed, Purpose::kInitialHidden), step, first};
  BitMatrix hidden = SampleHidden(model, visible, draw, pool, hidden_temperature);
  return {first, std::move(visible), std::move(hidden)};
}

// v ~ N(0, 1), labels alike.
Matrix Noise(const Model& model, Index count, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
             std::uint64_t step) {
  Matrix noise(count, model.visible());
  const Stream stream(seed, Purpose::kInitialVisible);
  constexpr Index kLeastDraws = 1 << 12;  // that are worth a thread
  pool.ParallelForRanges(count, kLeastDraws / model.visible(), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) kernels::DrawNormals({stream, step, first}, r, noise.row(r));
  });
  const Stream label(seed, Purpose::kInitialLabel);
  for (Index r = 0; r < count && model.label_units() > 0; ++r) {
    const double uniform = label.UniformDouble(step, first + static_cast<std::uint32_t>(r));
    SetLabel(model, noise.row(r), UniformLabel(model, uniform));
  }
  return noise;
}

}  // namespace

Chains ChainsFrom(const Model& model, ConstMatrix visible, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                  std::uint64_t step, double hidden_temperature) {
  Matrix copy(visible.rows(), visible.cols());
  CopyRows(visible, copy);
  return WithHidden(model, std::move(copy), seed, pool, first, step, hidden_temperature);
}

Chains NoiseChains(const Model& model, Index count, std::uint64_t seed, ThreadPool& pool, std::uint32_t first,
                   std::uint64_t step, double hidden_temperature) {
  return WithHidden(model, Noise(model, count, seed, pool, first, step), seed, pool, first, step, hidden_temperature);
}

Chains NoiseChains(const Model& model, ConstMatrix conditions, std::uint64_t seed, ThreadPool& pool,
                   std::uint32_t first, std::uint64_t step, double hidden_temperature) {
  GRBM_CHECK(conditions.cols() == model.condition_units());
  Matrix states = Noise(model, conditions.rows(), seed, pool, first, step);
  for (Index r = 0; r < states.rows(); ++r) {
    std::ranges::copy(conditions.row(r), states.row(r).last(conditions.row(r).size()).begin());
  }
  return WithHidden(model, std::move(states), seed, pool, first, step, hidden_temperature);
}

Matrix FinalMean(const Model& model, ConstMatrix visible, ConstBitView hidden, const SamplerOptions& options,
                 ThreadPool& pool, const std::function<void(Matrix&)>& after_step) {
  const auto others = static_cast<std::size_t>(model.visible() - model.gaussian_units());
  const auto with_others = [&](Matrix mean) {
    for (Index r = 0; r < mean.rows() && others > 0; ++r) {
      std::ranges::copy(visible.row(r).last(others), mean.row(r).last(others).begin());
    }
    return mean;
  };
  if (options.final_steps == 0) return with_others(VisibleMean(model, hidden, pool));
  const double temperature = LawOf(options).hidden_temperature();
  Matrix v(visible.rows(), visible.cols());
  CopyRows(visible, v);
  for (std::int64_t t = 0; t < options.final_steps; ++t) {
    v = with_others(VisibleMean(model, HiddenProbabilities(model, v, pool, temperature), pool));
    if (after_step) after_step(v);
  }
  return v;
}

Matrix FinalVisible(const Model& model, const Chains& chains, const SamplerOptions& options, ThreadPool& pool) {
  return options.final == Final::kMean ? FinalMean(model, chains.visible, chains.hidden, options, pool)
                                       : chains.visible;
}

}  // namespace grbm
