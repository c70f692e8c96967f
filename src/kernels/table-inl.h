// The product of bits and numbers without a multiplication. The bits of a row are read a few at a time, and each such
// piece is an index into a table of the sums of all subsets of as many rows of the right factor: one addition takes the
// place of as many multiply-adds. The table is built once per tile and used by every row. Included once per CPU target.
#if defined(GRBM_KERNELS_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRBM_KERNELS_TABLE_INL_H_
#undef GRBM_KERNELS_TABLE_INL_H_
#else
#define GRBM_KERNELS_TABLE_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/panels.h"
#include "kernels/product-inl.h"
#include "kernels/random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grbm::kernels::HWY_NAMESPACE {

// What tables before the t-th take, where a table of kBits takes take(kBits).
template <typename T, int... kBits, typename Take>
constexpr std::array<T, sizeof...(kBits)> TakenBefore(const Take& take) {
  constexpr int kSizes[] = {kBits...};
  std::array<T, sizeof...(kBits)> out{};
  for (std::size_t t = 1; t < out.size(); ++t) out[t] = out[t - 1] + take(kSizes[t - 1]);
  return out;
}

// Tables of the sums of kBits rows each, of the first kUsed vectors of a panel's lines: as many bits of a row are served
// at once as the tables have together.
template <std::size_t kUsed, int... kBits>
class SubsetSums {
 public:
  static constexpr int kSpan = (kBits + ...);
  static_assert(kGroup % kSpan == 0);

  // From rows first ... first + kSpan - 1 of the panel; no bit is set for those past the last row.
  HWY_NOINLINE void Build(ConstPanelView right, Index panel, Index first) {
    // The rows of the next call: until then the hardware will have lost track of them.
    for (Index row = first + kSpan; row < std::min(right.rows(), first + 2 * kSpan); ++row) {
      hwy::Prefetch(right.line(panel, row));
    }
    const F32 f;
    for (std::size_t t = 0; t < kTables && first + kFirstBit[t] < right.rows(); ++t) {
      // The entries with a bit as the highest are those below it, with the bit's line added. The first stay in registers.
      float* const table = sums_ + kStart[t] * kWidth;
      VF held[kHeld][kUsed], line[kUsed];
      for (std::size_t i = 0; i < kUsed; ++i) held[0][i] = hn::Zero(f);
      GRBM_UNROLL(4)
      for (int bit = 0; 1 << bit < kHeld; ++bit) {
        const Index row = first + kFirstBit[t] + bit;
        for (std::size_t i = 0; i < kUsed; ++i) {
          line[i] = row < right.rows() ? hn::Load(f, right.line(panel, row) + i * kLanes) : hn::Zero(f);
          GRBM_UNROLL(16)
          for (int e = 0; e < 1 << bit; ++e) held[(1 << bit) + e][i] = hn::Add(held[e][i], line[i]);
        }
      }
      GRBM_UNROLL(16)
      for (int e = 0; e < kHeld; ++e) {
        for (std::size_t i = 0; i < kUsed; ++i) hn::Store(held[e][i], f, table + (e * kUsed + i) * kLanes);
      }
      for (int bit = std::countr_zero(unsigned{kHeld}); bit < kSizes[t]; ++bit) {
        const Index row = first + kFirstBit[t] + bit;
        if (row >= right.rows()) break;
        for (std::size_t i = 0; i < kUsed; ++i) line[i] = hn::Load(f, right.line(panel, row) + i * kLanes);
        float* const to = table + (std::size_t{1} << bit) * kWidth;
        GRBM_UNROLL(16)
        for (int e = 0; e < kHeld; ++e) {
          for (std::size_t i = 0; i < kUsed; ++i) {
            hn::Store(hn::Add(held[e][i], line[i]), f, to + (e * kUsed + i) * kLanes);
          }
        }
        for (std::size_t at = kHeld * kWidth; at < kWidth << bit; at += kWidth) {
          for (std::size_t i = 0; i < kUsed; ++i) {
            hn::Store(hn::Add(hn::Load(f, table + at + i * kLanes), line[i]), f, to + at + i * kLanes);
          }
        }
      }
    }
  }

  // out += the sums that each row's bits ask for; `words` holds them from bit `shift` on, for `span` rows of the right
  // factor, and none after those. Tables past them would add empty sums: the bits of a sum, never -0, stay without them.
  HWY_INLINE void Add(const std::uint64_t* HWY_RESTRICT words, Index shift, Index rows, float* HWY_RESTRICT out,
                      bool first, Index span) const {
    if (span > kFirstBit[kTables - 1]) {
      AddTables<true>(words, shift, rows, out, first, span);
    } else {
      AddTables<false>(words, shift, rows, out, first, span);
    }
  }

