#include "grbm/model/energy.h"

#include <fmt/core.h>

#include <cmath>

#include "kernels/kernels.h"

namespace grbm {

namespace {

std::size_t Size(Index value) { return static_cast<std::size_t>(value); }

double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Σ (v - μ)² / (2σ²)
double QuadraticTerm(const Model& model, std::span<const double> v) {
  double sum = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double d = v[i] - double{model.mu()[i]};
    sum += d * d / (2 * std::exp(double{model.log_var()[i]}));
  }
  return sum;
}

// (v - μ - W h) / σ², for binary h or probabilities.
std::vector<double> VisibleGradient(const Model& model, std::span<const double> v, std::span<const double> h) {
  std::vector<double> gradient(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    double mean = model.mu()[i];
    const std::span<const float> row = model.W().row(static_cast<Index>(i));
    for (std::size_t j = 0; j < h.size(); ++j) mean += double{row[j]} * h[j];
    gradient[i] = (v[i] - mean) / std::exp(double{model.log_var()[i]});
  }
  return gradient;
}

// Calls body(row) for every row, on the pool, block by block.
void ForRows(Index rows, ThreadPool& pool, const std::function<void(Index)>& body) {
  const kernels::RowBlocks blocks(0, rows);
  pool.ParallelFor(blocks.count(), [&](Index k) {
    for (Index r = blocks.begin(k); r < blocks.end(k); ++r) body(r);
  });
}

}  // namespace

void CheckVisible(const Model& model, ConstMatrix v, const char* what) {
  if (v.cols() != model.visible()) {
    throw DataError(fmt::format("{}: {} columns, but the model has {} visible units: they must be as many", what,
                                v.cols(), model.visible()));
  }
  for (Index r = 0; r < v.rows(); ++r) {
    for (Index i = 0; i < v.cols(); ++i) {
      if (!std::isfinite(v(r, i))) {
        throw DataError(fmt::format("{}: element [{}, {}] is {}: every value must be finite", what, r, i, v(r, i)));
      }
    }
  }
}

void CheckHidden(const Model& model, ConstBitView h, Index rows, const char* what) {
  if (h.units() != model.hidden() || h.rows() != rows) {
    throw DataError(fmt::format("{}: {} × {} bits, but {} rows of {} hidden units are needed", what, h.rows(),
                                h.units(), rows, model.hidden()));
  }
}

double Energy(const Model& model, std::span<const double> v, std::span<const double> h) {
  const std::vector<double> logits = HiddenLogits(model, v);
  double energy = QuadraticTerm(model, v);
  for (std::size_t j = 0; j < h.size(); ++j) energy -= h[j] * logits[j];
  return energy;
}

double MarginalEnergy(const Model& model, std::span<const double> v) {
  double energy = QuadraticTerm(model, v);
  for (const double logit : HiddenLogits(model, v)) energy -= Softplus(logit);
  return energy;
}

std::vector<double> HiddenLogits(const Model& model, std::span<const double> v) {
  std::vector<double> logits(model.b().begin(), model.b().end());
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double scaled = v[i] / std::exp(double{model.log_var()[i]});
    const std::span<const float> row = model.W().row(static_cast<Index>(i));
    for (std::size_t j = 0; j < logits.size(); ++j) logits[j] += scaled * double{row[j]};
  }
  return logits;
}

std::vector<double> EnergyGradient(const Model& model, std::span<const double> v, std::span<const double> h) {
  return VisibleGradient(model, v, h);
}

std::vector<double> MarginalEnergyGradient(const Model& model, std::span<const double> v) {
  std::vector<double> probabilities = HiddenLogits(model, v);
  for (double& p : probabilities) p = Sigmoid(p);
  return VisibleGradient(model, v, probabilities);
}

