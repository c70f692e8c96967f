// The dense product on panels. Included once per CPU target.
#if defined(GRBM_KERNELS_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRBM_KERNELS_PRODUCT_INL_H_
#undef GRBM_KERNELS_PRODUCT_INL_H_
#else
#define GRBM_KERNELS_PRODUCT_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/panels.h"
#include "kernels/random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grbm::kernels::HWY_NAMESPACE {

// Rows of a tile: as many as keep its sums in registers, with room for a line of the right factor.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
inline constexpr int kTileRows = 12;
#elif (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM
inline constexpr int kTileRows = 6;
#else
inline constexpr int kTileRows = 2;
#endif

// The sums of kRows rows in one panel.
template <int kRows>
struct Tile {
  VF sums[kRows][kVectors];

  // Written out, for an implicit one would not be compiled for the CPU target.
  HWY_INLINE Tile() {}

  HWY_INLINE void Start(const float* line) {
    for (int r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < kVectors; ++i) sums[r][i] = hn::Load(F32(), line + i * kLanes);
    }
  }
  HWY_INLINE void Start() {
    for (int r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < kVectors; ++i) sums[r][i] = hn::Zero(F32());
    }
  }
  HWY_INLINE void Load(const float* in) {
    for (int r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < kVectors; ++i) sums[r][i] = hn::Load(F32(), in + r * kPanel + i * kLanes);
    }
  }
  HWY_INLINE void Store(float* out) const {
    for (int r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < kVectors; ++i) hn::Store(sums[r][i], F32(), out + r * kPanel + i * kLanes);
    }
  }
  // out += sums; where it holds nothing yet, out = 0 + sums.
  HWY_INLINE void AddTo(float* out, bool holds) {
    for (int r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        float* const at = out + r * kPanel + i * kLanes;
        hn::Store(hn::Add(sums[r][i], holds ? hn::Load(F32(), at) : hn::Zero(F32())), F32(), at);
      }
    }
  }
  HWY_INLINE void Add(const Tile& other) {
    for (int r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < kVectors; ++i) sums[r][i] = hn::Add(sums[r][i], other.sums[r][i]);
    }
  }

  // sums[r] += Σ_k left(r, k) right(k): left(r, k) at left[r·kRowStep + k·kTermStep], right(k) a line each.
  template <int kRowStep, int kTermStep>
  HWY_INLINE void AddTerms(const float* HWY_RESTRICT left, const float* HWY_RESTRICT right, Index count) {
    const F32 f;
    for (Index k = 0; k < count; ++k, left += kTermStep, right += kPanel) {
      VF line[kVectors];
      for (std::size_t i = 0; i < kVectors; ++i) line[i] = hn::Load(f, right + i * kLanes);
      for (int r = 0; r < kRows; ++r) {
        const VF factor = hn::Set(f, left[r * kRowStep]);
        for (std::size_t i = 0; i < kVectors; ++i) sums[r][i] = hn::MulAdd(factor, line[i], sums[r][i]);
      }
    }
  }

  // += terms first ... last - 1 of rows row ... row + kRows - 1 of left, times the panel of right. `first` is a multiple
  // of kPanel.
  HWY_INLINE void AddProduct(ConstPanelView left, Index row, ConstPanelView right, Index panel, Index first,
                             Index last) {
    const float* HWY_RESTRICT lines = right.line(panel, first);
    Index p = first / kPanel;
    for (; (p + 1) * kPanel <= last; ++p, lines += kPanel * kPanel) {
      // The next panel of the left factor lies far away, where the hardware does not look ahead.
      const float* const next = left.line(p, row) + left.stride();
      for (int r = 0; r < kRows; ++r) hwy::Prefetch(next + r * kPanel);
      AddTerms<kPanel, 1>(left.line(p, row), lines, kPanel);
    }
    if (p * kPanel < last) AddTerms<kPanel, 1>(left.line(p, row), lines, last - p * kPanel);
  }
};

// Terms of a product at a time: so many lines of four panels stay in the second-level cache while the rows pass by.
inline constexpr Index kTerms = 512;

// Calls tiles.template operator()<rows>(first), rows ≤ kMaxRows.
template <int kMaxRows, typename Tiles>
HWY_INLINE void CallTile(Index first, Index rows, const Tiles& tiles) {
  if constexpr (kMaxRows > 1) {
    if (rows < kMaxRows) return CallTile<kMaxRows - 1>(first, rows, tiles);
  }
  tiles.template operator()<kMaxRows>(first);
}

// The same for as few tiles as cover rows first ... first + count - 1, all of about one size: one of a row or two waits for
// its own sums.
template <int kMaxRows = kTileRows, typename Tiles>
HWY_INLINE void ForRowTiles(Index first, Index count, const Tiles& tiles) {
  for (Index left = (count + kMaxRows - 1) / kMaxRows; left > 0; --left) {
    const Index rows = (count + left - 1) / left;
    CallTile<kMaxRows>(first, rows, tiles);
    first += rows;
    count -= rows;
  }
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
