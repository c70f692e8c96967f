// Rows and columns from one order into another.
#include <algorithm>

#include "kernels/kernels.h"

namespace grbm::kernels {

namespace {

Index PanelWidth(Index cols, Index panel) { return std::min(kPanel, cols - panel * kPanel); }

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
  const float* in[kPanel];
  for (Index c = 0; c < width; ++c) in[c] = from.row(panel * kPanel + c).data();
  for (Index r = 0; r < from.cols(); ++r) {
    float* const line = to.line(panel, r);
    for (Index c = 0; c < width; ++c) line[c] = in[c][r];
  }
}

void Unpack(ConstPanelView from, Index panel, MutableMatrix to) {
  const Index width = PanelWidth(to.cols(), panel);
  for (Index r = 0; r < to.rows(); ++r) std::copy_n(from.line(panel, r), width, to.row(r).data() + panel * kPanel);
}

void TransposeBits(ConstBitView h, Index group, BitView transposed) {
  const Index units = std::min(kGroup, h.units() - group * kGroup);
  for (Index block = 0; block < transposed.groups(); ++block) {
    std::uint64_t bits[64] = {};
    const Index count = std::min(kGroup, h.rows() - block * kGroup);
    std::copy_n(&h.word(block * kGroup, group), count, bits);
    Transpose64(bits);
    std::copy_n(bits, units, &transposed.word(group * kGroup, block));
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