std::vector<double> Energies(const Model& model, ConstMatrix v, ConstBitView h, ThreadPool& pool) {
  CheckHidden(model, h, v.rows(), "hidden states");
  const Matrix logits = HiddenLogits(model, v, pool);
  std::vector<double> energies(Size(v.rows()));
  ForRows(v.rows(), pool, [&](Index r) {
    energies[Size(r)] = 0.5 * kernels::SumScaledSquares(v.row(r), model.mu(), model.inverse_variance()) -
                        kernels::SumWhereSet(logits.row(r), h, r);
  });
  return energies;
}

std::vector<double> MarginalEnergies(const Model& model, ConstMatrix v, ThreadPool& pool) {
  const Matrix logits = HiddenLogits(model, v, pool);
  std::vector<double> energies(Size(v.rows()));
  ForRows(v.rows(), pool, [&](Index r) {
    energies[Size(r)] = 0.5 * kernels::SumScaledSquares(v.row(r), model.mu(), model.inverse_variance()) -
                        kernels::SumSoftplus(logits.row(r));
  });
  return energies;
}

Matrix HiddenLogits(const Model& model, ConstMatrix v, ThreadPool& pool, std::uint32_t first_chain) {
  CheckVisible(model, v, "visible states");
  Matrix logits(v.rows(), model.hidden());
  const kernels::RowBlocks blocks(first_chain, v.rows());
  pool.ParallelFor(blocks.count(), [&](Index k) {
    const Index first = blocks.begin(k);
    const Index rows = blocks.end(k) - first;
    kernels::Logits(v.Rows(first, rows), model.inverse_variance(), model.W(), model.b(),
                    logits.view().Rows(first, rows), blocks.lead_of(k));
  });
  return logits;
}

Matrix HiddenProbabilities(const Model& model, ConstMatrix v, ThreadPool& pool) {
  Matrix probabilities = HiddenLogits(model, v, pool);
  ForRows(v.rows(), pool, [&](Index r) { kernels::Sigmoid(probabilities.row(r), probabilities.row(r)); });
  return probabilities;
}

Matrix VisibleMean(const Model& model, ConstBitView h, ThreadPool& pool, std::uint32_t first_chain) {
  CheckHidden(model, h, h.rows(), "hidden states");
  Matrix mean(h.rows(), model.visible());
  const kernels::RowBlocks blocks(first_chain, h.rows());
  pool.ParallelFor(blocks.count(), [&](Index k) {
    const Index first = blocks.begin(k);
    const Index rows = blocks.end(k) - first;
    kernels::HiddenProduct(h.Rows(first, rows), model.W(), mean.view().Rows(first, rows), blocks.lead_of(k));
  });
  ForRows(h.rows(), pool, [&](Index r) {
    for (Index i = 0; i < model.visible(); ++i) mean(r, i) += model.mu()[Size(i)];
  });
  return mean;
}

BitMatrix SampleHidden(const Model& model, ConstMatrix v, const DrawPlace& place, ThreadPool& pool) {
  return DrawHidden(HiddenLogits(model, v, pool, place.first_chain), place, pool);
}

BitMatrix DrawHidden(ConstMatrix logits, const DrawPlace& place, ThreadPool& pool) {
  BitMatrix h(logits.rows(), logits.cols());
  ForRows(logits.rows(), pool, [&](Index r) {
    kernels::DrawBernoulli({place.stream, place.step, place.first_chain + static_cast<std::uint32_t>(r)}, logits.row(r),
                           1.0f, h, r);
  });
  return h;
}

Matrix SampleVisible(const Model& model, ConstBitView h, const DrawPlace& place, ThreadPool& pool) {
  Matrix v = VisibleMean(model, h, pool, place.first_chain);
  ForRows(h.rows(), pool, [&](Index r) {
    std::vector<float> noise(Size(model.visible()));
    kernels::DrawNormals({place.stream, place.step, place.first_chain + static_cast<std::uint32_t>(r)}, noise);
    for (std::size_t i = 0; i < noise.size(); ++i) v.row(r)[i] += std::sqrt(model.variance()[i]) * noise[i];
  });
  return v;
}

}  // namespace grbm
