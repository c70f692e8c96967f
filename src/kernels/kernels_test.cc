#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "grbm/core/parallel.h"
#include "support/models.h"

namespace grbm::kernels {
namespace {

using testing::Dice;
using testing::RandomHidden;
using testing::RandomVisible;

// Rows, visible and hidden units: odd sizes, a full block and its neighbours, and more than one block.
class Shapes : public ::testing::TestWithParam<std::tuple<Index, Index, Index>> {
 protected:
  Index rows = std::get<0>(GetParam());
  Index visible = std::get<1>(GetParam());
  Index hidden = std::get<2>(GetParam());
  Matrix v = RandomVisible(rows, visible, 1);
  Matrix W = RandomVisible(visible, hidden, 2);
  Matrix inverse_variance = [this] {
    Matrix m(1, visible);
    Dice dice(3);
    for (float& x : m.values()) x = static_cast<float>(dice.Uniform(0.5, 2));
    return m;
  }();
  Matrix b = RandomVisible(1, hidden, 4);
  BitMatrix h = RandomHidden(rows, hidden, 5);
};

INSTANTIATE_TEST_SUITE_P(Kernels, Shapes,
                         ::testing::Combine(::testing::Values(1, 31, 32, 70), ::testing::Values(1, 17, 65),
                                            ::testing::Values(3, 64, 130)));

// The bound on a float sum of n products of size about 1.
double Tolerance(Index terms) { return 1e-6 * (1 + static_cast<double>(terms)); }

TEST_P(Shapes, LogitsMatchDoubleLoops) {
  Matrix logits(rows, hidden);
  Logits(v, inverse_variance.row(0), W, b.row(0), logits);
  for (Index r = 0; r < rows; ++r) {
    for (Index j = 0; j < hidden; ++j) {
      double expected = b(0, j);
      for (Index i = 0; i < visible; ++i)
        expected += double{v(r, i)} * double{inverse_variance(0, i)} * double{W(i, j)};
      ASSERT_NEAR(logits(r, j), expected, Tolerance(visible));
    }
  }
}

TEST_P(Shapes, ProductsMatchDoubleLoops) {
  const Matrix logits = RandomVisible(rows, hidden, 6);
  Matrix product(rows, visible);
  Matrix marginal(rows, visible);
  HiddenProduct(h, W, product);
  ProbabilityProduct(logits, W, marginal);
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < visible; ++i) {
      double expected = 0;
      double expected_marginal = 0;
      for (Index j = 0; j < hidden; ++j) {
        expected += h.Get(r, j) ? double{W(i, j)} : 0.0;
        expected_marginal += double{W(i, j)} / (1 + std::exp(-double{logits(r, j)}));
      }
      ASSERT_NEAR(product(r, i), expected, Tolerance(hidden));
      ASSERT_NEAR(marginal(r, i), expected_marginal, Tolerance(hidden));
    }
  }
}

TEST_P(Shapes, OuterProductsAccumulate) {
  const Matrix logits = RandomVisible(rows, hidden, 6);
  Matrix sum = W;
  Matrix marginal = W;
  AccumulateOuter(v, h, sum);
  AccumulateProbabilityOuter(v, logits, marginal);
  for (Index i = 0; i < visible; ++i) {
    for (Index j = 0; j < hidden; ++j) {
      double expected = W(i, j);
      double expected_marginal = W(i, j);
      for (Index r = 0; r < rows; ++r) {
        expected += h.Get(r, j) ? double{v(r, i)} : 0.0;
        expected_marginal += double{v(r, i)} / (1 + std::exp(-double{logits(r, j)}));
      }
      ASSERT_NEAR(sum(i, j), expected, Tolerance(rows));
      ASSERT_NEAR(marginal(i, j), expected_marginal, Tolerance(rows));
    }
  }
}

TEST_P(Shapes, ARowDoesNotDependOnTheRowsBelow) {
  Matrix all(rows, hidden);
  Logits(v, inverse_variance.row(0), W, b.row(0), all);
  Matrix all_products(rows, visible);
  HiddenProduct(h, W, all_products);
  for (const Index some : {Index{1}, rows / 2 + 1}) {
    Matrix part(some, hidden);
    Logits(v.view().Rows(0, some), inverse_variance.row(0), W, b.row(0), part);
    Matrix part_products(some, visible);
    HiddenProduct(h.view().Rows(0, some), W, part_products);
    for (Index r = 0; r < some; ++r) {
      for (Index j = 0; j < hidden; ++j) ASSERT_EQ(part(r, j), all(r, j));
      for (Index i = 0; i < visible; ++i) ASSERT_EQ(part_products(r, i), all_products(r, i));
    }
  }
}

