// Random draws, sums and steps.
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "kernels/kernels.h"
#include "kernels/random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grbm::kernels::HWY_NAMESPACE {

HWY_INLINE VD Doubles(const float* x) { return hn::PromoteTo(F64(), hn::Load(hn::Rebind<float, F64>(), x)); }

void DrawNormals(const DrawPlace& draw, Index row, std::span<float> out) {
  const VectorStream stream(draw.stream, draw.step);
  const std::uint32_t chain = draw.first_chain + static_cast<std::uint32_t>(row);
  const auto units = static_cast<Index>(out.size());
  alignas(64) float normals[Stream::kTile];
  for (Index tile = 0; tile * Stream::kTile < units; ++tile) {
    const Index first = tile * Stream::kTile;
    const Index count = std::min(Stream::kTile, units - first);
    NormalTile(stream, chain, static_cast<std::uint32_t>(tile), count, normals);
    std::copy_n(normals, count, out.data() + first);
  }
}

void DrawNormalTile(const DrawPlace& draw, Index tile, Rows rows, PanelView out) {
  const VectorStream stream(draw.stream, draw.step);
  const Index units = std::min(Stream::kTile, out.cols() - tile * Stream::kTile);
  alignas(64) float normals[Stream::kTile];
  for (Index row = rows.first; row < rows.first + rows.count; ++row) {
    NormalTile(stream, draw.first_chain + static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(tile), units,
               normals);
    for (Index first = 0; first < units; first += kPanel) {
      std::copy_n(normals + first, std::min(kPanel, units - first),
                  out.line(tile * kGroupPanels + first / kPanel, row));
    }
  }
}

void MoveVisible(const DrawPlace& draw, const VisibleMove& move, ConstPanelView v, ConstPanelView product, Index tile,
                 Rows rows, PanelView to) {
  const F32 f;
  const VectorStream stream(draw.stream, draw.step);
  const Index panels = GroupPanels(v.cols(), tile);
  const Index units = std::min(Stream::kTile, v.cols() - tile * Stream::kTile);
  // Of few units, those of several rows fill a vector. Past a row's last unit lie those of others, which no noise lets in.
  const int log_width = std::bit_width(static_cast<std::uint32_t>(units - 1));
  const Index together = std::max<Index>(1, Index{kLanes} >> log_width);
  alignas(64) float xi[Stream::kTile] = {};
  for (Index row = rows.first; row < rows.first + rows.count; ++row) {
    const std::uint32_t chain = draw.first_chain + static_cast<std::uint32_t>(row);
    const Index place = (row - rows.first) % together;
    if (together == 1) {
      NormalTile(stream, chain, static_cast<std::uint32_t>(tile), units, xi);
    } else if (place == 0) {
      hn::Store(FewNormals(stream, chain, static_cast<std::uint32_t>(tile), log_width), f, xi);
    }
    const float* const normals = xi + (place << log_width);
    for (Index p = 0; p < panels; ++p) {
      const Index panel = tile * kGroupPanels + p;
      for (std::size_t i = 0; i < kPanel; i += kLanes) {
        const auto load = [&](const float* line) HWY_ATTR { return hn::LoadU(f, line + i); };
        const VF mean = hn::Add(load(move.mu.panel(panel)), load(product.line(panel, row)));
        const VF kept = hn::MulAdd(load(move.keep.panel(panel)), hn::Sub(load(v.line(panel, row)), mean), mean);
        hn::Store(hn::MulAdd(load(move.noise.panel(panel)), load(normals + p * kPanel), kept), f,
                  to.line(panel, row) + i);
      }
    }
  }
}

// Σ max(x, 0) + log Π (1 + exp(-|x|)), so many factors of at most 2 to one log as a double holds.
double SumSoftplus(std::span<const float> x) {
  const F64 f64;
  constexpr std::size_t kFactors = 512;
  double sum = 0;
  for (std::size_t first = 0; first < x.size(); first += kFactors) {
    VD positive = hn::Zero(f64);
    VD factors = hn::Set(f64, 1.0);
    const std::size_t end = std::min(x.size(), first + kFactors);
    std::size_t i = first;
    double product = 1;
    for (; i + hn::Lanes(f64) <= end; i += hn::Lanes(f64)) {
      const VD value = hn::PromoteTo(f64, hn::LoadU(hn::Rebind<float, F64>(), x.data() + i));
      positive = hn::Add(positive, hn::Max(value, hn::Zero(f64)));
      VD e[] = {hn::Abs(value)};
      ExpMinus(e);
      factors = hn::MulAdd(factors, e[0], factors);
    }
    for (; i < end; ++i) {
      sum += std::max(double{x[i]}, 0.0);
      product *= 1 + std::exp(-std::abs(double{x[i]}));
    }
    alignas(64) double lanes[hn::MaxLanes(f64)];
    hn::Store(factors, f64, lanes);
    for (const double factor : lanes) product *= factor;
    sum += hn::GetLane(hn::SumOfLanes(f64, positive)) + std::log(product);
  }
  return sum;
}

