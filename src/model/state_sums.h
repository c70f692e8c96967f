// The sums over states behind the gradients of the energies, on panels.
#pragma once

#include <span>
#include <vector>

#include "grbm/model/gradient.h"
#include "model/packed.h"

namespace grbm {

// The states of one piece of a batch. The term v_i Σ_j W_ij h_j of the gradient in log σ² needs no sum of its own: it is
// Σ_j W_ij Σ v_i h_j. That product is made of many states at once: they are kept until there are `room` of them. Or they
// are added once, and stay where they are until the sums have been read.
class StateSums {
 public:
  using Hidden = EnergyStatistics::Hidden;
  using Visible = EnergyStatistics::Visible;

  // The variance of v around a mean that is known: `relative` σ² + `absolute`.
  struct Noise {
    double relative = 0;
    double absolute = 0;
  };

  static constexpr Index kInPlace = -1;  // room for states that stay where they are
  StateSums(const Model& model, Hidden hidden, Visible visible, Index room = 0);
  // Of vector().
  static std::size_t VectorSize(const Model& model, Visible visible);
  void Reset(const Model& model);

  void Add(kernels::ConstPanelView v, ConstBitView h, ThreadPool& pool);
  void Add(kernels::ConstPanelView v, kernels::ConstPanelView p, ThreadPool& pool);
  // Of v ~ N(mean, noise), the sums that are expected given p = sigmoid(inverse_temperature · logits of v): as those of v
  // with p, without most of the noise.                                                               [math.md (47)]
  void AddMeans(kernels::ConstPanelView mean, Noise noise, kernels::ConstPanelView p, double inverse_temperature,
                ThreadPool& pool);
  // Adds to Σ (v - μ) of one unit.
  void AddOffset(Index unit, double amount) { offset()[ToSize(unit)] += amount; }
  // After the last state. With `all`, none is kept any longer.
  void Close(bool all, ThreadPool& pool);

  Hidden hidden() const { return hidden_kind_; }
  Visible visible() const { return visible_kind_; }
  const Model& model() const { return *model_; }
  double count() const { return count_; }

  // --- of closed sums

  // out += Σ h vᵀ of one panel of visible units, or out = it.
  void AddOuter(Index panel, kernels::PanelView out, kernels::Sums sums) const;
  // The same as it is here, or made in `memory`.
  kernels::ConstPanelView OuterPanel(Index panel, kernels::PanelView memory) const;
  // All other sums, one after the other: Σ h, Σ (v - μ), Σ (v - μ)² and, of expected visible units, Σ ∂p/∂x times the
  // noise's variance, for noise relative to σ² and absolute.
  std::span<const double> vector() const { return vector_; }

 private:
  std::span<double> hidden_sum() { return Slice(0, padded_hidden_); }
  std::span<double> offset() { return Slice(padded_hidden_, padded_visible_); }
  std::span<double> square() { return Slice(padded_hidden_ + padded_visible_, padded_visible_); }
  std::span<double> slope(std::size_t k) {
    return Slice((1 + k) * padded_hidden_ + 2 * padded_visible_, padded_hidden_);
  }
  std::span<double> Slice(std::size_t first, std::size_t size) { return std::span(vector_).subspan(first, size); }

  void AddVisible(kernels::ConstPanelView v, ThreadPool& pool);
  // Adds Σ h vᵀ of the states that are kept to the product's sum.
  void Settle(ThreadPool& pool);
  void Transpose(ConstBitView h, ThreadPool& pool);
  template <typename Outer>
  void AddToSum(const Outer& outer, ThreadPool& pool);
  bool MakeRoom(Index rows, ThreadPool& pool);
  bool in_place() const { return room_ == kInPlace; }
  kernels::ConstPanelView kept_visible() const { return in_place() ? visible_there_ : visible_.view().Rows(0, kept_); }
  kernels::ConstPanelView kept_probabilities() const {
    return in_place() ? probabilities_there_ : probabilities_.view().Rows(0, kept_);
  }
  ConstBitView kept_hidden() const { return in_place() ? hidden_there_ : hidden_.view().Rows(0, kept_); }

  const Model* model_;
  Hidden hidden_kind_;
  Visible visible_kind_;
  std::size_t padded_hidden_;
  std::size_t padded_visible_;
  double count_ = 0;
  kernels::Panels sum_;  // Σ h vᵀ of states that are no longer kept, hidden × visible; empty where there are none
  bool has_sum_ = false;
  std::vector<double> vector_;
  // The states that are kept: `kept_` rows, here or where they are.
  Index room_;
  Index kept_ = 0;
  kernels::Panels visible_;
  kernels::Panels probabilities_;
  BitMatrix hidden_;
  kernels::ConstPanelView visible_there_;
  kernels::ConstPanelView probabilities_there_;
  ConstBitView hidden_there_;
  BitMatrix transposed_;
};

// Those behind statistics.
StateSums& SumsOf(EnergyStatistics& statistics);

// A piece's data against its chains, where there are any: each state of the data counts `counted` times.
struct PieceSums {
  const StateSums* data;
  const StateSums* chains = nullptr;
  const StateSums* term = nullptr;  // whose product is added to that of the data
};
// One panel of the product's sum in memory of the calling thread, that stands for each: hidden × visible. There are three.
kernels::PanelView OnePanel(Index hidden, Index visible, int number);
// What both make of one panel of the product's sum, counted · data - chains, is added to out or written there. out:
// hidden × visible. Panels 0 and 1 in memory are used.
void PanelDifference(const PieceSums& piece, double counted, Index panel, kernels::PanelView out, kernels::Sums sums);
// to += from, of one panel.
void AddPanel(kernels::ConstPanelView from, Index panel, kernels::PanelView to);

// The gradient from the sums over all pieces: factor · (counted · Σ_data ∂E/∂θ - Σ_chains ∂E/∂θ).
class GradientOfSums {
 public:
  // The vectors of all sums, added up: of the data, and of the chains (empty: none).
  GradientOfSums(const Model& model, std::span<const double> data, std::span<const double> chains, double counted,
                 double factor, ThreadPool& pool);

  // The rows of one panel of visible units: W, μ and log σ². sum: the panel's product, changed.
  void WritePanel(Index panel, kernels::PanelView sum, Parameters& gradient) const;
  void WriteHidden(Parameters& gradient) const;

 private:
  const Model& model_;
  const PackedWeights& weights_;
  double factor_;
  bool has_slopes_;
  std::vector<double> vector_;
};

// All of it, from pieces that are here: their sums are added in this order. Returns the vector of the data's sums.
std::vector<double> WriteGradient(std::span<const PieceSums> pieces, double counted, double factor,
                                  Parameters& gradient, ThreadPool& pool);
// The sum of vectors in order, element by element.
std::vector<double> AddInOrder(std::span<const std::span<const double>> vectors);

// Means over states of v and h, from the vector of sums over `count` of them.
std::vector<float> MeanVisible(const Model& model, std::span<const double> vector, double count);
std::vector<float> MeanHidden(const Model& model, std::span<const double> vector, double count);

}  // namespace grbm
