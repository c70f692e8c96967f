// The numerical kernels, behind one header. They run on the calling thread and know no model, only arrays. Each is
// compiled for several CPU targets; the best one for the CPU at hand is chosen when the program runs.
//
// Rows are chains. A row's result never depends on what other rows hold, nor on how many there are or how they are
// split over calls: each sum has one order, fixed by the columns alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "grbm/core/matrix.h"
#include "grbm/core/random.h"
#include "kernels/panels.h"

namespace grbm::kernels {

// The CPU target in use: "AVX2".
std::string CpuTarget();

// Hidden units are treated in groups of 64, as bits are stored; visible units in tiles of 64, as normals are drawn.
inline constexpr Index kGroup = ConstBitView::kGroup;
inline constexpr Index kGroupPanels = kGroup / kPanel;
constexpr Index GroupCount(Index units) { return (units + kGroup - 1) / kGroup; }
// The panels of group g of a matrix with `cols` columns: four, or fewer in the last one.
constexpr Index GroupPanels(Index cols, Index g) { return std::min(kGroupPanels, PanelCount(cols) - g * kGroupPanels); }

// A range of rows.
struct Rows {
  Index first;
  Index count;
};

// --- packing

// One panel of a matrix, with each row multiplied by its factor where there are factors; of its transpose; and back: the
// transpose with each column multiplied by its factor, of which there are kPanel.
void Pack(ConstMatrix from, Index panel, PanelView to, std::span<const float> row_factors = {});
void PackTransposed(ConstMatrix from, Index panel, PanelView to);
void Unpack(ConstPanelView from, Index panel, MutableMatrix to);
void UnpackTransposed(ConstPanelView from, Index panel, std::span<const float> column_factors, MutableMatrix to);

// --- products

// What becomes of the logits x of a group of hidden units. What is left empty is not wanted.
struct HiddenResult {
  // Writes bits: bit j is 1 with probability sigmoid(inverse_temperature · x).
  struct Draw {
    BitView bits;
    DrawPlace place;
    float inverse_temperature = 1;
  };

  PanelView logits;
  PanelView probabilities;  // sigmoid(probability_scale · x)
  float probability_scale = 1;
  std::optional<Draw> draw;
  ConstBitView states;  // h of the sums, where none is drawn; it is read alone
  // Σ h x, and Σ log(1 + exp x): of row r in element group · stride + r.
  double* active = nullptr;
  double* softplus = nullptr;
  Index stride = 0;
};
// x = b + v W, for one group of hidden units. b is padded with kNever.                                  [math.md (4)]
void Hidden(ConstPanelView v, ConstPanelView W, const PanelRow& b, Index group, Rows rows, const HiddenResult& result);
inline constexpr float kNever = -1e30f;  // the logit of a unit that is never on

// The same of logits that are there, each multiplied by `scale`.
void FromLogits(ConstPanelView logits, float scale, Index group, Rows rows, const HiddenResult& result);

// product = h Wᵀ and p Wᵀ, for one tile of visible units. W_transposed: hidden × visible.          [math.md (3), (7)]
void HiddenProduct(ConstBitView h, ConstPanelView W_transposed, Index tile, Rows rows, PanelView product);
void ProbabilityProduct(ConstPanelView p, ConstPanelView W_transposed, Index tile, Rows rows, PanelView product);

// sum += hᵀ v and pᵀ v, for one panel of visible units and the given hidden units, whose first is a multiple of
// kPanel; or =, with the bits of sums that were 0. sum: hidden × visible; h_transposed: hidden × rows.
//                                                                                                 [math.md (9), (10)]
enum class Sums { kAdd, kReplace };
void AccumulateOuter(ConstBitView h_transposed, ConstPanelView v, Index panel, Rows units, PanelView sum,
                     Sums sums = Sums::kAdd);
void AccumulateProbabilityOuter(ConstPanelView p, ConstPanelView v, Index panel, Rows units, PanelView sum,
                                Sums sums = Sums::kAdd);

// out += times · a - b, or out = it, of one panel; a and out may be the same. No multiplication is joined to an addition.
void AddDifference(float times, ConstPanelView a, ConstPanelView b, Index panel, PanelView out, Sums sums);

// out = start + left · right, for matrices in rows: what is off the hot path. Each row of `right` is multiplied by its
// factor where there are factors.
class RightFactor {
 public:
  explicit RightFactor(ConstMatrix right, std::span<const float> start, std::span<const float> row_factors = {});
  void Multiply(ConstMatrix left, MutableMatrix out) const;

