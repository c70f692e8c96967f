#include "grbm/evaluate/quick.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/models.h"

namespace grbm {
namespace {

using testing::Dice;

// Images of one bright bar, across or upright, at a random place and of a random length.
Matrix Bars(Index rows, std::uint64_t seed) {
  Dice dice(seed);
  Matrix images(rows, 12 * 12);
  for (Index r = 0; r < rows; ++r) {
    const bool upright = dice.Coin();
    const auto line = static_cast<Index>(dice.Uniform(1, 11));
    const auto begin = static_cast<Index>(dice.Uniform(0, 6));
    const auto end = static_cast<Index>(dice.Uniform(7, 12));
    for (Index k = begin; k < end; ++k) images(r, upright ? k * 12 + line : line * 12 + k) = 200;
  }
  return images;
}

// Columns drawn from different images: the same pixels, no shapes.
Matrix Shuffled(const Matrix& images) {
  Matrix out(images.rows(), images.cols());
  for (Index r = 0; r < images.rows(); ++r) {
    for (Index i = 0; i < images.cols(); ++i) out(r, i) = images((r + 37 * i) % images.rows(), i);
  }
  return out;
}

// The mean of each pixel and its neighbours to the right and below.
Matrix Blurred(const Matrix& images) {
  Matrix out(images.rows(), images.cols());
  for (Index r = 0; r < images.rows(); ++r) {
    for (Index i = 0; i + 13 < images.cols(); ++i) {
      out(r, i) = (images(r, i) + images(r, i + 1) + images(r, i + 12) + images(r, i + 13)) / 4;
    }
  }
  return out;
}

TEST(QuickFeatures, OfTheReferenceAreStandardised) {
  const Matrix bars = Bars(400, 1);
  ThreadPool pool(2);
  const QuickFeatures features(bars, {12, 12, 1}, pool);
  const Matrix f = features(bars, pool);
  ASSERT_EQ(f.cols(), QuickFeatures::kDimension);
  for (Index k = 0; k < f.cols(); ++k) {
    double sum = 0;
    double squares = 0;
    for (Index r = 0; r < f.rows(); ++r) {
      sum += double{f(r, k)};
      squares += double{f(r, k)} * double{f(r, k)};
    }
    EXPECT_NEAR(sum / 400, 0, 1e-3);
    EXPECT_NEAR(squares / 400, 1, 1e-3);
  }
}

TEST(QuickFeatures, DoNotDependOnThreadsNorOnBrightness) {
  const Matrix bars = Bars(100, 1);
  ThreadPool one(1);
  ThreadPool three(3);
  const Matrix f = QuickFeatures(bars, {12, 12, 1}, one)(bars, one);
  EXPECT_EQ(f, QuickFeatures(bars, {12, 12, 1}, three)(bars, three));
  Matrix bright = bars;
  for (float& x : bright.values()) x = 0.5f * x + 64;
  const Matrix g = QuickFeatures(bright, {12, 12, 1}, one)(bright, one);
  for (std::size_t k = 0; k < f.values().size(); ++k) EXPECT_NEAR(f.values()[k], g.values()[k], 2e-3);
}

// Against real images, other real ones are nearest, and the further off the less is left of the shapes.
TEST(QuickDistance, OrdersGoodAndBadImages) {
  const Matrix bars = Bars(600, 1);
  ThreadPool pool(2);
  const QuickFeatures features(bars, {12, 12, 1}, pool);
  const auto distance = [&](const Matrix& images) {
    return QuickDistances(features(bars, pool), features(images, pool));
  };
  const Matrix held_out = Bars(600, 2);
  const QuickDistance real = distance(held_out);
  const QuickDistance blurred = distance(Blurred(held_out));
  const QuickDistance shuffled = distance(Shuffled(held_out));
  const QuickDistance noise = distance(testing::RandomVisible(600, 144, 3, 50));
  EXPECT_LT(5 * real.frechet.value, blurred.frechet.value);
  EXPECT_LT(blurred.frechet.value, shuffled.frechet.value);
  EXPECT_LT(5 * real.frechet.value, noise.frechet.value);
  EXPECT_NEAR(real.kernel.value, 0, 0.2);
  EXPECT_LT(real.kernel.value + 5 * shuffled.kernel.error, shuffled.kernel.value);
  EXPECT_NEAR(distance(bars).frechet.value, 0, 1e-3);
}

// One feature: (m₁ - m₂)² + (s₁ - s₂)² of Gaussians, and the error of the jackknife against that of fresh samples.
TEST(QuickDistance, ErrorIsThatOfFreshSamples) {
  const auto draw = [](std::uint64_t seed, double mean) {
    Matrix x = testing::RandomVisible(500, 1, seed);
    for (float& value : x.values()) value += static_cast<float>(mean);
    return x;
  };
  const Matrix a = draw(1000, 0);
  std::vector<double> values;
  double error = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const QuickDistance d = QuickDistances(a, draw(seed, 2));
    values.push_back(d.frechet.value);
    error += d.frechet.error / 200;
  }
  const double deviation = Mean(values).error * std::sqrt(200.0);
  EXPECT_NEAR(Mean(values).value, 4, 0.5);
  // The deviation of 200 values is known to 5 %; 25 % are 5 of its standard errors.
  EXPECT_NEAR(error / deviation, 1, 0.25);
}

TEST(QuickFeatures, RowsThatAreNoImagesHaveFeaturesToo) {
  const Matrix a = testing::RandomVisible(500, 2, 1);
  ThreadPool pool(1);
  const QuickFeatures features(a, {}, pool);
  const Matrix b = testing::RandomVisible(500, 2, 2);
  Matrix ring = b;  // the same first two moments, another law
  for (Index r = 0; r < 500; ++r) {
    const double length = std::hypot(double{b(r, 0)}, double{b(r, 1)}) / std::sqrt(2.0);
    for (Index i = 0; i < 2; ++i) ring(r, i) = static_cast<float>(double{b(r, i)} / length);
  }
  const Matrix f = features(a, pool);
  EXPECT_LT(5 * QuickDistances(f, features(b, pool)).frechet.value,
            QuickDistances(f, features(ring, pool)).frechet.value);
}

TEST(QuickDistance, RefusesTooLittle) {
  ThreadPool pool(1);
  EXPECT_THROW(QuickFeatures(Matrix(1, 4), {2, 2, 1}, pool), DataError);
  EXPECT_THROW(QuickFeatures(Matrix(5, 4), {2, 3, 1}, pool), DataError);
  EXPECT_THROW(QuickDistances(Matrix(19, 3), Matrix(50, 3)), DataError);
  const QuickFeatures features(Bars(30, 1), {12, 12, 1}, pool);
  EXPECT_THROW(features(Matrix(3, 100), pool), DataError);
}

}  // namespace
}  // namespace grbm
