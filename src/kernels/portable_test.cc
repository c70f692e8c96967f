// The same bits on every CPU target that has fused multiply-adds, x86-64 and arm64 alike: draws, and the products and
// draws of a step. (Sums in double depend on how many lanes a vector has.)
#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "kernels/targets.h"
// After them:
#include <hwy/targets.h>

namespace grbm::kernels {
namespace {

constexpr Index kRows = 37;
constexpr Index kVisible = 150;
constexpr Index kHidden = 200;

// FNV-1a.
std::uint64_t Hash(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
  return hash;
}
std::uint64_t Hash(const Panels& panels) {
  Matrix m(panels.rows(), panels.cols());
  for (Index p = 0; p < panels.view().panels(); ++p) Unpack(panels, p, m);
  return Hash(std::as_bytes(std::span<const float>(std::as_const(m).values())));
}
std::uint64_t Hash(ConstBitView h) {
  return Hash(std::as_bytes(std::span(h.words(), static_cast<std::size_t>(h.rows() * h.groups()))));
}

// Uniform in (-scale, scale): exact in float, so the same everywhere.
Panels Numbers(Index rows, Index cols, std::uint64_t step, float scale) {
  const Stream stream(1, Purpose::kEvaluate);
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      m(r, c) = scale * (2 * stream.Uniform(step, static_cast<std::uint32_t>(r), c) - 1);
    }
  }
  Panels panels(rows, cols);
  for (Index p = 0; p < panels.view().panels(); ++p) Pack(m, p, panels);
  return panels;
}

struct Results {
  std::uint64_t normals, logits, bits, product, moved, outer;
};

Results Compute() {
  const DrawPlace draw{Stream(7, Purpose::kHidden), 3, 11};
  const Rows all{0, kRows};
  Results out{};

  Matrix normals(kRows, kVisible);
  for (Index r = 0; r < kRows; ++r) DrawNormals(draw, r, normals.row(r));
  out.normals = Hash(std::as_bytes(std::span<const float>(std::as_const(normals).values())));

  const Panels v = Numbers(kRows, kVisible, 1, 2.0f);
  const Panels W = Numbers(kVisible, kHidden, 2, 0.5f);
  const Panels W_transposed = Numbers(kHidden, kVisible, 3, 0.5f);
  Panels logits(kRows, kHidden);
  BitMatrix h(kRows, kHidden);
  const PanelRow bias(std::vector<float>(static_cast<std::size_t>(kHidden), 0.125f), kNever);
  HiddenResult result;
  result.logits = logits;
  result.draw = {h, draw};
  for (Index g = 0; g < GroupCount(kHidden); ++g) {
    Hidden(v, W, bias, g, all, result);
  }
  out.logits = Hash(logits);
  out.bits = Hash(h);

  Panels product(kRows, kVisible);
  Panels moved(kRows, kVisible);
  const PanelRow mu(kVisible, 0.25f);
  const PanelRow keep(kVisible, 0.8f);
  const PanelRow noise(kVisible, 0.6f);
  for (Index t = 0; t < GroupCount(kVisible); ++t) {
    HiddenProduct(h, W_transposed, t, all, product);
    MoveVisible(draw, {mu, keep, noise}, v, product, t, all, moved);
  }
  out.product = Hash(product);
  out.moved = Hash(moved);

  BitMatrix h_transposed(kHidden, kRows);
  for (Index g = 0; g < GroupCount(kHidden); ++g) TransposeBits(h, g, h_transposed);
  Panels outer(kHidden, kVisible);
  for (Index p = 0; p < PanelCount(kVisible); ++p) AccumulateOuter(h_transposed, v, p, {0, kHidden}, outer);
  out.outer = Hash(outer);
  return out;
}

TEST(Portable, TargetsWithFusedMultiplyAddGiveTheSameBits) {
  constexpr std::int64_t kUnfused = HWY_SSE4 | HWY_SSSE3 | HWY_EMU128 | HWY_SCALAR;
  for (std::int64_t left = hwy::SupportedTargets() & (HWY_TARGETS) & ~kUnfused; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    const Results results = Compute();
    hwy::SetSupportedTargetsForTest(0);
    SCOPED_TRACE(hwy::TargetName(left & -left));
    EXPECT_EQ(results.normals, 0x480779ef07fdf361u);
    EXPECT_EQ(results.logits, 0x21955478b134556eu);
    EXPECT_EQ(results.bits, 0xe98921ed9306571cu);
    EXPECT_EQ(results.product, 0xf074127557936e1bu);
    EXPECT_EQ(results.moved, 0xc764434a6f24dc5au);
    EXPECT_EQ(results.outer, 0x83e4301ec9b2420au);
  }
}

}  // namespace
}  // namespace grbm::kernels
