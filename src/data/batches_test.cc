#include "grbm/data/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "grbm/core/error.h"
#include "grbm/data/permutation.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;

const Stream kStream(1, Purpose::kBatches);

std::vector<std::uint64_t> Order(std::uint64_t number, std::uint64_t size, const Stream& stream = kStream) {
  const Permutation permutation(stream, number, size);
  std::vector<std::uint64_t> order(size);
  for (std::uint64_t i = 0; i < size; ++i) order[i] = permutation(i);
  return order;
}

void ExpectBijection(std::uint64_t number, std::uint64_t size) {
  std::vector<char> seen(size);
  for (const std::uint64_t value : Order(number, size)) {
    ASSERT_LT(value, size);
    ASSERT_EQ(seen[value], 0) << "value " << value << " twice, size " << size << ", number " << number;
    seen[value] = 1;
  }
}

TEST(Permutation, IsABijectionOfEverySize) {
  for (std::uint64_t size = 1; size <= 600; ++size) ExpectBijection(size % 7, size);
  for (const std::uint64_t size : {1023, 1024, 1025, 4096, 10000, 59999, 60000, 65535, 65536, 65537, 202599}) {
    for (const std::uint64_t number : {0, 1, 1000000}) ExpectBijection(number, size);
  }
}

TEST(Permutation, StaysInRangeForTheLargestSizes) {
  const std::uint64_t size = (std::uint64_t{1} << 62) - 1;
  const Permutation permutation(kStream, 5, size);
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 1000; ++i) values.push_back(permutation(size - 1 - i));
  EXPECT_LT(*std::ranges::max_element(values), size);
  std::ranges::sort(values);
  EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
}

TEST(Permutation, EveryPartOfTheKeyMatters) {
  const auto base = Order(3, 1000);
  EXPECT_EQ(Order(3, 1000), base);
  EXPECT_NE(Order(4, 1000), base);
  EXPECT_NE(Order(3, 1000, Stream(2, Purpose::kBatches)), base);
  EXPECT_NE(Order(3, 1000, Stream(1, Purpose::kSubset)), base);
}

// The bits are part of the results: a change belongs into CHANGELOG.md.
TEST(Permutation, KeepsItsValues) { EXPECT_THAT(Order(0, 10), ElementsAre(0, 3, 5, 4, 7, 6, 1, 9, 8, 2)); }

// Pearson's statistic of counts that should be equal, in standard deviations of its law (cells - 1 degrees of freedom),
// by the cube-root normal approximation of Wilson and Hilferty. Tests fail above 6: each errs with probability 1e-9,
// all of this file's together well below 1e-6.
double ChiSquareDeviation(const std::vector<double>& counts) {
  const auto cells = static_cast<double>(counts.size());
  const double expected = std::accumulate(counts.begin(), counts.end(), 0.0) / cells;
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  const double freedom = cells - 1;
  return (std::cbrt(sum / freedom) - (1 - 2 / (9 * freedom))) / std::sqrt(2 / (9 * freedom));
}

constexpr double kLimit = 6;

TEST(PermutationUniformity, AllOrdersOfAFewThingsAreEquallyLikely) {
  for (const std::uint64_t size : {2, 3, 4, 5, 6, 7}) {
    std::vector<std::uint64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::map<std::vector<std::uint64_t>, double> counts;
    do counts[order] = 0;
    while (std::ranges::next_permutation(order).found);
    for (std::uint64_t number = 0; number < 60000; ++number) ++counts[Order(number, size)];
    std::vector<double> values;
    for (const auto& [key, count] : counts) values.push_back(count);
    EXPECT_LT(std::abs(ChiSquareDeviation(values)), kLimit) << "size " << size;
  }
}

TEST(PermutationUniformity, AnyPairOfPlacesGetsAnyPairOfValues) {
  for (const std::uint64_t size : {7, 16, 29}) {
    for (const auto& [first, second] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 1}, {0, 4}, {2, 6}}) {
      std::vector<double> counts(size * size);
      for (std::uint64_t number = 0; number < 40000; ++number) {
        const Permutation permutation(kStream, number, size);
        ++counts[permutation(first) * size + permutation(second)];
      }
      for (std::uint64_t i = size; i-- > 0;) {
        EXPECT_EQ(counts[i * size + i], 0);
        counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(i * size + i));
      }
      EXPECT_LT(std::abs(ChiSquareDeviation(counts)), kLimit) << size << ": " << first << ", " << second;
    }
  }
}

TEST(PermutationUniformity, ALargeOrderHasNoTrend) {
  constexpr std::uint64_t kSize = 60000;
  constexpr std::uint64_t kBins = 20;
  std::vector<double> place_and_value(kBins * kBins);
  std::vector<double> steps(kBins);  // from one value to the next, modulo the size
  for (std::uint64_t number = 0; number < 20; ++number) {
    const auto order = Order(number, kSize);
    for (std::uint64_t i = 0; i < kSize; ++i) {
      ++place_and_value[i * kBins / kSize * kBins + order[i] * kBins / kSize];
      if (i > 0) ++steps[(order[i] + kSize - order[i - 1]) % kSize * kBins / kSize];
    }
  }
  // Rows and columns of the table are fixed, so the statistic is below that of free counts; the test stands.
  EXPECT_LT(ChiSquareDeviation(place_and_value), kLimit);
  EXPECT_LT(std::abs(ChiSquareDeviation(steps)), kLimit);
}

