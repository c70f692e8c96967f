// Each kernel on one thread, at two sizes and on every CPU target of the machine. FLOPS of a product count its
// multiplications and additions as if it were dense, so a product by tables may pass the machine's peak.
#include <benchmark/benchmark.h>

#include "kernels/targets.h"
// After it:
#include <hwy/targets.h>

#include <functional>
#include <string>

#include "arrays.h"
#include "philox_bench.h"

namespace grbm::bench {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace): all that is timed comes from there

// What one call works through: counted as a rate.
struct Amount {
  const char* unit;
  double count;
};

void ForGroups(const Arrays& a, const std::function<void(Index)>& body) {
  for (Index g = 0; g < GroupCount(a.hidden); ++g) body(g);
}
void ForTiles(const Arrays& a, const std::function<void(Index)>& body) {
  for (Index t = 0; t < GroupCount(a.visible); ++t) body(t);
}
void ForPanels(Index cols, const std::function<void(Index)>& body) {
  for (Index p = 0; p < PanelCount(cols); ++p) body(p);
}

const DrawPlace kDraw{Stream(1, Purpose::kEvaluate), 0, 0};

struct Kernel {
  const char* name;
  std::function<void(Arrays&)> run;
  std::function<Amount(const Arrays&)> amount;
};

Amount Flops(const Arrays& a) { return {"FLOPS", a.products()}; }
Amount Visible(const Arrays& a) { return {"units", static_cast<double>(kBatch * a.visible)}; }
Amount Hiddens(const Arrays& a) { return {"units", static_cast<double>(kBatch * a.hidden)}; }
std::function<Amount(const Arrays&)> Bytes(int visible_arrays, int hidden_arrays) {
  return [=](const Arrays& a) {
    return Amount{"B", 4.0 * static_cast<double>(kBatch * (visible_arrays * a.visible + hidden_arrays * a.hidden))};
  };
}

std::vector<Kernel> Kernels() {
  const auto hidden = [](Arrays& a, const HiddenResult& result) {
    ForGroups(a, [&](Index g) { Hidden(a.v, a.W, a.b, g, a.rows, result); });
  };
  const auto sums = [](Arrays& a) {
    std::vector<VisibleSums> out(static_cast<std::size_t>(kBatch));
    const std::vector<double> weights(static_cast<std::size_t>(PanelCount(a.visible) * kPanel), 1.0);
    ForTiles(a, [&](Index t) {
      AddVisibleSums({a.v, a.product, a.moved, a.product}, {a.zero, a.zero, a.zero, weights}, t, a.rows, out.data());
    });
    benchmark::DoNotOptimize(out.data());
  };
  return {
      {"Hidden/product", [=](Arrays& a) { hidden(a, HiddenResult()); }, Flops},
      {"Hidden/bits", [=](Arrays& a) { hidden(a, a.Bits(kDraw)); }, Flops},
      {"Hidden/probabilities", [=](Arrays& a) { hidden(a, a.Probabilities()); }, Flops},
      {"HiddenProduct",
       [](Arrays& a) { ForTiles(a, [&](Index t) { HiddenProduct(a.h, a.W_transposed, t, a.rows, a.product); }); },
       Flops},
      {"ProbabilityProduct",
       [](Arrays& a) { ForTiles(a, [&](Index t) { ProbabilityProduct(a.p, a.W_transposed, t, a.rows, a.product); }); },
       Flops},
      {"AccumulateOuter",
       [](Arrays& a) {
         ForPanels(a.visible, [&](Index p) { AccumulateOuter(a.h_transposed, a.v, p, {0, a.hidden}, a.sum); });
       },
       Flops},
      {"AccumulateProbabilityOuter",
       [](Arrays& a) {
         ForPanels(a.visible, [&](Index p) { AccumulateProbabilityOuter(a.p, a.v, p, {0, a.hidden}, a.sum); });
       },
       Flops},
      {"Philox", [](Arrays& a) { benchmark::DoNotOptimize(PhiloxWordSum(kDraw, kBatch, GroupCount(a.hidden))); },
       Hiddens},
      {"Bernoulli",
       [](Arrays& a) { ForGroups(a, [&](Index g) { FromLogits(a.logits, 1, g, a.rows, a.Bits(kDraw)); }); }, Hiddens},
      {"DrawNormals",
       [](Arrays& a) {
         std::vector<float> row(static_cast<std::size_t>(a.visible));
         for (Index r = 0; r < kBatch; ++r) DrawNormals(kDraw, r, row);
         benchmark::DoNotOptimize(row.data());
       },
       Visible},
      {"MoveVisible",
       [](Arrays& a) {
         ForTiles(a, [&](Index t) {
           MoveVisible(kDraw, {a.zero, a.zero, a.zero}, a.v, a.product, t, a.rows, a.moved);
         });
       },
       Visible},
      {"TransposeBits", [](Arrays& a) { ForGroups(a, [&](Index g) { TransposeBits(a.h, g, a.h_transposed); }); },
       Hiddens},
      {"AddVisibleSums", sums, Bytes(4, 0)},
      {"AddMoments",
       [](Arrays& a) {
         double offset[kPanel] = {};
         double square[kPanel] = {};
         ForPanels(a.visible, [&](Index p) { AddMoments(a.v, a.zero, p, offset, square); });
         benchmark::DoNotOptimize(offset);
         benchmark::DoNotOptimize(square);
       },
       Bytes(1, 0)},
      {"AddColumns",
       [](Arrays& a) {
         double out[kPanel] = {};
         ForPanels(a.hidden, [&](Index p) { AddColumns(a.p, p, out); });
         benchmark::DoNotOptimize(out);
       },
       Bytes(0, 1)},
      {"SumSoftplus", [](Arrays& a) { benchmark::DoNotOptimize(SumSoftplus(std::as_const(a.logits).values())); },
       Bytes(0, 1)},
  };
}

Arrays& ArraysOf(std::size_t shape) {
  static std::unique_ptr<Arrays> arrays[std::size(kShapes)];
  if (!arrays[shape]) arrays[shape] = std::make_unique<Arrays>(kShapes[shape]);
  return *arrays[shape];
}

void RegisterAll() {
  for (const Kernel& kernel : Kernels()) {
    for (std::size_t s = 0; s < std::size(kShapes); ++s) {
      for (std::int64_t left = hwy::SupportedTargets() & (HWY_TARGETS); left != 0; left &= left - 1) {
        const std::int64_t target = left & -left;
        const std::string name = std::string(kernel.name) + "/" + std::to_string(kShapes[s].visible) + "x" +
                                 std::to_string(kShapes[s].hidden) + "/" + hwy::TargetName(target);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
          hwy::SetSupportedTargetsForTest(target);
          Arrays& arrays = ArraysOf(s);
          for (auto _ : state) kernel.run(arrays);
          const Amount amount = kernel.amount(arrays);
          state.counters[amount.unit] = benchmark::Counter(amount.count, benchmark::Counter::kIsIterationInvariantRate);
          hwy::SetSupportedTargetsForTest(0);
        })->Unit(benchmark::kMillisecond);
      }
    }
  }
}

const bool kRegistered = (RegisterAll(), true);

}  // namespace
}  // namespace grbm::bench