TEST_P(Shapes, DrawsAreThoseOfTheStream) {
  const Stream stream(7, Purpose::kVisible);
  const DrawKey key{stream, 3, 11};
  std::vector<float> normals(static_cast<std::size_t>(visible));
  DrawNormals(key, normals);
  for (Index i = 0; i < visible; ++i) {
    ASSERT_EQ(normals[static_cast<std::size_t>(i)], stream.Normal(3, 11, i));
  }
  const Matrix logits = RandomVisible(1, hidden, 6, 2.0);
  BitMatrix bits = RandomHidden(2, hidden, 9);
  DrawBernoulli(key, logits.row(0), 0.5f, bits, 1);
  for (Index j = 0; j < hidden; ++j) {
    const double p = 1 / (1 + std::exp(-0.5 * double{logits(0, j)}));
    ASSERT_EQ(bits.Get(1, j), double{stream.Uniform(3, 11, j)} < p);
  }
  EXPECT_EQ(bits.view().word(1, bits.view().groups() - 1) >> 1 >> ((hidden - 1) % 64), 0u) << "bits past the end";
}

TEST_P(Shapes, RowSumsMatchDoubleLoops) {
  const Matrix x = RandomVisible(1, hidden, 6, 10.0);
  double softplus = 0;
  double set = 0;
  for (Index j = 0; j < hidden; ++j) {
    softplus += std::log(1 + std::exp(double{x(0, j)}));
    set += h.Get(0, j) ? double{x(0, j)} : 0.0;
  }
  EXPECT_NEAR(SumSoftplus(x.row(0)), softplus, 1e-12 * (1 + std::abs(softplus)));
  EXPECT_NEAR(SumWhereSet(x.row(0), h, 0), set, 1e-12 * (1 + std::abs(set)));
  double squares = 0;
  const Matrix mu = RandomVisible(1, visible, 8);
  for (Index i = 0; i < visible; ++i) {
    squares += std::pow(double{v(0, i)} - double{mu(0, i)}, 2) * double{inverse_variance(0, i)};
  }
  EXPECT_NEAR(SumScaledSquares(v.row(0), mu.row(0), inverse_variance.row(0)), squares, 1e-12 * (1 + squares));
}

TEST(Kernels, OuterProductsOfMoreRowsThanOneProductTakes) {
  const Index rows = 1100;
  const Matrix v = RandomVisible(rows, 5, 1);
  const Matrix logits = RandomVisible(rows, 7, 2);
  const BitMatrix h = RandomHidden(rows, 7, 3);
  Matrix sum(5, 7);
  Matrix marginal(5, 7);
  AccumulateOuter(v, h, sum);
  AccumulateProbabilityOuter(v, logits, marginal);
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 7; ++j) {
      double expected = 0;
      double expected_marginal = 0;
      for (Index r = 0; r < rows; ++r) {
        expected += h.Get(r, j) ? double{v(r, i)} : 0.0;
        expected_marginal += double{v(r, i)} / (1 + std::exp(-double{logits(r, j)}));
      }
      EXPECT_NEAR(sum(i, j), expected, 1e-3);
      EXPECT_NEAR(marginal(i, j), expected_marginal, 1e-3);
    }
  }
}

TEST(Kernels, ExtremeLogitsAreCertain) {
  const Stream stream(1, Purpose::kHidden);
  const std::vector<float> logits = {1e4f, -1e4f, 200.0f, -200.0f, INFINITY, -INFINITY};
  for (std::uint32_t chain = 0; chain < 1000; ++chain) {
    BitMatrix h(1, 6);
    DrawBernoulli({stream, 0, chain}, logits, 1.0f, h, 0);
    ASSERT_EQ(h.view().word(0, 0), 0b010101u);
  }
  const std::vector<float> large = {1e30f, -1e30f};
  EXPECT_DOUBLE_EQ(SumSoftplus(large), double{1e30f});
}

TEST(Kernels, ConcurrentProductsAreRight) {
  const Matrix v = RandomVisible(kRowBlock, 37, 1);
  const Matrix W = RandomVisible(37, 70, 2);
  const BitMatrix h = RandomHidden(kRowBlock, 70, 3);
  const std::vector<float> ones(37, 1.0f);
  const std::vector<float> zeros(70, 0.0f);
  Matrix logits(kRowBlock, 70);
  Matrix product(kRowBlock, 37);
  Logits(v, ones, W, zeros, logits);
  HiddenProduct(h, W, product);
  ThreadPool pool(5);
  pool.ParallelFor(20000, [&](Index) {
    Matrix again(kRowBlock, 70);
    Matrix product_again(kRowBlock, 37);
    Logits(v, ones, W, zeros, again);
    HiddenProduct(h, W, product_again);
    if (!(again == logits) || !(product_again == product)) throw NumericError("a product came out wrong");
  });
}

TEST(Kernels, TheLibraryTellsItsName) {
  EXPECT_EQ(BlasName().find("BLIS "), 0u);
  EXPECT_FALSE(CpuTarget().empty());
}

}  // namespace
}  // namespace grbm::kernels