// Adds terms(i, sums) for rows 0, 1, ... to the doubles out[0] ... of the panel's columns, in the order of the rows.
template <std::size_t kSums, typename Terms>
HWY_INLINE void AddColumnSums(Index rows, double* const (&out)[kSums], const Terms& terms) {
  const F64 f64;
  for (std::size_t i = 0; i < kPanel; i += hn::Lanes(f64)) {
    VD sums[kSums];
    for (std::size_t s = 0; s < kSums; ++s) sums[s] = hn::LoadU(f64, out[s] + i);
    for (Index r = 0; r < rows; ++r) terms(r, i, sums);
    for (std::size_t s = 0; s < kSums; ++s) hn::StoreU(sums[s], f64, out[s] + i);
  }
}

void AddColumns(ConstPanelView x, Index panel, double* out) {
  AddColumnSums<1>(x.rows(), {out}, [&](Index r, std::size_t i, VD* sums) HWY_ATTR {
    sums[0] = hn::Add(sums[0], Doubles(x.line(panel, r) + i));
  });
}

void AddMoments(ConstPanelView v, const PanelRow& mu, Index panel, double* offset, double* square) {
  AddColumnSums<2>(v.rows(), {offset, square}, [&](Index r, std::size_t i, VD* sums) HWY_ATTR {
    const VD d = hn::Sub(Doubles(v.line(panel, r) + i), Doubles(mu.panel(panel) + i));
    sums[0] = hn::Add(sums[0], d);
    sums[1] = hn::MulAdd(d, d, sums[1]);
  });
}

void SumSlopes(ConstPanelView p, Index panel, float* out) {
  const F32 f;
  for (std::size_t i = 0; i < kPanel; i += kLanes) {
    VF sum = hn::Zero(f);
    for (Index r = 0; r < p.rows(); ++r) {
      const VF value = hn::Load(f, p.line(panel, r) + i);
      sum = hn::Add(sum, hn::Mul(value, hn::Sub(hn::Set(f, 1.0f), value)));
    }
    hn::StoreU(sum, f, out + i);
  }
}

void AddProducts(ConstPanelView a, ConstPanelView b, Index panel, double* out) {
  AddColumnSums<1>(a.rows(), {out}, [&](Index r, std::size_t i, VD* sums) HWY_ATTR {
    sums[0] = hn::MulAdd(Doubles(a.line(panel, r) + i), Doubles(b.line(panel, r) + i), sums[0]);
  });
}

void AddDifference(float times, ConstPanelView a, ConstPanelView b, Index panel, PanelView out, Sums sums) {
  const F32 f;
  const VF factor = hn::Set(f, times);
  const float* const from_a = a.line(panel, 0);
  const float* const from_b = b.line(panel, 0);
  float* const to = out.line(panel, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(out.rows() * kPanel); i += kLanes) {
    const VF difference = hn::Sub(hn::Mul(factor, hn::Load(f, from_a + i)), hn::Load(f, from_b + i));
    hn::Store(sums == Sums::kAdd ? hn::Add(hn::Load(f, to + i), difference) : difference, f, to + i);
  }
}

void AddVisibleSums(const VisiblePair& pair, const VisibleWeights& weights, Index tile, Rows rows, VisibleSums* sums) {
  const F64 f64;
  const Index panels = GroupPanels(pair.v_from.cols(), tile);
  const VD half = hn::Set(f64, 0.5);
  for (Index row = rows.first; row < rows.first + rows.count; ++row) {
    VD from = hn::Zero(f64);
    VD to = hn::Zero(f64);
    VD proposal = hn::Zero(f64);
    VD conditional = hn::Zero(f64);
    for (Index panel = tile * kGroupPanels; panel < tile * kGroupPanels + panels; ++panel) {
      for (std::size_t i = 0; i < kPanel; i += hn::Lanes(f64)) {
        const VD mu = Doubles(weights.mu.panel(panel) + i);
        const VD keep = Doubles(weights.keep.panel(panel) + i);
        const VD half_precision = hn::Mul(half, Doubles(weights.inverse_variance.panel(panel) + i));
        const VD inverse_noise = hn::LoadU(f64, weights.inverse_noise.data() + panel * kPanel + static_cast<Index>(i));
        const VD v_from = Doubles(pair.v_from.line(panel, row) + i);
        const VD v_to = Doubles(pair.v_to.line(panel, row) + i);
        const VD mean_from = hn::Add(mu, Doubles(pair.product_from.line(panel, row) + i));
        const VD mean_to = hn::Add(mu, Doubles(pair.product_to.line(panel, row) + i));
        const VD offset_from = hn::Sub(v_from, mu);
        const VD offset_to = hn::Sub(v_to, mu);
        from = hn::MulAdd(hn::Mul(offset_from, offset_from), half_precision, from);
        to = hn::MulAdd(hn::Mul(offset_to, offset_to), half_precision, to);
        // a² - b² as (a - b)(a + b): the difference of near squares keeps its digits.
        const VD before = hn::Sub(v_from, mean_from);
        const VD after = hn::Sub(v_to, mean_from);
        const VD forward = hn::NegMulAdd(keep, before, after);
        const VD reverse = hn::NegMulAdd(keep, hn::Sub(v_to, mean_to), hn::Sub(v_from, mean_to));
        const VD squares = hn::Mul(hn::Sub(forward, reverse), hn::Add(forward, reverse));
        proposal = hn::MulAdd(squares, inverse_noise, proposal);
        const VD residues = hn::Mul(hn::Sub(before, after), hn::Add(before, after));
        conditional = hn::MulAdd(residues, half_precision, conditional);
      }
    }
    const auto total = [&](VD x) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(f64, x)); };
    sums[row].from += total(from);
    sums[row].to += total(to);
    sums[row].proposal += total(proposal);
    sums[row].conditional += total(conditional);
  }
}

