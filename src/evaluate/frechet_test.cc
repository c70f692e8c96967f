#include "grbm/evaluate/frechet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "grbm/core/error.h"
#include "grbm/core/random.h"

namespace grbm {
namespace {

using Square = BasicMatrix<double>;

// Correlated rows: x = offset + scale · (z_j + z_{j+1} + 0.1 j z_0), z standard normal.
Matrix Features(Index rows, Index dimension, std::uint64_t seed, float offset = 0, float scale = 1) {
  const Stream stream(seed, Purpose::kMixture);
  Matrix features(rows, dimension);
  for (Index i = 0; i < rows; ++i) {
    const auto z = [&](Index j) { return stream.Normal(0, static_cast<std::uint32_t>(i), j); };
    for (Index j = 0; j < dimension; ++j) {
      features(i, j) = offset + scale * (z(j) + z(j + 1) + 0.1f * static_cast<float>(j) * z(0));
    }
  }
  return features;
}

FeatureMoments Moments(const Matrix& features) {
  FeatureMoments moments(features.cols());
  moments.Add(features);
  return moments;
}

Square Product(const Square& a, const Square& b) {
  Square out(a.rows(), b.cols());
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index k = 0; k < a.cols(); ++k) {
      for (Index j = 0; j < b.cols(); ++j) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

// Gauss and Jordan with partial pivoting.
Square Inverse(Square a) {
  const Index n = a.rows();
  Square out(n, n);
  for (Index i = 0; i < n; ++i) out(i, i) = 1;
  for (Index c = 0; c < n; ++c) {
    Index pivot = c;
    for (Index r = c + 1; r < n; ++r) {
      if (std::abs(a(r, c)) > std::abs(a(pivot, c))) pivot = r;
    }
    for (Index j = 0; j < n; ++j) {
      std::swap(a(c, j), a(pivot, j));
      std::swap(out(c, j), out(pivot, j));
    }
    const double divisor = a(c, c);
    for (Index j = 0; j < n; ++j) {
      a(c, j) /= divisor;
      out(c, j) /= divisor;
    }
    for (Index r = 0; r < n; ++r) {
      const double factor = r == c ? 0 : a(r, c);
      for (Index j = 0; j < n; ++j) {
        a(r, j) -= factor * a(c, j);
        out(r, j) -= factor * out(c, j);
      }
    }
  }
  return out;
}

struct NaiveMoments {
  std::vector<double> mean;
  Square covariance;
};

NaiveMoments Naive(const Matrix& x) {
  NaiveMoments m{std::vector<double>(static_cast<std::size_t>(x.cols())), Square(x.cols(), x.cols())};
  const auto n = static_cast<double>(x.rows());
  const auto mean = [&](Index j) -> double& { return m.mean[static_cast<std::size_t>(j)]; };
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) mean(j) += x(i, j) / n;
  }
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) {
      for (Index k = 0; k < x.cols(); ++k) m.covariance(j, k) += (x(i, j) - mean(j)) * (x(i, k) - mean(k)) / (n - 1);
    }
  }
  return m;
}

// The definition, with the root of Σ₁Σ₂ by the iteration of Denman and Beavers.
double NaiveFrechet(const Matrix& a, const Matrix& b) {
  const NaiveMoments ma = Naive(a);
  const NaiveMoments mb = Naive(b);
  Square y = Product(ma.covariance, mb.covariance);
  Square z(y.rows(), y.cols());
  for (Index i = 0; i < z.rows(); ++i) z(i, i) = 1;
  for (int step = 0; step < 60; ++step) {
    const Square y_inverse = Inverse(y);
    const Square z_inverse = Inverse(z);
    for (Index i = 0; i < y.rows(); ++i) {
      for (Index j = 0; j < y.cols(); ++j) {
        y(i, j) = (y(i, j) + z_inverse(i, j)) / 2;
        z(i, j) = (z(i, j) + y_inverse(i, j)) / 2;
      }
    }
  }
  double distance = 0;
  for (Index j = 0; j < y.rows(); ++j) {
    const double gap = ma.mean[static_cast<std::size_t>(j)] - mb.mean[static_cast<std::size_t>(j)];
    distance += gap * gap + ma.covariance(j, j) + mb.covariance(j, j) - 2 * y(j, j);
  }
  return distance;
}

