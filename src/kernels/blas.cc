// Dense products by the serial BLAS, on fixed row blocks.
#include <blis.h>
#include <cblas.h>

#include <algorithm>
#include <string>

#include "kernels/kernels.h"

namespace grbm::kernels {

namespace {

int Int(Index value) { return static_cast<int>(value); }
std::size_t Size(Index value) { return static_cast<std::size_t>(value); }

// This thread's scratch space number `slot`, of at least `size` floats; kept from call to call.
float* Scratch(int slot, Index size) {
  static thread_local AlignedVector<float> space[2];
  AlignedVector<float>& s = space[slot];
  if (s.size() < Size(size)) s.resize(Size(size));
  return s.data();
}

// out = left · (something), block by block: `fill` writes a row of the left factor, which has `inner` columns, and
// `product` multiplies a whole block of them onto a block of `out`.
template <typename FillRow, typename Product>
void ForRowBlocks(Index lead, Index inner, MutableMatrix out, const FillRow& fill, const Product& product) {
  const RowBlocks blocks(static_cast<std::uint32_t>(lead), out.rows());
  for (Index k = 0; k < blocks.count(); ++k) {
    const Index first = blocks.begin(k);
    const Index count = blocks.end(k) - first;
    const bool whole = count == kRowBlock;
    float* left = Scratch(0, kRowBlock * inner);
    if (!whole) std::fill(left, left + kRowBlock * inner, 0.0f);
    float* const left_rows = left + blocks.lead_of(k) * inner;
    for (Index r = 0; r < count; ++r) fill(first + r, std::span(left_rows + r * inner, Size(inner)));
    if (whole) {
      product(left, out.row(first).data(), out.stride());
      continue;
    }
    // A block with gaps is multiplied in scratch space.
    const Index cols = out.cols();
    float* padded = Scratch(1, kRowBlock * cols);
    std::fill(padded, padded + kRowBlock * cols, 0.0f);
    float* const padded_rows = padded + blocks.lead_of(k) * cols;
    for (Index r = 0; r < count; ++r) std::ranges::copy(out.row(first + r), padded_rows + r * cols);
    product(left, padded, cols);
    for (Index r = 0; r < count; ++r) std::copy_n(padded_rows + r * cols, cols, out.row(first + r).begin());
  }
}

// out = left Wᵀ, with the rows of `left` written by `fill`.
template <typename FillRow>
void TimesTransposed(Index lead, ConstMatrix W, MutableMatrix out, const FillRow& fill) {
  GRBM_CHECK(out.cols() == W.rows());
  ForRowBlocks(lead, W.cols(), out, fill, [&](const float* left, float* block, Index stride) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, Int(kRowBlock), Int(W.rows()), Int(W.cols()), 1.0f, left,
                Int(W.cols()), W.data(), Int(W.stride()), 0.0f, block, Int(stride));
  });
}

// The eight floats of each byte, lowest bit first.
struct ByteFloats {
  float values[256][8];
  constexpr ByteFloats() : values() {
    for (int byte = 0; byte < 256; ++byte) {
      for (int bit = 0; bit < 8; ++bit) values[byte][bit] = static_cast<float>(byte >> bit & 1);
    }
  }
};
constexpr ByteFloats kByteFloats;

void ExpandBits(ConstBitView h, Index row, std::span<float> out) {
  const auto units = Size(h.units());
  for (Index g = 0; g < h.groups(); ++g) {
    std::uint64_t word = h.word(row, g);
    const std::size_t end = std::min(units, Size((g + 1) * ConstBitView::kGroup));
    for (std::size_t j = Size(g * ConstBitView::kGroup); j < end; j += 8, word >>= 8) {
      std::copy_n(kByteFloats.values[word & 0xff], std::min<std::size_t>(8, units - j), out.data() + j);
    }
  }
}

// sum += vᵀ right, with the rows of `right` written by `fill`; kOuterRows rows of the batch per product.
constexpr Index kOuterRows = 512;

template <typename FillRow>
void AccumulateTransposed(ConstMatrix v, MutableMatrix sum, const FillRow& fill) {
  GRBM_CHECK(sum.rows() == v.cols());
  const Index hidden = sum.cols();
  for (Index first = 0; first < v.rows(); first += kOuterRows) {
    const Index count = std::min(kOuterRows, v.rows() - first);
    float* right = Scratch(0, count * hidden);
    for (Index r = 0; r < count; ++r) fill(first + r, std::span(right + r * hidden, Size(hidden)));
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, Int(v.cols()), Int(hidden), Int(count), 1.0f,
                v.row(first).data(), Int(v.stride()), right, Int(hidden), 1.0f, sum.data(), Int(sum.stride()));
  }
}

}  // namespace

std::string BlasName() { return std::string("BLIS ") + bli_info_get_version_str(); }

std::string CpuTarget() { return bli_arch_string(bli_arch_query_id()); }

void Logits(ConstMatrix v, std::span<const float> inverse_variance, ConstMatrix W, std::span<const float> b,
            MutableMatrix logits, Index lead) {
  GRBM_CHECK(v.cols() == W.rows() && logits.rows() == v.rows() && logits.cols() == W.cols());
  for (Index r = 0; r < v.rows(); ++r) std::ranges::copy(b, logits.row(r).begin());
  const auto scale = [&](Index row, std::span<float> out) {
    const std::span<const float> in = v.row(row);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i] * inverse_variance[i];
  };
  ForRowBlocks(lead, v.cols(), logits, scale, [&](const float* left, float* block, Index stride) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, Int(kRowBlock), Int(W.cols()), Int(W.rows()), 1.0f, left,
                Int(W.rows()), W.data(), Int(W.stride()), 1.0f, block, Int(stride));
  });
}

void HiddenProduct(ConstBitView h, ConstMatrix W, MutableMatrix product, Index lead) {
  GRBM_CHECK(h.units() == W.cols() && h.rows() == product.rows());
  TimesTransposed(lead, W, product, [&](Index row, std::span<float> out) { ExpandBits(h, row, out); });
}

void ProbabilityProduct(ConstMatrix logits, ConstMatrix W, MutableMatrix product, Index lead) {
  GRBM_CHECK(logits.cols() == W.cols() && logits.rows() == product.rows());
  TimesTransposed(lead, W, product, [&](Index row, std::span<float> out) { Sigmoid(logits.row(row), out); });
}

void AccumulateOuter(ConstMatrix v, ConstBitView h, MutableMatrix sum) {
  GRBM_CHECK(h.rows() == v.rows() && h.units() == sum.cols());
  AccumulateTransposed(v, sum, [&](Index row, std::span<float> out) { ExpandBits(h, row, out); });
}

void AccumulateProbabilityOuter(ConstMatrix v, ConstMatrix logits, MutableMatrix sum) {
  GRBM_CHECK(logits.rows() == v.rows() && logits.cols() == sum.cols());
  AccumulateTransposed(v, sum, [&](Index row, std::span<float> out) { Sigmoid(logits.row(row), out); });
}

}  // namespace grbm::kernels
