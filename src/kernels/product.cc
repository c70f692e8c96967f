// Products: dense for numbers, by lookup for bits.
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cmath>

#include "kernels/kernels.h"
#include "kernels/product-inl.h"
#include "kernels/random-inl.h"
#include "kernels/table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grbm::kernels::HWY_NAMESPACE {

// What `result` asks for of one row's logits in one group: four lines, `stride` floats apart.
class HiddenRow {
 public:
  HiddenRow(const HiddenResult& result, Index group, Index panels)
      : result_(result),
        group_(group),
        panels_(panels),
        stream_(result.draw ? VectorStream(result.draw->place.stream, result.draw->place.step) : VectorStream()) {}

  // `product` is what AddLogs wants.
  HWY_INLINE void Write(const float* x, Index stride, Index row, double& product) const {
    if (result_.logits.data() != nullptr) {
      ForLines([&](Index p) { Copy(x + p * stride, result_.logits.line(group_ * kGroupPanels + p, row)); });
    }
    if (result_.probabilities.data() != nullptr) {
      const VF scale = hn::Set(F32(), result_.probability_scale);
      ForLines(
          [&](Index p) { Sigmoid(x + p * stride, scale, result_.probabilities.line(group_ * kGroupPanels + p, row)); });
    }
    if (result_.draw) {
      result_.draw->bits.word(row, group_) =
          BernoulliTile(stream_, result_.draw->place, row, group_, x, static_cast<std::size_t>(stride),
                        hn::Set(F32(), result_.draw->inverse_temperature));
    }
    if (result_.softplus != nullptr) product = Sums(x, stride, row);
  }
  // The logs of products that rows have left: after many of them, for a call leaves no constant in its register.
  void AddLogs(Index first, Index count, const double* products) const {
    if (result_.softplus == nullptr) return;
    double* const sums = result_.softplus + group_ * result_.stride + first;
    for (Index r = 0; r < count; ++r) sums[r] += std::log(products[r]);
  }

 private:
  template <typename Body>
  HWY_INLINE void ForLines(const Body& body) const {
    for (Index p = 0; p < panels_; ++p) body(p);
  }
  static HWY_INLINE void Copy(const float* x, float* out) {
    for (std::size_t i = 0; i < kPanel; i += kLanes) hn::Store(hn::Load(F32(), x + i), F32(), out + i);
  }
  static HWY_INLINE void Sigmoid(const float* x, VF scale, float* out) {
    const F32 f;
    const VF one = hn::Set(f, 1.0f);
    VF e[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) e[i] = hn::Mul(scale, hn::Load(f, x + i * kLanes));
    ExpMinus(e);
    for (std::size_t i = 0; i < kVectors; ++i) hn::Store(hn::Div(one, hn::Add(one, e[i])), f, out + i * kLanes);
  }
  // Σ h x and Σ log(1 + exp x) = Σ max(x, 0) + log Π (1 + exp(-|x|)): sixty-four factors of at most 2 need one log. Writes
  // all but that log, and returns its argument.
  HWY_INLINE double Sums(const float* x, Index stride, Index row) const {
    using Half = hn::Rebind<float, F64>;
    const F64 f64;
    const ConstBitView states = result_.draw ? result_.draw->bits : result_.states;
    const std::uint64_t bits = states.words() != nullptr ? states.word(row, group_) : 0;
    VD active = hn::Zero(f64);
    VD positive = hn::Zero(f64);
    VD factors = hn::Set(f64, 1.0);
    // Past the last panel each x is kNever, and adds nothing.
    constexpr std::size_t kDoubles = hn::MaxLanes(F64());
    for (std::size_t first = 0; first < kGroup; first += kSide * kDoubles) {
      VD e[kSide];
      for (std::size_t k = 0; k < kSide; ++k) {
        const std::size_t unit = first + k * kDoubles;
        const VD value =
            hn::PromoteTo(f64, hn::Load(Half(), x + unit / kPanel * static_cast<std::size_t>(stride) + unit % kPanel));
        const std::uint64_t here = bits >> unit;
        std::uint8_t bytes[8];
        std::memcpy(bytes, &here, 8);
        active = hn::Add(active, hn::IfThenElseZero(hn::LoadMaskBits(f64, bytes), value));
        positive = hn::Add(positive, hn::Max(value, hn::Zero(f64)));
        e[k] = hn::Abs(value);
      }
      ExpMinus(e);
      for (std::size_t k = 0; k < kSide; ++k) factors = hn::MulAdd(factors, e[k], factors);
    }
    alignas(64) double lanes[hn::MaxLanes(f64)];
    hn::Store(factors, f64, lanes);
    double product = 1;
    for (const double factor : lanes) product *= factor;
    const Index at = group_ * result_.stride + row;
    result_.active[at] = hn::GetLane(hn::SumOfLanes(f64, active));
    result_.softplus[at] = hn::GetLane(hn::SumOfLanes(f64, positive));
    return product;
  }

