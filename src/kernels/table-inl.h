// The product of bits and numbers without a multiplication. The bits of a row are read a few at a time, and each such
// piece is an index into a table of the sums of all subsets of as many rows of the right factor: one addition takes the
// place of as many multiply-adds. The table is built once per tile and used by every row. Included once per CPU target.
#if defined(GRBM_KERNELS_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRBM_KERNELS_TABLE_INL_H_
#undef GRBM_KERNELS_TABLE_INL_H_
#else
#define GRBM_KERNELS_TABLE_INL_H_
#endif

#include "kernels/panels.h"
#include "kernels/random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace grbm::kernels::HWY_NAMESPACE {

// kTables tables of 2^kBits sums each, a sum being a line of each of kPanels panels: kTables · kBits bits of a row are
// served at once.
template <int kBits, int kTables, int kPanels>
class SubsetSums {
 public:
  static constexpr int kSpan = kTables * kBits;
  static_assert(kGroup % kSpan == 0 && (kPanels == 1 || kPanels == 2));

  // From rows first ... first + kSpan - 1 of the panels; those past the last row are zero.
  HWY_NOINLINE void Build(ConstPanelView right, Index panel, Index first) {
    for (int t = 0; t < kTables; ++t) {
      float* const table = sums_ + t * kEntries * kWidth;
      for (std::size_t i = 0; i < kSumVectors; ++i) hn::Store(hn::Zero(F32()), F32(), table + i * kLanes);
      if (first + t * kBits >= right.rows()) continue;  // no bit is set: the empty sum is all that is asked for
      for (int bit = 0; bit < kBits; ++bit) {
        const Index row = first + t * kBits + bit;
        VF line[kSumVectors];
        for (std::size_t i = 0; i < kSumVectors; ++i) {
          line[i] =
              row < right.rows() ? hn::Load(F32(), Part(right.line(panel, row), right.stride(), i)) : hn::Zero(F32());
        }
        // The entries with this bit as the highest are those below it, with the line added.
        const float* from = table;
        float* to = table + (1 << bit) * kWidth;
        for (int e = 0; e < 1 << bit; ++e) {
          for (std::size_t i = 0; i < kSumVectors; ++i, from += kLanes, to += kLanes) {
            hn::Store(hn::Add(hn::Load(F32(), from), line[i]), F32(), to);
          }
        }
      }
    }
  }

  // out += the sums that each row's bits ask for; `words` holds them from bit `shift` on.
  HWY_NOINLINE void Add(const std::uint64_t* HWY_RESTRICT words, Index shift, Index rows, float* HWY_RESTRICT out,
                        Index stride, bool first) const {
    const F32 f;
    for (Index r = 0; r < rows; ++r, out += kPanel) {
      const std::uint64_t bits = words[r] >> shift;
      VF sum[kSumVectors];
      for (std::size_t i = 0; i < kSumVectors; ++i) sum[i] = first ? hn::Zero(f) : hn::Load(f, Part(out, stride, i));
#pragma GCC unroll 16
      for (int t = 0; t < kTables; ++t) {
        // The index, already multiplied by the bytes of an entry.
        const int move = t * kBits - kLogBytes;
        const std::uint64_t offset = (move >= 0 ? bits >> (move & 63) : bits << (-move & 63)) & kOffsets;
        const char* const table = reinterpret_cast<const char*>(sums_ + t * kEntries * kWidth);
        const float* HWY_RESTRICT entry = reinterpret_cast<const float*>(table + offset);
        for (std::size_t i = 0; i < kSumVectors; ++i) sum[i] = hn::Add(sum[i], hn::Load(f, entry + i * kLanes));
      }
      for (std::size_t i = 0; i < kSumVectors; ++i) hn::Store(sum[i], f, Part(out, stride, i));
    }
  }

 private:
  static constexpr int kEntries = 1 << kBits;
  static constexpr int kWidth = kPanels * kPanel;
  static constexpr int kLogBytes = kPanels == 2 ? 7 : 6;
  static constexpr std::uint64_t kOffsets = std::uint64_t{kEntries - 1} << kLogBytes;
  static constexpr std::size_t kSumVectors = kPanels * kVectors;

  // Vector i of a line of each panel.
  template <typename T>
  static HWY_INLINE T* Part(T* line, Index stride, std::size_t i) {
    return line + static_cast<Index>(i / kVectors) * stride + i % kVectors * kLanes;
  }

  alignas(64) float sums_[kTables * kEntries * kWidth];
};

// out (+)= bits · right, for kPanels panels of the result.
template <int kBits, int kTables, int kPanels>
HWY_NOINLINE void TableProduct(ConstBitView bits, ConstPanelView right, Index panel, Rows rows, PanelView out,
                               bool accumulate) {
  static thread_local SubsetSums<kBits, kTables, kPanels> sums;
  for (Index k = 0; k < right.rows(); k += sums.kSpan) {
    sums.Build(right, panel, k);
    sums.Add(&bits.word(rows.first, k / kGroup), k % kGroup, rows.count, out.line(panel, rows.first), out.stride(),
             k == 0 && !accumulate);
  }
}

}  // namespace grbm::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