// The statistic can fail: orders that are all even, as those of too few rounds would be.
TEST(PermutationUniformity, SeesOrdersThatAreMissing) {
  std::vector<double> counts(24, 60000.0 / 24);
  for (std::size_t i = 0; i < 24; i += 2) counts[i] = 0;
  EXPECT_GT(ChiSquareDeviation(counts), kLimit);
}

std::vector<Index> Rows(const BatchStream& stream, std::uint64_t batch) {
  std::vector<Index> rows(static_cast<std::size_t>(stream.batch()));
  stream.Rows(batch, rows);
  return rows;
}

TEST(BatchStream, EveryEpochUsesEveryRowOnce) {
  for (const auto& [rows, batch] : std::vector<std::pair<Index, Index>>{{10, 3}, {3, 10}, {1, 4}, {7, 7}, {64, 5}}) {
    const BatchStream stream(rows, batch, 42);
    std::vector<Index> all;
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(5 * rows); ++t) {
      for (const Index row : Rows(stream, t)) all.push_back(row);
    }
    ASSERT_EQ(static_cast<Index>(all.size()), 5 * rows * batch);
    for (std::size_t start = 0; start < all.size(); start += static_cast<std::size_t>(rows)) {
      std::vector<Index> epoch(all.begin() + static_cast<Index>(start), all.begin() + static_cast<Index>(start) + rows);
      std::ranges::sort(epoch);
      for (Index i = 0; i < rows; ++i) ASSERT_EQ(epoch[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST(BatchStream, FollowsItsDefinition) {
  constexpr std::uint64_t kRows = 13;
  constexpr std::uint64_t kBatch = 5;
  const BatchStream stream(kRows, kBatch, 7);
  for (std::uint64_t t = 0; t < 40; ++t) {
    const std::vector<Index> rows = Rows(stream, t);
    EXPECT_EQ(stream.Epoch(t), t * kBatch / kRows);
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      const std::uint64_t place = t * kBatch + i;
      const Permutation order(Stream(7, Purpose::kBatches), place / kRows, kRows);
      EXPECT_EQ(rows[i], static_cast<Index>(order(place % kRows)));
    }
  }
}

TEST(BatchStream, AnyBatchCanBeHadAloneEvenAfterManyEpochs) {
  const BatchStream stream(60000, 512, 1);
  const std::uint64_t late = std::uint64_t{1} << 50;
  EXPECT_EQ(Rows(stream, late), Rows(BatchStream(60000, 512, 1), late));
  EXPECT_NE(Rows(stream, late), Rows(stream, late + 1));
  EXPECT_NE(Rows(stream, late), Rows(BatchStream(60000, 512, 2), late));
}

TEST(BatchStream, EpochsDiffer) {
  const BatchStream stream(100, 100, 1);
  EXPECT_NE(Rows(stream, 0), Rows(stream, 1));
}

// In an epoch of n places row i has n wᵢ/Σw, to within one; over many its mean is that, to within 5 standard errors of a
// number of which an epoch's is off by less than one: at 4000 epochs and 5 rows an error of 3e-6.
TEST(BatchStream, WeightsAreSharesOfAnEpoch) {
  const std::vector<double> weights = {0.3, 0, 2, 1.1, 0.6};
  constexpr int kEpochs = 4000;
  const BatchStream stream(5, 5, 3, weights);
  std::vector<double> used(5);
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    std::vector<double> now(5);
    for (const Index row : Rows(stream, epoch)) ++now[static_cast<std::size_t>(row)];
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_LT(std::abs(now[i] - 5 * weights[i] / 4), 1) << "row " << i;
      used[i] += now[i];
    }
  }
  EXPECT_EQ(used[1], 0);
  for (std::size_t i = 0; i < 5; ++i) {
    const double share = 5 * weights[i] / 4;
    const double part = share - std::floor(share);
    EXPECT_NEAR(used[i] / kEpochs, share, 5 * std::sqrt(part * (1 - part) / kEpochs) + 1e-12) << "row " << i;
  }
}

// Each place of a batch holds row i with probability wᵢ/Σw, as a place among rows that are repeated does. The counts are
// of 6000 epochs each, and differ by less than 5 of their standard errors.
TEST(BatchStream, WholeWeightsAreAsRepeatedRows) {
  const BatchStream weighted(3, 2, 8, std::vector<double>{1, 3, 2});
  const BatchStream repeated(6, 2, 9);
  const Index original[] = {0, 1, 1, 1, 2, 2};
  std::vector<double> a(3);
  std::vector<double> b(3);
  constexpr int kBatches = 18000;
  for (std::uint64_t t = 0; t < kBatches; ++t) {
    ++a[static_cast<std::size_t>(Rows(weighted, t)[0])];
    ++b[static_cast<std::size_t>(original[Rows(repeated, t)[0]])];
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 5 * std::sqrt(2.0 * kBatches / 4)) << "row " << i;
}

TEST(BatchStream, WeightsThatAreTheSameLeaveNoTrace) {
  const BatchStream plain(7, 4, 5);
  const BatchStream same(7, 4, 5, std::vector<double>(7, 0.1));
  for (std::uint64_t t = 0; t < 20; ++t) EXPECT_EQ(Rows(plain, t), Rows(same, t));
}

TEST(BatchStream, RefusesWrongCalls) {
  EXPECT_THROW(BatchStream(0, 1, 1), DataError);
  EXPECT_THROW(BatchStream(1, 0, 1), DataError);
  const BatchStream batches(10, 4, 1);
  std::vector<Index> rows(3);
  EXPECT_THROW(batches.Rows(0, rows), DataError);
  EXPECT_THROW(batches.Epoch(std::uint64_t{1} << 63), ConfigError);
}

}  // namespace
}  // namespace grbm