 private:
  Panels right_;
  PanelRow start_;
};

// The bits of one group of units, with rows and units exchanged. How many rows have a unit on is added to its element of
// `on`, where that is wanted.
void TransposeBits(ConstBitView h, Index group, BitView transposed, std::span<double> on = {});

// --- random numbers

// out = standard normals for units 0, 1, ... of row `row` of the draws.
void DrawNormals(const DrawPlace& draw, Index row, std::span<float> out);
// The same for one tile of visible units and the given rows.
void DrawNormalTile(const DrawPlace& draw, Index tile, Rows rows, PanelView out);

// v' = m + keep ∘ (v - m) + noise ∘ ξ with m = μ + product, for one tile of visible units; v and `to` may be the same.
struct VisibleMove {
  const PanelRow& mu;
  const PanelRow& keep;
  const PanelRow& noise;
};
void MoveVisible(const DrawPlace& draw, const VisibleMove& move, ConstPanelView v, ConstPanelView product, Index tile,
                 Rows rows, PanelView to);

// --- sums, in double

double SumSoftplus(std::span<const float> x);   // Σ log(1 + exp x)
double SumOfSquares(std::span<const float> x);  // the same bits on every target

// Of one panel, added to out[0] ... out[15]: Σ x, and Σ (v - μ) and Σ (v - μ)².
void AddColumns(ConstPanelView x, Index panel, double* out);
void AddMoments(ConstPanelView v, const PanelRow& mu, Index panel, double* offset, double* square);
// out[0] ... out[15] = Σ p (1 - p) of one panel, in float. No multiplication is joined to an addition.
void SumSlopes(ConstPanelView p, Index panel, float* out);
// out[k] += Σ_rows a b for column k of a panel.
void AddProducts(ConstPanelView a, ConstPanelView b, Index panel, double* out);

// What a rule of acceptance needs to know of a move's visible units; m = μ + product, m' = μ + product'.
struct VisibleSums {
  double from = 0;         // Σ (v - μ)²/2σ²
  double to = 0;           // Σ (v' - μ)²/2σ²
  double proposal = 0;     // Σ (r² - r̄²)/2noise², r = v' - m - keep(v - m), r̄ = v - m' - keep(v' - m')
  double conditional = 0;  // Σ ((v - m)² - (v' - m)²)/2σ²
};
struct VisiblePair {
  ConstPanelView v_from, product_from, v_to, product_to;
};
struct VisibleWeights {
  const PanelRow& mu;
  const PanelRow& keep;
  const PanelRow& inverse_variance;
  std::span<const double> inverse_noise;  // 1/2noise², 0 in the padding
};
// sums[r] += those of one tile, for the rows given.
void AddVisibleSums(const VisiblePair& pair, const VisibleWeights& weights, Index tile, Rows rows, VisibleSums* sums);

// --- steps

// The gradient becomes what the parameters are after a step. In double, with one rounding of each result: the same bits
// on every target.

// One step of gradient descent; with a running sum of the gradients where `moment` is not empty.
struct SgdStep {
  double scale;  // of the gradient
  double momentum;
  double rate;
  double decay;  // share of a parameter that is taken off
};
void StepSgd(const SgdStep& step, std::span<const float> parameters, std::span<float> moment,
             std::span<float> gradient);

// One step of Adam: the running means of the gradient and of its square move on.                        [math.md (33)]
struct AdamStep {
  double scale;  // of the gradient
  double beta1, beta2;
  double correction1, correction2;  // 1 - beta^t after t steps
  double rate;
  double decay;  // share of a parameter that is taken off
  double epsilon;
};
void StepAdam(const AdamStep& step, std::span<const float> parameters, std::span<float> first, std::span<float> second,
              std::span<float> gradient);

}  // namespace grbm::kernels
