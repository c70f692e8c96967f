#include "grbm/model/energy.h"

#include <fmt/core.h>

#include <cmath>

#include "model/packed.h"

namespace grbm {

namespace {

double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Σ (v - μ)² / (2σ²)
double QuadraticTerm(const Model& model, std::span<const double> v) {
  model.RequireNoConditions();
  double sum = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double d = v[i] - double{model.mu()[i]};
    sum += d * d / (2 * std::exp(double{model.log_var()[i]}));
  }
  return sum;
}

// (v - μ - W h) / σ², for binary h or probabilities.
std::vector<double> VisibleGradient(const Model& model, std::span<const double> v, std::span<const double> h) {
  model.RequireNoConditions();
  std::vector<double> gradient(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    double mean = model.mu()[i];
    const std::span<const float> row = model.W().row(static_cast<Index>(i));
    for (std::size_t j = 0; j < h.size(); ++j) mean += double{row[j]} * h[j];
    gradient[i] = (v[i] - mean) / std::exp(double{model.log_var()[i]});
  }
  return gradient;
}

kernels::Panels Packed(const Model& model, ConstMatrix v, ThreadPool& pool) {
  CheckVisible(model, v, "visible states");
  kernels::Panels panels(v.rows(), v.cols());
  PackRows(v, panels, pool);
  return panels;
}

// Of rows of v: Σ (v - μ)² / 2σ², less what `hidden` sums over the hidden units.
std::vector<double> RowEnergies(const Model& model, ConstMatrix v, kernels::HiddenResult result,
                                std::vector<double> HiddenSums::*hidden, ThreadPool& pool) {
  HiddenSums sums;
  sums.Prepare(v.rows(), model.hidden(), result);
  UpdateHidden(model.packed(pool), Packed(model, v, pool), {0, v.rows()}, result, pool);
  sums.Finish();
  std::vector<double> energies(ToSize(v.rows()));
  for (Index r = 0; r < v.rows(); ++r) {
    double quadratic = 0;
    for (Index i = 0; i < v.cols(); ++i) {
      const double d = double{v(r, i)} - double{model.mu()[ToSize(i)]};
      quadratic += d * d * double{model.inverse_variance()[ToSize(i)]};
    }
    energies[ToSize(r)] = 0.5 * quadratic - (sums.*hidden)[ToSize(r)];
  }
  return energies;
}

// The logits of all rows, or what else `member` of a result stands for.
Matrix HiddenMatrix(const Model& model, ConstMatrix v, kernels::PanelView kernels::HiddenResult::*member,
                    kernels::HiddenResult result, ThreadPool& pool) {
  kernels::Panels panels(v.rows(), model.hidden());
  result.*member = panels;
  UpdateHidden(model.packed(pool), Packed(model, v, pool), {0, v.rows()}, result, pool);
  Matrix matrix(v.rows(), model.hidden());
  UnpackRows(panels, matrix, pool);
  return matrix;
}

// μ plus a product with W, which `product` writes tile by tile: rows × visible.
template <typename Product>
Matrix MuPlus(const Model& model, Index rows, ThreadPool& pool, const Product& product) {
  const PackedWeights& weights = model.packed(pool);
  kernels::Panels sums(rows, model.visible());
  ForTiles(model.visible(), rows, pool,
           [&](Index tile, kernels::Rows range) { product(weights, tile, range, sums.view()); });
  Matrix mean(rows, model.visible());
  UnpackRows(sums, mean, pool);
  constexpr Index kLeastSums = 1 << 15;  // that are worth a thread
  pool.ParallelForRanges(rows, kLeastSums / model.visible(), [&](Index first, Index end) {
    for (Index r = first; r < end; ++r) {
      for (Index i = 0; i < model.visible(); ++i) mean(r, i) += model.mu()[ToSize(i)];
    }
  });
  return mean;
}

void CheckValues(Index units, ConstMatrix v, const char* what, bool gaps) {
  if (v.cols() != units) {
    throw DataError(
        fmt::format("{}: {} columns, but the model has {} visible units: they must be as many", what, v.cols(), units));
  }
  for (Index r = 0; r < v.rows(); ++r) {
    if (AllFinite(v.row(r))) continue;
    for (Index i = 0; i < v.cols(); ++i) {
      if (!std::isfinite(v(r, i)) && !(gaps && std::isnan(v(r, i)))) {
        throw DataError(fmt::format("{}: element [{}, {}] is {}: every value must be finite", what, r, i, v(r, i)));
      }
    }
  }
}

}  // namespace

