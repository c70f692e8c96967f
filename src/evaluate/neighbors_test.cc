#include "grbm/evaluate/neighbors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/models.h"

namespace grbm {
namespace {

using testing::RandomVisible;

Matrix Moved(Matrix rows, float by) {
  for (float& x : rows.values()) x += by;
  return rows;
}

TEST(Neighbors, EqualTheNaiveSearch) {
  // More references than one block, far from the origin: products cancel there.
  const Matrix queries = Moved(RandomVisible(50, 7, 1), 100);
  const Matrix references = Moved(RandomVisible(2100, 7, 2), 100);
  ThreadPool pool(2);
  for (const Index k : {1, 5}) {
    const std::vector<double> found = NeighborDistances(queries, references, k, false, pool);
    for (Index q = 0; q < 50; ++q) {
      std::vector<double> all;
      for (Index r = 0; r < 2100; ++r) {
        double sum = 0;
        for (Index i = 0; i < 7; ++i) sum += std::pow(double{queries(q, i)} - double{references(r, i)}, 2);
        all.push_back(std::sqrt(sum));
      }
      std::ranges::sort(all);
      EXPECT_NEAR(found[static_cast<std::size_t>(q)], all[static_cast<std::size_t>(k - 1)], 1e-5);
    }
  }
}

TEST(Neighbors, ACopyIsAtDistanceZeroUnlessItIsTheSameRow) {
  const Matrix rows = RandomVisible(1500, 20, 1, 100);
  ThreadPool pool(2);
  for (const double d : NeighborDistances(rows, rows, 1, false, pool)) EXPECT_EQ(d, 0);
  for (const double d : NeighborDistances(rows, rows, 1, true, pool)) EXPECT_GT(d, 10);
}

TEST(Memorisation, CopiesAreSeen) {
  const Matrix training = RandomVisible(800, 30, 1);
  const Matrix held_out = RandomVisible(500, 30, 2);
  ThreadPool pool(2);
  const Memorisation copies = MeasureMemorisation(training.view().Rows(0, 200), training, held_out, pool);
  EXPECT_EQ(copies.to_training.value, 0);
  EXPECT_GT(copies.to_held_out.value, 0.5);
  EXPECT_EQ(copies.nearer_to_training.value, 1);
  // Fresh rows are as near to one as to the other: 5 standard errors, wrong once in a million.
  const Memorisation fresh = MeasureMemorisation(RandomVisible(1000, 30, 3), training, held_out, pool);
  EXPECT_NEAR(fresh.nearer_to_training.value, 0.5, 5 * fresh.nearer_to_training.error);
  EXPECT_NEAR(fresh.nearer_to_training.error, 0.5 / std::sqrt(1000.0), 1e-3);
  EXPECT_NEAR(fresh.to_training.value, fresh.to_held_out.value, 0.01);
}

TEST(Memorisation, TrainingRowsAreNoCopiesOfThemselves) {
  ThreadPool pool(2);
  const Matrix training = RandomVisible(1000, 30, 1);
  // Of one law: 5 standard errors of independent rows; neighbours of one another make the deviation up to 1.4 times that.
  const Memorisation same = MemorisationOfTraining(training, RandomVisible(1200, 30, 2), 800, pool);
  EXPECT_NEAR(same.nearer_to_training.value, 0.5, 5 * same.nearer_to_training.error);
  EXPECT_NEAR(same.nearer_to_training.error, 0.5 / std::sqrt(800.0), 1e-3);
  EXPECT_NEAR(same.to_training.value, same.to_held_out.value, 0.01);
  // Where held-out rows are of another law, fresh rows are nearer to the training rows, and so are these.
  const Matrix other = Moved(RandomVisible(1000, 30, 2), 0.3f);
  const Memorisation fresh = MeasureMemorisation(RandomVisible(1000, 30, 3), training, other, pool);
  const Memorisation data = MemorisationOfTraining(training, other, 1000, pool);
  EXPECT_GT(fresh.nearer_to_training.value, 0.6);
  EXPECT_NEAR(data.nearer_to_training.value, fresh.nearer_to_training.value,
              5 * std::hypot(data.nearer_to_training.error, fresh.nearer_to_training.error));
  // As many to be near to: of two rows each the other one, against one held-out row that is the same.
  const Matrix two = RandomVisible(2, 30, 4);
  const Memorisation pair = MemorisationOfTraining(two, two, 2, pool);
  EXPECT_EQ(pair.nearer_to_training.value, 0.25);
}

TEST(Coverage, IsNearOneForTheSameLawAndZeroForAnother) {
  const Matrix data = RandomVisible(1500, 3, 1);
  ThreadPool pool(2);
  const Coverage same = MeasureCoverage(data, RandomVisible(1500, 3, 2), 5, pool);
  EXPECT_GT(same.precision.value, 0.9);
  EXPECT_GT(same.recall.value, 0.9);
  // A ball of 5 neighbours misses as many fresh samples with probability 2^-5.
  EXPECT_NEAR(same.coverage.value, 1 - 1.0 / 32, 0.025);
  const Coverage other = MeasureCoverage(data, Moved(RandomVisible(1500, 3, 2), 100), 5, pool);
  EXPECT_EQ(other.precision.value, 0);
  EXPECT_EQ(other.recall.value, 0);
  EXPECT_EQ(other.coverage.value, 0);
}

TEST(Coverage, HalfTheModesAreHalfCovered) {
  Matrix data = RandomVisible(1000, 2, 1);
  for (Index r = 0; r < 500; ++r) data(r, 0) += 100;
  const Coverage half = MeasureCoverage(data, RandomVisible(1000, 2, 2), 5, *std::make_unique<ThreadPool>(1));
  EXPECT_GT(half.precision.value, 0.9);
  EXPECT_NEAR(half.recall.value, 0.5, 0.05);
  EXPECT_NEAR(half.coverage.value, 0.5, 0.03);
}

TEST(Coverage, OfTheRowsThemselvesIsOne) {
  const Matrix data = RandomVisible(300, 10, 1, 1000);
  ThreadPool pool(1);
  const Coverage c = MeasureCoverage(data, data, 3, pool);
  EXPECT_EQ(c.precision.value, 1);
  EXPECT_EQ(c.recall.value, 1);
  EXPECT_EQ(c.coverage.value, 1);
}

TEST(Neighbors, RefuseTooFewRows) {
  ThreadPool pool(1);
  EXPECT_THROW(NeighborDistances(Matrix(3, 2), Matrix(3, 2), 3, true, pool), DataError);
  EXPECT_THROW(NeighborDistances(Matrix(3, 2), Matrix(3, 4), 1, false, pool), DataError);
}

}  // namespace
}  // namespace grbm