  const HiddenResult& result_;
  Index group_;
  Index panels_;
  VectorStream stream_;
};

// out = start + left · right for four panels or fewer, each started from its line of `start`. out(p, row) is where the
// lines of a row in panel p go.
template <typename Start, typename Out>
HWY_INLINE void Product(ConstPanelView left, ConstPanelView right, Index first_panel, Index panels, Rows rows,
                        const Start& start, const Out& out) {
  for (Index first = 0; first < left.cols(); first += kTerms) {
    const Index last = std::min(left.cols(), first + kTerms);
    ForRowTiles(rows.first, rows.count, [&]<int kRows>(Index row) HWY_ATTR {
      for (Index p = 0; p < panels; ++p) {
        Tile<kRows> tile;
        if (first > 0) {
          tile.Load(out(p, row));
        } else {
          start(p, tile);
        }
        tile.AddProduct(left, row, right, first_panel + p, first, last);
        tile.Store(out(p, row));
      }
    });
  }
}

void Hidden(ConstPanelView v, ConstPanelView W, const PanelRow& b, Index group, Rows rows, const HiddenResult& result) {
  constexpr Index kBlock = 96;  // rows whose logits stay in the cache
  const Index panels = GroupPanels(W.cols(), group);
  const HiddenRow write(result, group, panels);
  alignas(64) float x[kGroupPanels][kBlock][kPanel];
  std::fill_n(&x[panels % kGroupPanels][0][0], (kGroupPanels - panels) * kBlock * kPanel, kNever);
  const Index blocks = (rows.count + kBlock - 1) / kBlock;
  for (Index k = 0; k < blocks; ++k) {
    const Index first = rows.first + k * rows.count / blocks;
    const Rows block{first, rows.first + (k + 1) * rows.count / blocks - first};
    Product(
        v, W, group * kGroupPanels, panels, block,
        [&](Index p, auto& tile) HWY_ATTR { tile.Start(b.panel(group * kGroupPanels + p)); },
        [&](Index p, Index row) HWY_ATTR { return &x[p][row - first][0]; });
    double products[kBlock];
    for (Index r = 0; r < block.count; ++r) write.Write(&x[0][r][0], kBlock * kPanel, first + r, products[r]);
    write.AddLogs(first, block.count, products);
  }
}

void FromLogits(ConstPanelView logits, float scale, Index group, Rows rows, const HiddenResult& result) {
  const Index panels = GroupPanels(logits.cols(), group);
  const HiddenRow write(result, group, panels);
  alignas(64) float x[kGroup];
  std::fill_n(x, kGroup, kNever);
  for (Index row = rows.first; row < rows.first + rows.count; ++row) {
    for (Index p = 0; p < panels; ++p) {
      const float* const line = logits.line(group * kGroupPanels + p, row);
      const Index width = std::min(kPanel, logits.cols() - (group * kGroupPanels + p) * kPanel);
      for (Index c = 0; c < width; ++c) x[p * kPanel + c] = scale * line[c];
    }
    double product = 0;
    write.Write(x, kPanel, row, product);
    write.AddLogs(row, 1, &product);
  }
}

