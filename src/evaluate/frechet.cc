#include "grbm/evaluate/frechet.h"

#include <fmt/core.h>

// OpenMP would start threads of its own, whatever --threads says, and end the program where it cannot.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

#include "grbm/core/error.h"

namespace grbm {

namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

auto Map(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}
auto Map(std::vector<double>& values) { return Eigen::Map<Vector>(values.data(), static_cast<Index>(values.size())); }
auto Map(const BasicMatrix<double>& m) { return Eigen::Map<const RowMajor>(m.data(), m.rows(), m.cols()); }
auto Map(BasicMatrix<double>& m) { return Eigen::Map<RowMajor>(m.data(), m.rows(), m.cols()); }

RowMajor InDouble(ConstMatrix m) {
  using Floats = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Floats, 0, Eigen::OuterStride<>>(m.data(), m.rows(), m.cols(),
                                                           Eigen::OuterStride<>(m.stride()))
      .cast<double>();
}

void CheckDimensions(const char* what, Index a, Index b) {
  if (a != b) throw DataError(fmt::format("{}: features of {} and of {} dimensions do not go together", what, a, b));
  if (a == 0) throw DataError(fmt::format("{}: features of no dimension: at least one is needed", what));
}

void CheckRows(const char* what, Index a, Index b, Index least) {
  if (std::min(a, b) < least) {
    throw DataError(fmt::format("{}: {} and {} rows of features: at least {} of each are needed", what, a, b, least));
  }
}

// A with A Aᵀ = covariance, dimension × rank: Cholesky's factor with complete pivoting. Each column takes the feature of
// which most is left, until what is left is rounding.
Eigen::MatrixXd Factor(const BasicMatrix<double>& covariance, const std::function<void()>& check) {
  const Index dimension = covariance.rows();
  Vector left = Map(covariance).diagonal();
  const double least = left.maxCoeff() * static_cast<double>(dimension) * std::numeric_limits<double>::epsilon();
  Eigen::MatrixXd factor(dimension, dimension);
  Index rank = 0;
  for (Index pivot = 0; rank < dimension && left.maxCoeff(&pivot) > least; ++rank) {
    if (check) check();
    auto column = factor.col(rank);
    column = Map(covariance).row(pivot).transpose();
    column.noalias() -= factor.leftCols(rank) * factor.row(pivot).head(rank).transpose();
    column /= std::sqrt(left[pivot]);
    left -= column.cwiseAbs2();
    left[pivot] = 0;
  }
  return factor.leftCols(rank);
}

// Σ of the singular values of a matrix: it is made bidiagonal, with d on its diagonal and e beside it, and then ± each of
// them is an eigenvalue of the tridiagonal matrix with zeros on its diagonal and d₁, e₁, d₂, e₂, ... beside it (Golub and
// Kahan). Eigen::BDCSVD gives the same, but takes more than a minute to compile.
double SumSingularValues(const Eigen::MatrixXd& matrix) {
  if (matrix.rows() < matrix.cols()) return SumSingularValues(matrix.transpose());
  if (matrix.cols() == 0) return 0;
  const Eigen::internal::UpperBidiagonalization<Eigen::MatrixXd> reduced(matrix);
  const auto& band = reduced.bidiagonal().coeffs();  // e in its first row, from its second column on; d in its second
  Vector beside(2 * matrix.cols() - 1);
  for (Index i = 0; i < beside.size(); ++i) beside[i] = i % 2 == 0 ? band(1, i / 2) : band(0, i / 2 + 1);
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(Vector::Zero(2 * matrix.cols()), beside, Eigen::EigenvaluesOnly);
  return solver.eigenvalues().cwiseAbs().sum() / 2;
}

// Σ k(x, y) over all pairs of rows.
double SumKernel(const RowMajor& x, const RowMajor& y) {
  return ((x * y.transpose()).array() / static_cast<double>(x.cols()) + 1).cube().sum();
}
// Σ k(x, x) over rows.
double SumKernelDiagonal(const RowMajor& x) {
  return (x.rowwise().squaredNorm().array() / static_cast<double>(x.cols()) + 1).cube().sum();
}

double UnbiasedMmd(const RowMajor& x, const RowMajor& y) {
  const auto n = static_cast<double>(x.rows());
  const double within = SumKernel(x, x) - SumKernelDiagonal(x) + SumKernel(y, y) - SumKernelDiagonal(y);
  return within / (n * (n - 1)) - 2 * SumKernel(x, y) / (n * n);
}

}  // namespace

