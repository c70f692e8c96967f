// From the sums over states to the gradient.
#include <algorithm>
#include <cmath>

#include "model/state_sums.h"

namespace grbm {

using kernels::kPanel;
using kernels::PanelView;
using kernels::Sums;

namespace {

std::size_t Padded(Index units) { return ToSize(kernels::PanelCount(units) * kPanel); }

}  // namespace

PanelView OnePanel(Index hidden, Index visible, int number) {
  static thread_local AlignedVector<float> panels[3];
  AlignedVector<float>& memory = panels[number];
  if (memory.size() < ToSize(hidden * kPanel)) memory.resize(ToSize(hidden * kPanel));
  return {memory.data(), hidden, visible, 0};
}

void PanelDifference(const PieceSums& piece, double counted, Index panel, PanelView out, Sums sums) {
  if (piece.chains == nullptr) return piece.data->AddOuter(panel, out, sums);
  const PanelView memory = OnePanel(out.rows(), out.cols(), 0);
  kernels::ConstPanelView data = memory;
  if (piece.term != nullptr) {
    piece.data->AddOuter(panel, memory, Sums::kReplace);
    piece.term->AddOuter(panel, memory, Sums::kAdd);
  } else {
    data = piece.data->OuterPanel(panel, memory);
  }
  const kernels::ConstPanelView chains = piece.chains->OuterPanel(panel, OnePanel(out.rows(), out.cols(), 1));
  kernels::AddDifference(static_cast<float>(counted), data, chains, panel, out, sums);
}

void AddPanel(kernels::ConstPanelView from, Index panel, PanelView to) {
  for (Index row = 0; row < to.rows(); ++row) {
    const float* const in = from.line(panel, row);
    float* const out = to.line(panel, row);
    for (Index k = 0; k < kPanel; ++k) out[k] += in[k];
  }
}

GradientOfSums::GradientOfSums(const Model& model, std::span<const double> data, std::span<const double> chains,
                               double counted, double factor, ThreadPool& pool)
    : model_(model),
      weights_(model.packed(pool)),
      factor_(factor),
      has_slopes_(data.size() > Padded(model.hidden()) + 2 * Padded(model.visible())),
      vector_(data.begin(), data.end()) {
  for (std::size_t k = 0; k < chains.size(); ++k) vector_[k] = counted * vector_[k] - chains[k];
}

void GradientOfSums::WritePanel(Index panel, PanelView sum, Parameters& gradient) const {
  const std::size_t hidden = Padded(model_.hidden());
  const std::size_t visible = Padded(model_.visible());
  const double* const offset = vector_.data() + hidden;
  const double* const square = offset + visible;
  float* const lines = sum.line(panel, 0);
  if (has_slopes_) {
    const double* const slopes = square + visible;
    const float* const inverse_variance = weights_.inverse_variance().panel(panel);
    float noisy[kPanel] = {};  // 1 of Gaussian units: labels have no noise
    const Index gaussian = model_.gaussian_units() - panel * kPanel;
    std::fill_n(noisy, std::clamp<Index>(gaussian, 0, kPanel), 1.0f);
    for (Index j = 0; j < sum.rows(); ++j) {
      const auto relative = static_cast<float>(slopes[j]);
      const auto absolute = static_cast<float>(slopes[hidden + ToSize(j)]);
      const float* const weights = weights_.transposed().line(panel, j);
      for (Index k = 0; k < kPanel; ++k) {
        lines[j * kPanel + k] += noisy[k] * weights[k] * (relative + absolute * inverse_variance[k]);
      }
    }
  }
  double interaction[kPanel] = {};  // Σ v_i Σ_j W_ij h_j
  kernels::AddProducts(weights_.transposed(), sum, panel, interaction);
  float weights_scale[kPanel] = {};
  for (Index i = panel * kPanel; i < std::min(model_.visible(), (panel + 1) * kPanel); ++i) {
    const std::size_t at = ToSize(i);
    const double scale = factor_ / std::exp(double{model_.log_var()[at]});
    weights_scale[i % kPanel] = -static_cast<float>(scale);
    gradient.mu[at] = static_cast<float>(-offset[at] * scale);
    const double of_variance = (interaction[i % kPanel] - 0.5 * square[at]) * scale;
    gradient.log_var[at] = i < model_.gaussian_units() ? static_cast<float>(of_variance) : 0.0f;
  }
  kernels::UnpackTransposed(sum, panel, weights_scale, gradient.W);
}

void GradientOfSums::WriteHidden(Parameters& gradient) const {
  for (std::size_t j = 0; j < gradient.b.size(); ++j) gradient.b[j] = static_cast<float>(-factor_ * vector_[j]);
}

std::vector<double> AddInOrder(std::span<const std::span<const double>> vectors) {
  std::vector<double> sum(vectors.front().begin(), vectors.front().end());
  for (const std::span<const double> vector : vectors.subspan(1)) {
    std::ranges::transform(sum, vector, sum.begin(), std::plus());
  }
  return sum;
}

std::vector<double> WriteGradient(std::span<const PieceSums> pieces, double counted, double factor,
                                  Parameters& gradient, ThreadPool& pool) {
  const Model& model = pieces.front().data->model();
  std::vector<std::span<const double>> data;
  std::vector<std::span<const double>> chains;
  for (const PieceSums& piece : pieces) {
    data.push_back(piece.data->vector());
    if (piece.chains != nullptr) chains.push_back(piece.chains->vector());
  }
  std::vector<double> vector = AddInOrder(data);
  const GradientOfSums write(model, vector, chains.empty() ? std::vector<double>() : AddInOrder(chains), counted,
                             factor, pool);
  pool.ParallelFor(kernels::PanelCount(model.visible()), [&](Index panel) {
    const PanelView sum = OnePanel(model.hidden(), model.visible(), 2);
    PanelDifference(pieces.front(), counted, panel, sum, Sums::kReplace);
    for (const PieceSums& piece : pieces.subspan(1)) PanelDifference(piece, counted, panel, sum, Sums::kAdd);
    write.WritePanel(panel, sum, gradient);
  });
  write.WriteHidden(gradient);
  return vector;
}

std::vector<float> MeanVisible(const Model& model, std::span<const double> vector, double count) {
  std::vector<float> mean(model.mu().begin(), model.mu().end());
  const std::span<const double> offset = vector.subspan(Padded(model.hidden()));
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<float>(offset[i] / count);
  return mean;
}

std::vector<float> MeanHidden(const Model& model, std::span<const double> vector, double count) {
  std::vector<float> mean(ToSize(model.hidden()));
  for (std::size_t j = 0; j < mean.size(); ++j) mean[j] = static_cast<float>(vector[j] / count);
  return mean;
}

}  // namespace grbm