void HiddenProduct(ConstBitView h, ConstPanelView W_transposed, Index tile, Rows rows, PanelView product) {
  const Index first = tile * kGroupPanels;
  const Index panels = GroupPanels(W_transposed.cols(), tile);
  constexpr Index kFewRows = kTileRows > 2 ? 16 : 8;  // by measurement, of 784 × 512 weights
  if (rows.count <= kFewRows) return FewRowsProduct<5, 5, 5, 5, 6, 6>(h, W_transposed, first, panels, rows, product);
  for (Index panel = first; panel < first + panels; ++panel) {
    TableProduct<5, 5, 5, 5, 6, 6>(h, W_transposed, panel, rows, product, false);
  }
}

void ProbabilityProduct(ConstPanelView p, ConstPanelView W_transposed, Index tile, Rows rows, PanelView product) {
  const Index first_panel = tile * kGroupPanels;
  Product(
      p, W_transposed, first_panel, GroupPanels(W_transposed.cols(), tile), rows,
      [](Index, auto& sums) HWY_ATTR { sums.Start(); },
      [&](Index q, Index row) HWY_ATTR { return product.line(first_panel + q, row); });
}

void AccumulateOuter(ConstBitView h_transposed, ConstPanelView v, Index panel, Rows units, PanelView sum, Sums sums) {
  TableProduct<6, 6, 6, 7, 7, 6, 6, 6, 7, 7>(h_transposed, v, panel, units, sum, sums == Sums::kAdd);
}

void AccumulateProbabilityOuter(ConstPanelView p, ConstPanelView v, Index panel, Rows units, PanelView sum, Sums sums) {
  // The rows of the left factor are the columns of p: tiles must not cross its panels, and are as large where that fits.
  constexpr int kColumns = kLanes == kPanel ? static_cast<int>(kPanel) : kTileRows;
  for (Index unit = units.first; unit < units.first + units.count; unit += kPanel) {
    const float* const columns = p.line(unit / kPanel, 0);
    // The next panel lies far away: the hardware looks ahead from its first lines on.
    for (Index r = 0; r < std::min<Index>(8, p.rows()); ++r) hwy::Prefetch(columns + p.stride() + r * kPanel);
    ForRowTiles<kColumns>(0, std::min(kPanel, units.first + units.count - unit), [&]<int kRows>(Index column) HWY_ATTR {
      Tile<kRows> terms;
      terms.Start();
      terms.template AddTerms<1, kPanel>(columns + column, v.line(panel, 0), v.rows());
      terms.AddTo(sum.line(panel, unit + column), sums == Sums::kAdd);
    });
  }
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grbm::kernels {

HWY_EXPORT(Hidden);
HWY_EXPORT(FromLogits);
HWY_EXPORT(HiddenProduct);
HWY_EXPORT(ProbabilityProduct);
HWY_EXPORT(AccumulateOuter);
HWY_EXPORT(AccumulateProbabilityOuter);

void Hidden(ConstPanelView v, ConstPanelView W, const PanelRow& b, Index group, Rows rows, const HiddenResult& result) {
  HWY_DYNAMIC_DISPATCH(Hidden)(v, W, b, group, rows, result);
}
void FromLogits(ConstPanelView logits, float scale, Index group, Rows rows, const HiddenResult& result) {
  HWY_DYNAMIC_DISPATCH(FromLogits)(logits, scale, group, rows, result);
}
void HiddenProduct(ConstBitView h, ConstPanelView W_transposed, Index tile, Rows rows, PanelView product) {
  HWY_DYNAMIC_DISPATCH(HiddenProduct)(h, W_transposed, tile, rows, product);
}
void ProbabilityProduct(ConstPanelView p, ConstPanelView W_transposed, Index tile, Rows rows, PanelView product) {
  HWY_DYNAMIC_DISPATCH(ProbabilityProduct)(p, W_transposed, tile, rows, product);
}
void AccumulateOuter(ConstBitView h_transposed, ConstPanelView v, Index panel, Rows units, PanelView sum, Sums sums) {
  HWY_DYNAMIC_DISPATCH(AccumulateOuter)(h_transposed, v, panel, units, sum, sums);
}
void AccumulateProbabilityOuter(ConstPanelView p, ConstPanelView v, Index panel, Rows units, PanelView sum, Sums sums) {
  HWY_DYNAMIC_DISPATCH(AccumulateProbabilityOuter)(p, v, panel, units, sum, sums);
}

}  // namespace grbm::kernels
#endif