// Eight sums side by side on every target, so that their bits are the same. A square of a float is exact in double.
double SumOfSquares(std::span<const float> x) {
  constexpr std::size_t kSums = 8;
  constexpr std::size_t kParts = kSums / hn::MaxLanes(F64());
  VD parts[kParts];
  for (VD& part : parts) part = hn::Zero(F64());
  std::size_t i = 0;
  for (; i + kSums <= x.size(); i += kSums) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const VD value = hn::PromoteTo(F64(), hn::LoadU(hn::Rebind<float, F64>(), &x[i + p * hn::Lanes(F64())]));
      parts[p] = hn::MulAdd(value, value, parts[p]);
    }
  }
  alignas(64) double sums[kSums];
  for (std::size_t p = 0; p < kParts; ++p) hn::Store(parts[p], F64(), sums + p * hn::Lanes(F64()));
  for (; i < x.size(); ++i) sums[0] += double{x[i]} * double{x[i]};
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

// The steps of parameters. No multiplication is joined to an addition here: targets without that instruction could not
// have the same bits.
using Floats = hn::Rebind<float, F64>;  // as many as doubles fit in a vector

HWY_INLINE VD Wide(hn::Vec<Floats> x) { return hn::PromoteTo(F64(), x); }
HWY_INLINE hn::Vec<Floats> Narrow(VD x) { return hn::DemoteTo(Floats(), x); }

// Elements first ... of arrays with `count` of them: as many as are left, at most a vector full.
struct Lanes {
  std::size_t first;
  std::size_t count;

  HWY_INLINE hn::Vec<Floats> Load(std::span<const float> x) const {
    if (first + hn::Lanes(F64()) <= count) return hn::LoadU(Floats(), x.data() + first);
    alignas(64) float part[hn::MaxLanes(F64())] = {};
    std::copy_n(x.data() + first, count - first, part);
    return hn::Load(Floats(), part);
  }
  HWY_INLINE void Store(hn::Vec<Floats> value, std::span<float> x) const {
    if (first + hn::Lanes(F64()) <= count) return hn::StoreU(value, Floats(), x.data() + first);
    alignas(64) float part[hn::MaxLanes(F64())];
    hn::Store(value, Floats(), part);
    std::copy_n(part, count - first, x.data() + first);
  }
};

// θ, with its share taken off, minus rate · direction.
HWY_INLINE hn::Vec<Floats> Stepped(hn::Vec<Floats> theta, double decay, double rate, VD direction) {
  const F64 f64;
  const auto decayed = hn::Sub(theta, Narrow(hn::Mul(hn::Set(f64, decay), Wide(theta))));
  return hn::Sub(decayed, Narrow(hn::Mul(hn::Set(f64, rate), direction)));
}

void StepSgd(const SgdStep& step, std::span<const float> parameters, std::span<float> moment,
             std::span<float> gradient) {
  const VD scale = hn::Set(F64(), step.scale), keep = hn::Set(F64(), step.momentum);
  for (std::size_t i = 0; i < gradient.size(); i += hn::Lanes(F64())) {
    const Lanes lanes{i, gradient.size()};
    VD direction = hn::Mul(scale, Wide(lanes.Load(gradient)));
    if (!moment.empty()) {
      const auto m = Narrow(hn::Add(hn::Mul(keep, Wide(lanes.Load(moment))), direction));
      lanes.Store(m, moment);
      direction = Wide(m);
    }
    lanes.Store(Stepped(lanes.Load(parameters), step.decay, step.rate, direction), gradient);
  }
}

