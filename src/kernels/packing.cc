// Rows and columns from one order into another.
#include "kernels/targets.h"
// After it:
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "kernels/kernels.h"

namespace grbm::kernels {

namespace {

// Shuffles of four floats are as good on every target.
namespace hn = hwy::HWY_NAMESPACE;
using F4 = hn::FixedTag<float, 4>;

Index PanelWidth(Index cols, Index panel) { return std::min(kPanel, cols - panel * kPanel); }

// The transpose of 4 × 4 numbers, each of its rows handed to out(row, numbers).
template <typename Out>
void Transpose4(const float* from, Index stride, const Out& out) {
  const hn::Repartition<double, F4> pairs;
  const auto row = [&](Index r) { return hn::LoadU(F4(), from + r * stride); };
  const auto low = [&](auto a, auto b) { return hn::BitCast(pairs, hn::InterleaveLower(F4(), a, b)); };
  const auto high = [&](auto a, auto b) { return hn::BitCast(pairs, hn::InterleaveUpper(F4(), a, b)); };
  const auto put = [&](Index r, auto a, auto b) {
    out(r, hn::BitCast(F4(), hn::InterleaveLower(pairs, a, b)));
    out(r + 1, hn::BitCast(F4(), hn::InterleaveUpper(pairs, a, b)));
  };
  put(0, low(row(0), row(1)), low(row(2), row(3)));
  put(2, high(row(0), row(1)), high(row(2), row(3)));
}

// to = fromᵀ, with each row multiplied by its factor where there are factors. In blocks of 16 × 16, whose lines are read
// and written whole: rows whose lengths are powers of two fall into the same few places of a cache.
void Transpose(ConstMatrix from, std::span<const float> factors, MutableMatrix to) {
  constexpr Index kBlock = 16;
  const auto factor = [&](Index r) { return factors.empty() ? 1.0f : factors[static_cast<std::size_t>(r)]; };
  const Index whole_rows = from.rows() / kBlock * kBlock;
  const Index whole_cols = from.cols() / kBlock * kBlock;
  float block[kBlock * kBlock];
  for (Index first_row = 0; first_row < whole_rows; first_row += kBlock) {
    for (Index first_col = 0; first_col < whole_cols; first_col += kBlock) {
      for (Index r = 0; r < kBlock; ++r) std::copy_n(&from(first_row + r, first_col), kBlock, block + r * kBlock);
      for (Index c = 0; c < kBlock; c += 4) {
        for (Index r = 0; r < kBlock; r += 4) {
          Transpose4(block + r * kBlock + c, kBlock, [&](Index k, auto numbers) {
            const Index col = first_col + c + k;
            hn::StoreU(hn::Mul(numbers, hn::Set(F4(), factor(col))), F4(), &to(col, first_row + r));
          });
        }
      }
    }
  }
  for (Index r = 0; r < from.rows(); ++r) {
    for (Index c = r < whole_rows ? whole_cols : 0; c < from.cols(); ++c) to(c, r) = from(r, c) * factor(c);
  }
}

// Exchanges rows and columns of 64 × 64 bits: ever smaller blocks off the diagonal change places.
void Transpose64(std::uint64_t (&rows)[64]) {
  std::uint64_t mask = 0x00000000FFFFFFFF;
  for (unsigned width = 32; width != 0; width >>= 1, mask ^= mask << width) {
    for (unsigned r = 0; r < 64; r = (r + width + 1) & ~width) {
      const std::uint64_t exchange = (rows[r] >> width ^ rows[r + width]) & mask;
      rows[r] ^= exchange << width;
      rows[r + width] ^= exchange;
    }
  }
}

}  // namespace

void Pack(ConstMatrix from, Index panel, PanelView to, std::span<const float> row_factors) {
  const Index width = PanelWidth(from.cols(), panel);
  for (Index r = 0; r < from.rows(); ++r) {
    const float factor = row_factors.empty() ? 1.0f : row_factors[static_cast<std::size_t>(r)];
    const float* const in = from.row(r).data() + panel * kPanel;
    float* const line = to.line(panel, r);
    for (Index c = 0; c < width; ++c) line[c] = in[c] * factor;
  }
}

void PackTransposed(ConstMatrix from, Index panel, PanelView to) {
  const Index width = PanelWidth(from.rows(), panel);
  Transpose(from.Rows(panel * kPanel, width), {}, {to.line(panel, 0), from.cols(), width, kPanel});
}

void UnpackTransposed(ConstPanelView from, Index panel, std::span<const float> column_factors, MutableMatrix to) {
  const Index width = PanelWidth(from.cols(), panel);
  Transpose({from.line(panel, 0), from.rows(), width, kPanel}, column_factors, to.Rows(panel * kPanel, width));
}

void Unpack(ConstPanelView from, Index panel, MutableMatrix to) {
  const Index width = PanelWidth(to.cols(), panel);
  for (Index r = 0; r < to.rows(); ++r) std::copy_n(from.line(panel, r), width, to.row(r).data() + panel * kPanel);
}

void TransposeBits(ConstBitView h, Index group, BitView transposed, std::span<double> on) {
  const Index units = std::min(kGroup, h.units() - group * kGroup);
  for (Index block = 0; block < transposed.groups(); ++block) {
    std::uint64_t bits[64] = {};
    const Index count = std::min(kGroup, h.rows() - block * kGroup);
    std::copy_n(&h.word(block * kGroup, group), count, bits);
    Transpose64(bits);
    std::copy_n(bits, units, &transposed.word(group * kGroup, block));
    for (Index j = 0; j < units && !on.empty(); ++j) {
      on[static_cast<std::size_t>(group * kGroup + j)] += std::popcount(bits[j]);
    }
  }
}

RightFactor::RightFactor(ConstMatrix right, std::span<const float> start, std::span<const float> row_factors)
    : right_(right.rows(), right.cols()), start_(start) {
  for (Index p = 0; p < PanelCount(right.cols()); ++p) Pack(right, p, right_, row_factors);
}

void RightFactor::Multiply(ConstMatrix left, MutableMatrix out) const {
  Panels rows(left.rows(), left.cols());
  for (Index p = 0; p < PanelCount(left.cols()); ++p) Pack(left, p, rows);
  Panels product(left.rows(), right_.cols());
  HiddenResult result;
  result.logits = product;
  for (Index g = 0; g < GroupCount(right_.cols()); ++g) Hidden(rows, right_, start_, g, {0, left.rows()}, result);
  for (Index p = 0; p < PanelCount(out.cols()); ++p) Unpack(product, p, out);
}

}  // namespace grbm::kernels