FeatureMoments::FeatureMoments(Index dimension)
    : mean_(static_cast<std::size_t>(dimension)), scatter_(dimension, dimension) {}

FeatureMoments::FeatureMoments(Index count, std::vector<double> mean, const BasicMatrix<double>& covariance)
    : count_(count), mean_(std::move(mean)), scatter_(covariance) {
  Map(scatter_) *= static_cast<double>(count - 1);
}

void FeatureMoments::Add(ConstMatrix features) {
  CheckDimensions("feature moments", features.cols(), dimension());
  if (features.rows() == 0) return;
  RowMajor rows = InDouble(features);
  FeatureMoments block(dimension());
  block.count_ = features.rows();
  Map(block.mean_) = rows.colwise().mean().transpose();
  rows.rowwise() -= Map(block.mean_).transpose();
  Map(block.scatter_).selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
  Add(block);
}

// Scatter adds up, and so does that of the two means about the mean of all.                             [math.md (52)]
void FeatureMoments::Add(const FeatureMoments& other) {
  CheckDimensions("feature moments", other.dimension(), dimension());
  if (other.count_ == 0) return;
  const auto n = static_cast<double>(count_);
  const auto m = static_cast<double>(other.count_);
  const Vector gap = Map(other.mean_) - Map(mean_);
  auto scatter = Map(scatter_);
  scatter += Map(other.scatter_);
  scatter.selfadjointView<Eigen::Lower>().rankUpdate(gap, n * m / (n + m));
  Map(mean_) += gap * (m / (n + m));
  count_ += other.count_;
}

BasicMatrix<double> FeatureMoments::Covariance() const {
  CheckRows("covariance", count_, count_, 2);
  BasicMatrix<double> covariance = scatter_;
  auto c = Map(covariance);
  c /= static_cast<double>(count_ - 1);
  c.triangularView<Eigen::StrictlyUpper>() = c.transpose();
  return covariance;
}

FrechetDistance Frechet(const FeatureMoments& a, const FeatureMoments& b, const std::function<void()>& check) {
  CheckDimensions("Fréchet distance", a.dimension(), b.dimension());
  CheckRows("Fréchet distance", a.count(), b.count(), 2);
  const BasicMatrix<double> a_covariance = a.Covariance();
  const BasicMatrix<double> b_covariance = b.Covariance();
  const double apart = (Map(a.Mean()) - Map(b.Mean())).squaredNorm();
  const double traces = Map(a_covariance).trace() + Map(b_covariance).trace();
  if (!std::isfinite(apart + traces)) throw NumericError("Fréchet distance: a feature is not finite");
  // tr (Σ₁Σ₂)^½ is the sum of the singular values of A₁ᵀA₂, where Σ = A Aᵀ: no square is taken and no root of rounding.
  const Eigen::MatrixXd product = Factor(a_covariance, check).transpose() * Factor(b_covariance, check);
  if (check) check();
  return {std::max(0.0, apart + traces - 2 * SumSingularValues(product)),
          std::min(a.count(), b.count()) <= a.dimension()};
}

KernelDistance Kernel(ConstMatrix a, ConstMatrix b, Index subset_size, const std::function<void()>& check) {
  if (subset_size < 2)
    throw ConfigError(fmt::format("kernel distance: subsets of {} rows: allowed are 2 and more", subset_size));
  CheckDimensions("kernel distance", a.cols(), b.cols());
  CheckRows("kernel distance", a.rows(), b.rows(), subset_size);
  const Index subsets = std::min(a.rows(), b.rows()) / subset_size;
  Vector distances(subsets);
  for (Index i = 0; i < subsets; ++i) {
    if (check) check();
    distances[i] =
        UnbiasedMmd(InDouble(a.Rows(i * subset_size, subset_size)), InDouble(b.Rows(i * subset_size, subset_size)));
  }
  const double mean = distances.mean();
  if (!std::isfinite(mean)) throw NumericError("kernel distance: a feature is not finite");
  const auto k = static_cast<double>(subsets);
  const double error = subsets < 2 ? std::numeric_limits<double>::quiet_NaN()
                                   : std::sqrt((distances.array() - mean).square().sum() / (k * (k - 1)));
  return {mean, error, subsets};
}

}  // namespace grbm