TEST(FeatureMoments, EqualTwoPassesInAnyBlocksFarFromZero) {
  const Matrix x = Features(101, 5, 1, 1000);
  const NaiveMoments expected = Naive(x);
  for (const Index block : {1, 7, 101}) {
    FeatureMoments moments(5);
    for (Index i = 0; i < 101; i += block) moments.Add(x.view().Rows(i, std::min(block, 101 - i)));
    EXPECT_EQ(moments.count(), 101);
    const Square covariance = moments.Covariance();
    for (Index j = 0; j < 5; ++j) {
      EXPECT_NEAR(moments.Mean()[static_cast<std::size_t>(j)], expected.mean[static_cast<std::size_t>(j)], 1e-9);
      for (Index k = 0; k < 5; ++k) EXPECT_NEAR(covariance(j, k), expected.covariance(j, k), 1e-9) << j << " " << k;
    }
  }
}

TEST(FeatureMoments, MergeAndRestore) {
  const Matrix x = Features(90, 4, 2);
  FeatureMoments merged(4);
  for (Index i = 0; i < 90; i += 30) {
    FeatureMoments part(4);
    part.Add(x.view().Rows(i, 30));
    merged.Add(part);
  }
  const FeatureMoments whole = Moments(x);
  const FeatureMoments restored(merged.count(), merged.Mean(), merged.Covariance());
  EXPECT_NEAR(Frechet(restored, whole).distance, 0, 1e-12);
  const Square expected = whole.Covariance();
  const Square actual = restored.Covariance();
  for (Index i = 0; i < 16; ++i) EXPECT_NEAR(actual.data()[i], expected.data()[i], 1e-12);
}

TEST(Frechet, EqualsAnotherAlgorithm) {
  const Matrix a = Features(300, 12, 3);
  const Matrix b = Features(200, 12, 4, 0.5f, 1.3f);
  const double expected = NaiveFrechet(a, b);
  const FrechetDistance actual = Frechet(Moments(a), Moments(b));
  EXPECT_NEAR(actual.distance, expected, 1e-9 * expected);
  EXPECT_FALSE(actual.rank_deficient);
  EXPECT_NEAR(Frechet(Moments(b), Moments(a)).distance, actual.distance, 1e-9);
  EXPECT_NEAR(Frechet(Moments(a), Moments(a)).distance, 0, 1e-9);
}

// In one dimension: (m₁ - m₂)² + (s₁ - s₂)².
TEST(Frechet, OneDimensionByHand) {
  Square nine(1, 1);
  nine(0, 0) = 9;
  const FeatureMoments b(10, {5}, nine);
  Square four(1, 1);
  four(0, 0) = 4;
  EXPECT_DOUBLE_EQ(Frechet(FeatureMoments(10, {2}, four), b).distance, 9 + 1);
  // A constant against a spread: nothing of the root is left.
  EXPECT_DOUBLE_EQ(Frechet(FeatureMoments(10, {2}, Square(1, 1)), b).distance, 9 + 9);
}

// Singular covariances: rows of rank 5 in 40 dimensions, of which some never vary.
TEST(Frechet, FewerRowsThanDimensions) {
  Matrix a = Features(6, 40, 5);
  Matrix b = Features(30, 40, 6, 0.2f);
  for (Index j = 10; j < 15; ++j) {
    for (Index i = 0; i < 6; ++i) a(i, j) = 0;
    for (Index i = 0; i < 30; ++i) b(i, j) = 0;
  }
  const FrechetDistance ab = Frechet(Moments(a), Moments(b));
  EXPECT_TRUE(ab.rank_deficient);
  EXPECT_TRUE(std::isfinite(ab.distance));
  EXPECT_NEAR(Frechet(Moments(b), Moments(a)).distance, ab.distance, 1e-9 * ab.distance);
  EXPECT_NEAR(Frechet(Moments(a), Moments(a)).distance, 0, 1e-9);
  // A ridge of 1e-10 lets the other algorithm work, and moves the distance by about 40 · 1e-5.
  const auto ridge = [](const Matrix& x) {
    const FeatureMoments m = Moments(x);
    Square c = m.Covariance();
    for (Index j = 0; j < c.rows(); ++j) c(j, j) += 1e-10;
    return FeatureMoments(m.count(), m.Mean(), c);
  };
  EXPECT_NEAR(Frechet(ridge(a), ridge(b)).distance, ab.distance, 1e-3);
}