void CheckVisible(const Model& model, ConstMatrix v, const char* what) { CheckValues(model.visible(), v, what, false); }

void CheckRows(const Model& model, ConstMatrix values, const char* what) {
  CheckValues(model.gaussian_units(), values, what, false);
}

void CheckKnown(const Model& model, ConstMatrix v, const char* what) { CheckValues(model.visible(), v, what, true); }

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
  kernels::HiddenResult result;
  result.states = h;
  return RowEnergies(model, v, result, &HiddenSums::active, pool);
}

std::vector<double> MarginalEnergies(const Model& model, ConstMatrix v, ThreadPool& pool) {
  return RowEnergies(model, v, {}, &HiddenSums::softplus, pool);
}

Matrix HiddenLogits(const Model& model, ConstMatrix v, ThreadPool& pool) {
  return HiddenMatrix(model, v, &kernels::HiddenResult::logits, {}, pool);
}

Matrix HiddenProbabilities(const Model& model, ConstMatrix v, ThreadPool& pool, double temperature) {
  kernels::HiddenResult result;
  result.probability_scale = static_cast<float>(1 / temperature);
  return HiddenMatrix(model, v, &kernels::HiddenResult::probabilities, result, pool);
}

Matrix VisibleMean(const Model& model, ConstBitView h, ThreadPool& pool) {
  CheckHidden(model, h, h.rows(), "hidden states");
  return MuPlus(model, h.rows(), pool,
                [&](const PackedWeights& weights, Index tile, kernels::Rows rows, kernels::PanelView to) {
                  kernels::HiddenProduct(h, weights.transposed(), tile, rows, to);
                });
}

Matrix VisibleMean(const Model& model, ConstMatrix p, ThreadPool& pool) {
  if (p.cols() != model.hidden()) {
    throw DataError(fmt::format("probabilities of {} hidden units: the model has {}", p.cols(), model.hidden()));
  }
  kernels::Panels packed(p.rows(), p.cols());
  PackRows(p, packed, pool);
  return MuPlus(model, p.rows(), pool,
                [&](const PackedWeights& weights, Index tile, kernels::Rows rows, kernels::PanelView to) {
                  kernels::ProbabilityProduct(packed, weights.transposed(), tile, rows, to);
                });
}

BitMatrix SampleHidden(const Model& model, ConstMatrix v, const DrawPlace& place, ThreadPool& pool,
                       double temperature) {
  BitMatrix h(v.rows(), model.hidden());
  kernels::HiddenResult result;
  result.draw = {h, place, static_cast<float>(1 / temperature)};
  UpdateHidden(model.packed(pool), Packed(model, v, pool), {0, v.rows()}, result, pool);
  return h;
}

Matrix SampleVisible(const Model& model, ConstBitView h, const DrawPlace& place, ThreadPool& pool) {
  Matrix v = VisibleMean(model, h, pool);
  pool.ParallelFor(h.rows(), [&](Index r) {
    std::vector<float> noise(ToSize(model.visible()));
    kernels::DrawNormals(place, r, noise);
    for (std::size_t i = 0; i < noise.size(); ++i) v.row(r)[i] += std::sqrt(model.variance()[i]) * noise[i];
  });
  return v;
}

}  // namespace grbm
