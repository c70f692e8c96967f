// The numerical kernels, behind one header. They run on the calling thread and know no model, only arrays.
//
// Rows are chains. A row's result never depends on what other rows hold, nor on how many there are: dense products
// run on blocks of exactly kRowBlock rows, counted from the first row of the view, the last one padded with zeros.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "grbm/core/matrix.h"
#include "grbm/core/random.h"

namespace grbm::kernels {

inline constexpr Index kRowBlock = 32;

// A batch of rows cut into such blocks: block k has rows begin(k) to end(k) - 1. With `lead` the number of the first
// chain, a chain keeps its place in its block however the chains are split over batches.
struct RowBlocks {
  Index lead;  // rows before the first one in its block
  Index rows;

  RowBlocks(std::uint32_t first_chain, Index row_count)
      : lead(static_cast<Index>(first_chain) % kRowBlock), rows(row_count) {}
  Index count() const { return (lead + rows + kRowBlock - 1) / kRowBlock; }
  Index begin(Index k) const { return k == 0 ? 0 : k * kRowBlock - lead; }
  Index end(Index k) const { return std::min(rows, (k + 1) * kRowBlock - lead); }
  Index lead_of(Index k) const { return k == 0 ? lead : 0; }
};

// The library behind the dense products, and the CPU it chose its code for: "BLIS 0.9.0", "zen3".
std::string BlasName();
std::string CpuTarget();

// logits = b + (v ∘ inverse_variance) W                                                                 [math.md (4)]
// v: rows × visible, W: visible × hidden, logits: rows × hidden.
void Logits(ConstMatrix v, std::span<const float> inverse_variance, ConstMatrix W, std::span<const float> b,
            MutableMatrix logits, Index lead = 0);

// product = h Wᵀ, with h given as bits.         h: rows × hidden, product: rows × visible.              [math.md (3)]
void HiddenProduct(ConstBitView h, ConstMatrix W, MutableMatrix product, Index lead = 0);
// product = sigmoid(logits) Wᵀ.                                                                         [math.md (7)]
void ProbabilityProduct(ConstMatrix logits, ConstMatrix W, MutableMatrix product, Index lead = 0);

// sum += vᵀ h.       v: rows × visible, sum: visible × hidden.                                          [math.md (9)]
void AccumulateOuter(ConstMatrix v, ConstBitView h, MutableMatrix sum);
// sum += vᵀ sigmoid(logits).                                                                           [math.md (10)]
void AccumulateProbabilityOuter(ConstMatrix v, ConstMatrix logits, MutableMatrix sum);

// out = sigmoid(x).
void Sigmoid(std::span<const float> x, std::span<float> out);

// Where in the random streams a row draws: (step, chain) of a stream.
struct DrawKey {
  const Stream& stream;
  std::uint64_t step;
  std::uint32_t chain;
};

// Standard normals for units 0, 1, ...
void DrawNormals(const DrawKey& key, std::span<float> out);

// Bit `unit` of `row` is 1 with probability sigmoid(inverse_temperature · logits[unit]).                [math.md (4)]
void DrawBernoulli(const DrawKey& key, std::span<const float> logits, float inverse_temperature, BitView h, Index row);

// Sums of one row, in double.
double SumSoftplus(std::span<const float> x);                             // Σ log(1 + exp x)
double SumWhereSet(std::span<const float> x, ConstBitView h, Index row);  // Σ h x
double SumScaledSquares(std::span<const float> v, std::span<const float> mu,
                        std::span<const float> inverse_variance);  // Σ (v - mu)² / var

}  // namespace grbm::kernels