// Features that repeat others, or are constant, add to no dimension.
TEST(Frechet, RepeatedAndConstantFeatures) {
  const auto repeat = [](const Matrix& plain) {
    Matrix out(plain.rows(), 3 * plain.cols());
    for (Index i = 0; i < plain.rows(); ++i) {
      for (Index j = 0; j < plain.cols(); ++j) {
        out(i, j) = out(i, plain.cols() + j) = plain(i, j);
        out(i, 2 * plain.cols() + j) = 7;
      }
    }
    return out;
  };
  const Matrix a = Features(300, 6, 1);
  const Matrix b = Features(300, 6, 2, 0.5f, 1.5f);
  const double distance = Frechet(Moments(a), Moments(b)).distance;
  EXPECT_NEAR(Frechet(Moments(repeat(a)), Moments(repeat(b))).distance, 2 * distance, 1e-6 * distance);
  EXPECT_NEAR(Frechet(Moments(repeat(a)), Moments(repeat(a))).distance, 0, 1e-9);
}

TEST(Frechet, SaysWhatIsWrong) {
  const FeatureMoments two = Moments(Features(10, 2, 1));
  EXPECT_THROW(Frechet(two, Moments(Features(10, 3, 1))), DataError);
  EXPECT_THROW(Frechet(two, Moments(Features(1, 2, 1))), DataError);
  Matrix bad = Features(10, 2, 1);
  bad(3, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(Frechet(two, Moments(bad)), NumericError);
  EXPECT_THROW(Kernel(bad, bad, 5), NumericError);
  EXPECT_THROW(Kernel(Features(10, 2, 1), Features(9, 2, 1), 10), DataError);
  EXPECT_THROW(Kernel(Features(10, 2, 1), Features(10, 3, 1), 10), DataError);
}

TEST(Kernel, EqualsTheDefinition) {
  const Matrix a = Features(21, 7, 7);
  const Matrix b = Features(20, 7, 8, 0.3f);
  const auto kernel = [](std::span<const float> x, std::span<const float> y) {
    return std::pow(std::inner_product(x.begin(), x.end(), y.begin(), 0.0) / 7 + 1, 3);
  };
  std::vector<double> distances;
  for (Index first = 0; first + 5 <= 20; first += 5) {
    double sum = 0;
    for (Index i = first; i < first + 5; ++i) {
      for (Index j = first; j < first + 5; ++j) {
        if (i != j) sum += (kernel(a.row(i), a.row(j)) + kernel(b.row(i), b.row(j))) / 20;
        sum -= 2 * kernel(a.row(i), b.row(j)) / 25;
      }
    }
    distances.push_back(sum);
  }
  const double mean = std::accumulate(distances.begin(), distances.end(), 0.0) / 4;
  double squares = 0;
  for (const double d : distances) squares += (d - mean) * (d - mean);
  const KernelDistance actual = Kernel(a, b, 5);
  EXPECT_EQ(actual.subsets, 4);
  EXPECT_NEAR(actual.distance, mean, 1e-5 * std::abs(mean));
  EXPECT_NEAR(actual.standard_error, std::sqrt(squares / 12), 1e-5);
  EXPECT_TRUE(std::isnan(Kernel(a, b, 20).standard_error));
}

// Samples of one law: the mean over 50 subsets lies within 5 of its standard errors (error rate 8e-6, as Student's t
// with 49 degrees), and samples of another law do not.
TEST(Kernel, IsUnbiased) {
  const Matrix a = Features(1000, 6, 9);
  const KernelDistance same = Kernel(a, Features(1000, 6, 10), 20);
  EXPECT_LT(std::abs(same.distance), 5 * same.standard_error);
  const KernelDistance other = Kernel(a, Features(1000, 6, 10, 1), 20);
  EXPECT_GT(other.distance, 5 * other.standard_error);
}

}  // namespace
}  // namespace grbm
