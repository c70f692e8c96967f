// What of a step of a chain is not products: random numbers and element-wise work. A step with all of it is timed in
// turns with its products alone, on constant v and h, with as many threads as there are cores:
//   share_pct   (step - products) / step, medians
//   library_ms  a step by Sampler with its statistics, for comparison: the same work as `Time`
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "arrays.h"
#include "grbm/model/gradient.h"
#include "grbm/sampler/sampler.h"
#include "model/packed.h"
#include "model/state_sums.h"

namespace grbm::bench {
namespace {

double Seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void Step(benchmark::State& state, const Shape& shape, Method method) {
  ThreadPool pool;
  const Model model = Model::Initial(shape.visible, shape.hidden, 1);
  const PackedWeights& weights = model.packed(pool);
  Arrays a(shape);
  StateSums sums(model, StateSums::Hidden::kState, StateSums::Visible::kState);
  // Gibbs forgets v, Gibbs-Langevin keeps a part of it.
  kernels::PanelRow keep(shape.visible, method == Method::kGibbs ? 0.0f : 0.8f);
  kernels::PanelRow noise(shape.visible, method == Method::kGibbs ? 1.0f : 0.6f);
  DrawPlace visible{Stream(1, Purpose::kVisible), 0, 0};
  DrawPlace hidden{Stream(1, Purpose::kHidden), 0, 0};

  const auto step = [&] {
    ++visible.step;
    ++hidden.step;
    ForTiles(shape.visible, kBatch, pool, [&](Index tile, kernels::Rows rows) {
      kernels::HiddenProduct(a.h, weights.transposed(), tile, rows, a.product);
      kernels::MoveVisible(visible, {weights.mu(), keep, noise}, a.v, a.product, tile, rows, a.v);
    });
    UpdateHidden(weights, a.v, {0, kBatch}, a.Bits(hidden), pool);
    sums.Add(a.v, std::as_const(a.h).view(), pool);
  };
  const auto products = [&] {
    ForTiles(shape.visible, kBatch, pool, [&](Index tile, kernels::Rows rows) {
      kernels::HiddenProduct(a.h, weights.transposed(), tile, rows, a.product);
    });
    UpdateHidden(weights, a.v, {0, kBatch}, {}, pool);
    pool.ParallelFor(kernels::PanelCount(shape.visible), [&](Index panel) {
      kernels::AccumulateOuter(a.h_transposed, a.v, panel, {0, shape.hidden}, a.sum);
    });
  };

  SamplerOptions options;
  options.method = method;
  options.steps = 2;
  Sampler sampler(model, options, pool);
  Chains chains = NoiseChains(model, kBatch, 1, pool);
  EnergyStatistics statistics(model);

  std::vector<double> whole, bare, library;
  for (auto _ : state) {
    whole.push_back(Seconds(step));
    bare.push_back(Seconds(products));
    library.push_back(Seconds([&] { sampler.Run(chains, {}, nullptr, &statistics); }) / 2);
    state.SetIterationTime(whole.back());
  }
  state.counters["products_ms"] = 1e3 * Median(bare);
  state.counters["library_ms"] = 1e3 * Median(library);
  state.counters["share_pct"] = 100 * (1 - Median(bare) / Median(whole));
}

const bool kRegistered = [] {
  for (const auto& [name, method] : {std::pair{"gibbs", Method::kGibbs}, {"gibbs-langevin", Method::kGibbsLangevin}}) {
    for (const Shape& shape : kShapes) {
      const std::string full =
          std::string("Step/") + name + "/" + std::to_string(shape.visible) + "x" + std::to_string(shape.hidden);
      benchmark::RegisterBenchmark(full.c_str(), Step, shape, method)->Unit(benchmark::kMillisecond)->UseManualTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace grbm::bench