void StepAdam(const AdamStep& step, std::span<const float> parameters, std::span<float> first, std::span<float> second,
              std::span<float> gradient) {
  const auto set = [](double x) HWY_ATTR { return hn::Set(F64(), x); };
  const auto corrected = [&](VD x, double by) HWY_ATTR { return by == 1 ? x : hn::Div(x, set(by)); };
  const VD keep1 = set(step.beta1), take1 = set(1 - step.beta1), keep2 = set(step.beta2), take2 = set(1 - step.beta2);
  for (std::size_t i = 0; i < gradient.size(); i += hn::Lanes(F64())) {
    const Lanes lanes{i, gradient.size()};
    const VD g = hn::Mul(set(step.scale), Wide(lanes.Load(gradient)));
    const auto m = Narrow(hn::Add(hn::Mul(keep1, Wide(lanes.Load(first))), hn::Mul(take1, g)));
    const auto s = Narrow(hn::Add(hn::Mul(keep2, Wide(lanes.Load(second))), hn::Mul(hn::Mul(take2, g), g)));
    const VD length = hn::Add(hn::Sqrt(corrected(Wide(s), step.correction2)), set(step.epsilon));
    const VD direction = hn::Div(corrected(Wide(m), step.correction1), length);
    lanes.Store(m, first);
    lanes.Store(s, second);
    lanes.Store(Stepped(lanes.Load(parameters), step.decay, step.rate, direction), gradient);
  }
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grbm::kernels {

HWY_EXPORT(DrawNormals);
HWY_EXPORT(DrawNormalTile);
HWY_EXPORT(MoveVisible);
HWY_EXPORT(SumSoftplus);
HWY_EXPORT(AddColumns);
HWY_EXPORT(AddMoments);
HWY_EXPORT(SumSlopes);
HWY_EXPORT(AddProducts);
HWY_EXPORT(AddDifference);
HWY_EXPORT(AddVisibleSums);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(StepSgd);
HWY_EXPORT(StepAdam);

void DrawNormals(const DrawPlace& draw, Index row, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(DrawNormals)(draw, row, out);
}
void DrawNormalTile(const DrawPlace& draw, Index tile, Rows rows, PanelView out) {
  HWY_DYNAMIC_DISPATCH(DrawNormalTile)(draw, tile, rows, out);
}
void MoveVisible(const DrawPlace& draw, const VisibleMove& move, ConstPanelView v, ConstPanelView product, Index tile,
                 Rows rows, PanelView to) {
  HWY_DYNAMIC_DISPATCH(MoveVisible)(draw, move, v, product, tile, rows, to);
}
double SumSoftplus(std::span<const float> x) { return HWY_DYNAMIC_DISPATCH(SumSoftplus)(x); }
void AddColumns(ConstPanelView x, Index panel, double* out) { HWY_DYNAMIC_DISPATCH(AddColumns)(x, panel, out); }
void AddMoments(ConstPanelView v, const PanelRow& mu, Index panel, double* offset, double* square) {
  HWY_DYNAMIC_DISPATCH(AddMoments)(v, mu, panel, offset, square);
}
void SumSlopes(ConstPanelView p, Index panel, float* out) { HWY_DYNAMIC_DISPATCH(SumSlopes)(p, panel, out); }
void AddProducts(ConstPanelView a, ConstPanelView b, Index panel, double* out) {
  HWY_DYNAMIC_DISPATCH(AddProducts)(a, b, panel, out);
}
void AddDifference(float times, ConstPanelView a, ConstPanelView b, Index panel, PanelView out, Sums sums) {
  HWY_DYNAMIC_DISPATCH(AddDifference)(times, a, b, panel, out, sums);
}
void AddVisibleSums(const VisiblePair& pair, const VisibleWeights& weights, Index tile, Rows rows, VisibleSums* sums) {
  HWY_DYNAMIC_DISPATCH(AddVisibleSums)(pair, weights, tile, rows, sums);
}
double SumOfSquares(std::span<const float> x) { return HWY_DYNAMIC_DISPATCH(SumOfSquares)(x); }
void StepSgd(const SgdStep& step, std::span<const float> parameters, std::span<float> moment,
             std::span<float> gradient) {
  HWY_DYNAMIC_DISPATCH(StepSgd)(step, parameters, moment, gradient);
}
void StepAdam(const AdamStep& step, std::span<const float> parameters, std::span<float> first, std::span<float> second,
              std::span<float> gradient) {
  HWY_DYNAMIC_DISPATCH(StepAdam)(step, parameters, first, second, gradient);
}

std::string CpuTarget() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);  // the lowest bit is the best target
}

}  // namespace grbm::kernels
#endif