 private:
  template <bool kAll>
  HWY_NOINLINE void AddTables(const std::uint64_t* HWY_RESTRICT words, Index shift, Index rows, float* HWY_RESTRICT out,
                              bool first, Index span) const {
    const F32 f;
    for (Index r = 0; r < rows; ++r, out += kPanel) {
      const std::uint64_t bits = words[r] >> shift;
      VF sum[kUsed];
      for (std::size_t i = 0; i < kUsed; ++i) sum[i] = first ? hn::Zero(f) : hn::Load(f, out + i * kLanes);
      GRBM_UNROLL(16)
      for (std::size_t t = 0; t < kTables; ++t) {
        if (!kAll && t > 0 && kFirstBit[t] >= span) break;
        // The index, already multiplied by the bytes of an entry.
        const int move = kFirstBit[t] - kLogBytes;
        const std::uint64_t offsets = ((std::uint64_t{1} << kSizes[t]) - 1) << kLogBytes;
        const std::uint64_t offset = (move >= 0 ? bits >> (move & 63) : bits << (-move & 63)) & offsets;
        const char* const table = reinterpret_cast<const char*>(sums_ + kStart[t] * kWidth);
        const float* HWY_RESTRICT entry = reinterpret_cast<const float*>(table + offset);
        for (std::size_t i = 0; i < kUsed; ++i) sum[i] = hn::Add(sum[i], hn::Load(f, entry + i * kLanes));
      }
      for (std::size_t i = 0; i < kUsed; ++i) hn::Store(sum[i], f, out + i * kLanes);
    }
  }

  static constexpr std::size_t kTables = sizeof...(kBits);
  static constexpr int kHeld = kTileRows > 6 ? 16 : 4;  // entries that registers hold
  static constexpr int kSizes[] = {kBits...};
  static constexpr std::size_t kWidth = kUsed * kLanes;
  static constexpr int kLogBytes = std::countr_zero(kWidth * sizeof(float));

  static constexpr auto kFirstBit = TakenBefore<int, kBits...>([](int size) { return size; });
  static constexpr auto kStart = TakenBefore<std::size_t, kBits...>([](int size) { return std::size_t{1} << size; });

  alignas(64) float sums_[((std::size_t{1} << kBits) + ...) * kWidth];
};

// out (+)= bits · right, for the first kUsed vectors of one panel of the result.
template <std::size_t kUsed, int... kBits>
HWY_NOINLINE void TableProductOf(ConstBitView bits, ConstPanelView right, Index panel, Rows rows, PanelView out,
                                 bool accumulate) {
  static thread_local SubsetSums<kUsed, kBits...> sums;
  for (Index k = 0; k < right.rows(); k += sums.kSpan) {
    sums.Build(right, panel, k);
    sums.Add(&bits.word(rows.first, k / kGroup), k % kGroup, rows.count, out.line(panel, rows.first),
             k == 0 && !accumulate, right.rows() - k);
  }
}

// out (+)= bits · right, for one panel of the result.
template <int... kBits>
void TableProduct(ConstBitView bits, ConstPanelView right, Index panel, Rows rows, PanelView out, bool accumulate) {
  if (out.cols() - panel * kPanel <= static_cast<Index>(kLanes)) {
    TableProductOf<1, kBits...>(bits, right, panel, rows, out, accumulate);
  } else {
    TableProductOf<kVectors, kBits...>(bits, right, panel, rows, out, accumulate);
  }
}

// Sixty-four bits as numbers.
HWY_INLINE void ExpandBits(std::uint64_t bits, float* HWY_RESTRICT out) {
  const F32 f;
  for (std::size_t i = 0; i < kGroup; i += kLanes, bits >>= kLanes) {
    std::uint8_t bytes[8];
    std::memcpy(bytes, &bits, 8);
    hn::Store(hn::IfThenElseZero(hn::LoadMaskBits(f, bytes), hn::Set(f, 1.0f)), f, out + i);
  }
}

// The same bits for `panels` panels of the result, for a few rows: tables would take longer to build than they save. Each
// table's entry is summed up when it is asked for, in the order in which Build does it. A bit is a factor of 0 or 1, for
// which a joined multiplication and addition rounds as the addition alone. All of `right` is finite.
template <int... kBits>
void FewRowsProduct(ConstBitView bits, ConstPanelView right, Index first_panel, Index panels, Rows rows,
                    PanelView out) {
  constexpr int kSizes[] = {kBits...};
  static_assert(kGroup % (kBits + ...) == 0);
  ForRowTiles(rows.first, rows.count, [&]<int kRows>(Index row) HWY_ATTR {
    alignas(64) float factors[kRows][kGroup];
    for (Index first = 0; first < right.rows(); first += kGroup) {
      const Index last = std::min(right.rows(), first + kGroup);
      for (int r = 0; r < kRows; ++r) ExpandBits(bits.word(row + r, first / kGroup), factors[r]);
      for (Index p = 0; p < panels; ++p) {
        float* const lines = out.line(first_panel + p, row);
        Tile<kRows> sums;
        if (first > 0) {
          sums.Load(lines);
        } else {
          sums.Start();
        }
        for (Index k = first, t = 0; k < last; k += kSizes[t], t = (t + 1) % Index{sizeof...(kBits)}) {
          Tile<kRows> entry;
          entry.Start();
          entry.template AddTerms<kGroup, 1>(&factors[0][k - first], right.line(first_panel + p, k),
                                             std::min<Index>(kSizes[t], last - k));
          sums.Add(entry);
        }
        sums.Store(lines);
      }
    }
  });
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
