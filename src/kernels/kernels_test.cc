// Every kernel against loops in double, on every CPU target of this machine and at odd sizes.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include "kernels/targets.h"
// After them:
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <tuple>

#include "grbm/core/parallel.h"
#include "support/models.h"

namespace grbm::kernels {
namespace {

using testing::Dice;
using testing::RandomHidden;
using testing::RandomVisible;

std::vector<std::int64_t> Targets() {
  std::vector<std::int64_t> targets;
  for (std::int64_t left = hwy::SupportedTargets() & (HWY_TARGETS); left != 0; left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

Panels Packed(ConstMatrix m) {
  Panels panels(m.rows(), m.cols());
  for (Index p = 0; p < panels.view().panels(); ++p) Pack(m, p, panels);
  return panels;
}

Panels PackedTransposed(ConstMatrix m) {
  Panels panels(m.cols(), m.rows());
  for (Index p = 0; p < panels.view().panels(); ++p) PackTransposed(m, p, panels);
  return panels;
}

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

// The bound on a float sum of n terms of size about 1.
double Tolerance(Index terms) { return 1e-6 * (1 + static_cast<double>(terms)); }

// CPU target; rows, visible and hidden units: single ones, odd ones, whole panels and groups and their neighbours.
class Kernels : public ::testing::TestWithParam<std::tuple<std::int64_t, Index, Index, Index>> {
 protected:
  Kernels() { hwy::SetSupportedTargetsForTest(std::get<0>(GetParam())); }
  ~Kernels() override { hwy::SetSupportedTargetsForTest(0); }

  Index rows = std::get<1>(GetParam());
  Index visible = std::get<2>(GetParam());
  Index hidden = std::get<3>(GetParam());
  Matrix v = RandomVisible(rows, visible, 1);
  Matrix W = RandomVisible(visible, hidden, 2);
  Matrix b = RandomVisible(1, hidden, 4);
  Matrix p = [this] {
    Matrix m = RandomVisible(rows, hidden, 6);
    for (float& x : m.values()) x = static_cast<float>(SigmoidOf(double{x}));
    return m;
  }();
  BitMatrix h = RandomHidden(rows, hidden, 5);
  Panels v_panels = Packed(v);
  Panels W_panels = Packed(W);
  Panels W_transposed = PackedTransposed(W);
  PanelRow bias{b.row(0), kNever};

  double Logit(Index r, Index j) const {
    double x = b(0, j);
    for (Index i = 0; i < visible; ++i) x += double{v(r, i)} * double{W(i, j)};
    return x;
  }
  Rows all() const { return {0, rows}; }
  template <typename Body>
  void ForGroups(const Body& body) const {
    for (Index g = 0; g < GroupCount(hidden); ++g) body(g);
  }
  template <typename Body>
  void ForTiles(const Body& body) const {
    for (Index t = 0; t < GroupCount(visible); ++t) body(t);
  }
};

INSTANTIATE_TEST_SUITE_P(Shapes, Kernels,
                         ::testing::Combine(::testing::ValuesIn(Targets()), ::testing::Values(1, 7, 64, 131),
                                            ::testing::Values(1, 8, 17, 109), ::testing::Values(3, 64, 130)),
                         [](const ::testing::TestParamInfo<Kernels::ParamType>& test) {
                           return hwy::TargetName(std::get<0>(test.param)) + std::string("_") +
                                  std::to_string(std::get<1>(test.param)) + "x" +
                                  std::to_string(std::get<2>(test.param)) + "x" +
                                  std::to_string(std::get<3>(test.param));
                         });

TEST_P(Kernels, PackingKeepsEveryElement) {
  const std::vector<float> factors(static_cast<std::size_t>(visible), 2.0f);
  Panels scaled(visible, hidden);
  for (Index panel = 0; panel < scaled.view().panels(); ++panel) Pack(W, panel, scaled, factors);
  for (Index i = 0; i < visible; ++i) {
    for (Index j = 0; j < hidden; ++j) {
      ASSERT_EQ(W_panels.view()(i, j), W(i, j));
      ASSERT_EQ(W_transposed.view()(j, i), W(i, j));
      ASSERT_EQ(scaled.view()(i, j), 2 * W(i, j));
    }
  }
  Matrix back(visible, hidden);
  for (Index panel = 0; panel < W_panels.view().panels(); ++panel) Unpack(W_panels, panel, back);
  EXPECT_TRUE(back == W);
}

TEST_P(Kernels, HiddenGivesLogitsProbabilitiesAndSums) {
  Panels logits(rows, hidden);
  Panels probabilities(rows, hidden);
  std::vector<double> active(static_cast<std::size_t>(GroupCount(hidden) * rows));
  std::vector<double> softplus(active.size());
  HiddenResult result;
  result.logits = logits;
  result.probabilities = probabilities;
  result.probability_scale = 0.25f;
  result.states = h;
  result.active = active.data();
  result.softplus = softplus.data();
  result.stride = rows;
  ForGroups([&](Index g) { Hidden(v_panels, W_panels, bias, g, all(), result); });
  for (Index r = 0; r < rows; ++r) {
    double sum_active = 0;
    double sum_softplus = 0;
    for (Index j = 0; j < hidden; ++j) {
      const float x = logits.view()(r, j);
      ASSERT_NEAR(x, Logit(r, j), Tolerance(visible));
      ASSERT_NEAR(probabilities.view()(r, j), SigmoidOf(0.25 * double{x}), 2e-7);
      sum_active += h.Get(r, j) ? double{x} : 0.0;
      sum_softplus += std::max(double{x}, 0.0) + std::log1p(std::exp(-std::abs(double{x})));
    }
    ForGroups([&](Index g) {
      sum_active -= active[static_cast<std::size_t>(g * rows + r)];
      sum_softplus -= softplus[static_cast<std::size_t>(g * rows + r)];
    });
    ASSERT_NEAR(sum_active, 0, 1e-12 * static_cast<double>(hidden));
    ASSERT_NEAR(sum_softplus, 0, 1e-12 * static_cast<double>(hidden));
  }
}

// A bit may differ from the comparison in double only where u is within rounding of the probability.
TEST_P(Kernels, HiddenDrawsFromTheStream) {
  Panels logits(rows, hidden);
  BitMatrix bits = RandomHidden(rows, hidden, 9);
  const DrawPlace draw{Stream(7, Purpose::kHidden), 3, 11};
  HiddenResult result;
  result.logits = logits;
  result.draw = {bits, draw, 0.5f};
  ForGroups([&](Index g) { Hidden(v_panels, W_panels, bias, g, all(), result); });
  for (Index r = 0; r < rows; ++r) {
    for (Index j = 0; j < hidden; ++j) {
      const double u = draw.stream.BitUniform(3, 11 + static_cast<std::uint32_t>(r), j);
      const double probability = SigmoidOf(0.5 * double{logits.view()(r, j)});
      if (std::abs(u - probability) < 1e-6) continue;
      ASSERT_EQ(bits.Get(r, j), u < probability);
    }
    EXPECT_EQ(bits.view().word(r, bits.view().groups() - 1) >> 1 >> ((hidden - 1) % 64), 0u) << "bits past the end";
  }
}

// Probabilities so near to the uniforms that their first sixteen bits say nothing: all of them decide.
TEST_P(Kernels, CloseCallsAreDecidedByTheWholeUniform) {
  const DrawPlace draw{Stream(7, Purpose::kHidden), 3, 11};
  for (const double distance : {-1e-6, 1e-6}) {
    Panels logits(rows, hidden);
    BitMatrix bits(rows, hidden);
    for (Index r = 0; r < rows; ++r) {
      for (Index j = 0; j < hidden; ++j) {
        const double probability = draw.stream.BitUniform(3, 11 + static_cast<std::uint32_t>(r), j) + distance;
        logits.view()(r, j) = static_cast<float>(std::log(probability / (1 - probability)));
      }
    }
    HiddenResult result;
    result.draw = {bits, draw};
    ForGroups([&](Index g) { FromLogits(logits, 1, g, all(), result); });
    for (Index r = 0; r < rows; ++r) {
      for (Index j = 0; j < hidden; ++j) ASSERT_EQ(bits.Get(r, j), distance > 0);
    }
  }
}

TEST_P(Kernels, ProductsMatchDoubleLoops) {
  Panels product(rows, visible);
  Panels marginal(rows, visible);
  const Panels p_panels = Packed(p);
  ForTiles([&](Index t) {
    HiddenProduct(h, W_transposed, t, all(), product);
    ProbabilityProduct(p_panels, W_transposed, t, all(), marginal);
  });
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < visible; ++i) {
      double expected = 0;
      double expected_marginal = 0;
      for (Index j = 0; j < hidden; ++j) {
        expected += h.Get(r, j) ? double{W(i, j)} : 0.0;
        expected_marginal += double{W(i, j)} * double{p(r, j)};
      }
      ASSERT_NEAR(product.view()(r, i), expected, Tolerance(hidden));
      ASSERT_NEAR(marginal.view()(r, i), expected_marginal, Tolerance(hidden));
    }
  }
}

TEST_P(Kernels, OuterProductsAccumulate) {
  Panels sum = W_transposed;
  Panels marginal = W_transposed;
  BitMatrix transposed(hidden, rows);
  ForGroups([&](Index g) { TransposeBits(h, g, transposed); });
  const Panels p_panels = Packed(p);
  const Index split = std::min<Index>(hidden, 16);  // two calls for the hidden units
  for (Index panel = 0; panel < v_panels.view().panels(); ++panel) {
    for (const Rows units : {Rows{0, split}, Rows{split, hidden - split}}) {
      AccumulateOuter(transposed, v_panels, panel, units, sum);
      AccumulateProbabilityOuter(p_panels, v_panels, panel, units, marginal);
    }
  }
  for (Index i = 0; i < visible; ++i) {
    for (Index j = 0; j < hidden; ++j) {
      double expected = W(i, j);
      double expected_marginal = W(i, j);
      for (Index r = 0; r < rows; ++r) {
        expected += h.Get(r, j) ? double{v(r, i)} : 0.0;
        expected_marginal += double{v(r, i)} * double{p(r, j)};
      }
      ASSERT_NEAR(sum.view()(j, i), expected, Tolerance(rows));
      ASSERT_NEAR(marginal.view()(j, i), expected_marginal, Tolerance(rows));
    }
  }
}

// As if the sums had been 0: whatever they were.
TEST_P(Kernels, OuterProductsReplaceWhatWasThere) {
  BitMatrix transposed(hidden, rows);
  ForGroups([&](Index g) { TransposeBits(h, g, transposed); });
  const Panels p_panels = Packed(p);
  const auto run = [&](Panels sum, Sums sums) {
    Panels marginal = sum;
    for (Index panel = 0; panel < v_panels.view().panels(); ++panel) {
      AccumulateOuter(transposed, v_panels, panel, {0, hidden}, sum, sums);
      AccumulateProbabilityOuter(p_panels, v_panels, panel, {0, hidden}, marginal, sums);
    }
    Matrix both(2 * hidden, visible);
    for (Index panel = 0; panel < v_panels.view().panels(); ++panel) {
      Unpack(sum, panel, both.view().Rows(0, hidden));
      Unpack(marginal, panel, both.view().Rows(hidden, hidden));
    }
    return both;
  };
  EXPECT_EQ(run(W_transposed, Sums::kReplace), run(Panels(hidden, visible), Sums::kAdd));
}

// To the bit: two roundings on every target.
TEST_P(Kernels, DifferencesAndSlopesAreThoseOfALoop) {
  const Panels a = Packed(RandomVisible(rows, visible, 15));
  const Panels p_panels = Packed(p);
  Panels sum = v_panels;
  Panels replaced(rows, visible);
  for (Index panel = 0; panel < PanelCount(visible); ++panel) {
    AddDifference(20.0f, a, v_panels, panel, sum, Sums::kAdd);
    AddDifference(20.0f, a, v_panels, panel, replaced, Sums::kReplace);
  }
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < visible; ++i) {
      const float times = 20.0f * a.view()(r, i);
      const float difference = times - v(r, i);
      ASSERT_EQ(replaced.view()(r, i), difference);
      ASSERT_EQ(sum.view()(r, i), v(r, i) + difference);
    }
  }
  for (Index panel = 0; panel < PanelCount(hidden); ++panel) {
    float slopes[kPanel];
    SumSlopes(p_panels, panel, slopes);
    for (Index j = panel * kPanel; j < std::min(hidden, (panel + 1) * kPanel); ++j) {
      float expected = 0;
      for (Index r = 0; r < rows; ++r) {
        const float term = p(r, j) * (1 - p(r, j));
        expected += term;
      }
      ASSERT_EQ(slopes[j % kPanel], expected);
    }
  }
}

TEST_P(Kernels, PanelsComeBackTransposedAndMultiplied) {
  Matrix back(visible, hidden);
  std::vector<float> factors(16);
  for (std::size_t c = 0; c < factors.size(); ++c) factors[c] = 0.5f + static_cast<float>(c);
  for (Index panel = 0; panel < W_transposed.view().panels(); ++panel) {
    UnpackTransposed(W_transposed, panel, factors, back);
  }
  for (Index i = 0; i < visible; ++i) {
    for (Index j = 0; j < hidden; ++j) {
      ASSERT_EQ(W_transposed.view()(j, i), W(i, j));
      ASSERT_EQ(back(i, j), W(i, j) * factors[static_cast<std::size_t>(i % 16)]);
    }
  }
}

TEST_P(Kernels, TransposedBitsAreTheBits) {
  BitMatrix transposed = RandomHidden(hidden, rows, 10);
  std::vector<double> on(static_cast<std::size_t>(hidden), 0.5);
  ForGroups([&](Index g) { TransposeBits(h, g, transposed, on); });
  for (Index r = 0; r < rows; ++r) {
    for (Index j = 0; j < hidden; ++j) {
      ASSERT_EQ(transposed.Get(j, r), h.Get(r, j));
      on[static_cast<std::size_t>(j)] -= h.Get(r, j) ? 1 : 0;
    }
  }
  EXPECT_EQ(on, std::vector<double>(on.size(), 0.5)) << "how many rows have each on";
  for (Index j = 0; j < hidden; ++j) {
    EXPECT_EQ(transposed.view().word(j, transposed.view().groups() - 1) >> 1 >> ((rows - 1) % 64), 0u)
        << "past the end";
  }
}

// The same bits however the rows are split over calls.
TEST_P(Kernels, ARowDependsOnNoOther) {
  const DrawPlace draw{Stream(7, Purpose::kHidden), 3, 11};
  const auto run = [&](const std::vector<Rows>& ranges) {
    Panels logits(rows, hidden);
    Panels product(rows, visible);
    Panels marginal(rows, visible);
    Panels moved(rows, visible);
    const PanelRow ones(visible, 1.0f);
    BitMatrix bits(rows, hidden);
    HiddenResult result;
    result.logits = logits;
    result.draw = {bits, draw};
    const Panels p_panels = Packed(p);
    for (const Rows range : ranges) {
      ForGroups([&](Index g) { Hidden(v_panels, W_panels, bias, g, range, result); });
      ForTiles([&](Index t) {
        HiddenProduct(h, W_transposed, t, range, product);
        ProbabilityProduct(p_panels, W_transposed, t, range, marginal);
        MoveVisible(draw, {ones, ones, ones}, v_panels, product, t, range, moved);
      });
    }
    Matrix all_logits(rows, hidden);
    Matrix products(rows, visible);
    Matrix marginals(rows, visible);
    Matrix moves(rows, visible);
    for (Index panel = 0; panel < logits.view().panels(); ++panel) Unpack(logits, panel, all_logits);
    for (Index panel = 0; panel < product.view().panels(); ++panel) {
      Unpack(product, panel, products);
      Unpack(marginal, panel, marginals);
      Unpack(moved, panel, moves);
    }
    return std::make_tuple(all_logits, products, marginals, moves, bits);
  };
  const Index some = std::min<Index>(rows / 3, 5);  // few enough for a kernel of their own
  EXPECT_TRUE(run({all()}) == run({{0, some}, {some, rows - some}}));
}

TEST_P(Kernels, NormalsAreThoseOfTheStream) {
  const DrawPlace draw{Stream(7, Purpose::kVisible), 3, 11};
  std::vector<float> normals(static_cast<std::size_t>(visible));
  for (Index r = 0; r < rows; ++r) {
    DrawNormals(draw, r, normals);
    for (Index i = 0; i < visible; ++i) {
      const float expected = draw.stream.Normal(3, 11 + static_cast<std::uint32_t>(r), i);
      ASSERT_NEAR(normals[static_cast<std::size_t>(i)], expected, 2e-6);
    }
  }
}

TEST_P(Kernels, MovesMatchDoubleLoops) {
  const DrawPlace draw{Stream(7, Purpose::kVisible), 3, 11};
  const Matrix mu = RandomVisible(1, visible, 8);
  const Matrix keep = RandomVisible(1, visible, 9);
  const Matrix noise = RandomVisible(1, visible, 10);
  const Matrix product = RandomVisible(rows, visible, 11);
  const PanelRow mu_row(mu.row(0));
  const PanelRow keep_row(keep.row(0));
  const PanelRow noise_row(noise.row(0));
  Panels to(rows, visible);
  ForTiles([&](Index t) { MoveVisible(draw, {mu_row, keep_row, noise_row}, v_panels, Packed(product), t, all(), to); });
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < visible; ++i) {
      const double mean = double{mu(0, i)} + double{product(r, i)};
      const double xi = draw.stream.Normal(3, 11 + static_cast<std::uint32_t>(r), i);
      const double expected = mean + double{keep(0, i)} * (double{v(r, i)} - mean) + double{noise(0, i)} * xi;
      ASSERT_NEAR(to.view()(r, i), expected, 1e-5);
    }
  }
}

TEST_P(Kernels, SumsMatchDoubleLoops) {
  const Matrix w = RandomVisible(rows, visible, 12);
  const Matrix product = RandomVisible(rows, visible, 13);
  const Matrix product_to = RandomVisible(rows, visible, 14);
  const Matrix mu = RandomVisible(1, visible, 8);
  const Matrix keep = RandomVisible(1, visible, 9);
  Matrix precision = RandomVisible(1, visible, 10);
  for (float& x : precision.values()) x = std::abs(x) + 0.1f;
  std::vector<double> inverse_noise(static_cast<std::size_t>(PanelCount(visible) * kPanel));
  for (Index i = 0; i < visible; ++i) inverse_noise[static_cast<std::size_t>(i)] = 0.3 + static_cast<double>(i);
  const Panels w_panels = Packed(w);
  const Panels product_panels = Packed(product);
  const Panels product_to_panels = Packed(product_to);
  const PanelRow mu_row(mu.row(0));
  const PanelRow keep_row(keep.row(0));
  const PanelRow precision_row(precision.row(0));
  std::vector<VisibleSums> sums(static_cast<std::size_t>(rows));
  ForTiles([&](Index t) {
    AddVisibleSums({v_panels, product_panels, w_panels, product_to_panels},
                   {mu_row, keep_row, precision_row, inverse_noise}, t, all(), sums.data());
  });
  std::vector<double> columns(inverse_noise.size());
  std::vector<double> offset(columns);
  std::vector<double> square(columns);
  std::vector<double> products(columns);
  for (Index panel = 0; panel < PanelCount(visible); ++panel) {
    AddColumns(v_panels, panel, columns.data() + panel * kPanel);
    AddMoments(v_panels, mu_row, panel, offset.data() + panel * kPanel, square.data() + panel * kPanel);
    AddProducts(v_panels, w_panels, panel, products.data() + panel * kPanel);
  }
  for (Index r = 0; r < rows; ++r) {
    VisibleSums expected;
    for (Index i = 0; i < visible; ++i) {
      const double m = double{mu(0, i)} + double{product(r, i)};
      const double m_to = double{mu(0, i)} + double{product_to(r, i)};
      const double from = v(r, i);
      const double to = w(r, i);
      const double k = keep(0, i);
      const double half = 0.5 * double{precision(0, i)};
      expected.from += std::pow(from - double{mu(0, i)}, 2) * half;
      expected.to += std::pow(to - double{mu(0, i)}, 2) * half;
      expected.proposal += (std::pow(to - m - k * (from - m), 2) - std::pow(from - m_to - k * (to - m_to), 2)) *
                           inverse_noise[static_cast<std::size_t>(i)];
      expected.conditional += (std::pow(from - m, 2) - std::pow(to - m, 2)) * half;
    }
    const VisibleSums& sum = sums[static_cast<std::size_t>(r)];
    const double bound = 1e-12 * static_cast<double>(1 + visible * visible);
    ASSERT_NEAR(sum.from, expected.from, bound);
    ASSERT_NEAR(sum.to, expected.to, bound);
    ASSERT_NEAR(sum.proposal, expected.proposal, 100 * bound);
    ASSERT_NEAR(sum.conditional, expected.conditional, bound);
  }
  for (Index i = 0; i < visible; ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (Index r = 0; r < rows; ++r) {
      const double d = double{v(r, i)} - double{mu(0, i)};
      columns[at] -= double{v(r, i)};
      offset[at] -= d;
      square[at] -= d * d;
      products[at] -= double{v(r, i)} * double{w(r, i)};
    }
    const double bound = 1e-13 * static_cast<double>(rows);
    ASSERT_NEAR(columns[at], 0, bound);
    ASSERT_NEAR(offset[at], 0, bound);
    ASSERT_NEAR(square[at], 0, 10 * bound);
    ASSERT_NEAR(products[at], 0, 10 * bound);
  }
}

TEST_P(Kernels, ExtremeLogitsAreCertain) {
  const std::vector<float> extreme = {1e4f, -1e4f, 200.0f, -200.0f, INFINITY, -INFINITY};
  const Matrix zeros(1, 1);
  const Matrix weights(1, 6);
  const PanelRow logits(extreme, kNever);
  for (std::uint32_t chain = 0; chain < 1000; ++chain) {
    BitMatrix bits(1, 6);
    const DrawPlace draw{Stream(1, Purpose::kHidden), 0, chain};
    HiddenResult result;
    result.draw = {bits, draw};
    Hidden(Packed(zeros), Packed(weights), logits, 0, {0, 1}, result);
    ASSERT_EQ(bits.view().word(0, 0), 0b010101u);
  }
}

class Moments : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Moments() { hwy::SetSupportedTargetsForTest(GetParam()); }
  ~Moments() override { hwy::SetSupportedTargetsForTest(0); }
};
INSTANTIATE_TEST_SUITE_P(Targets, Moments, ::testing::ValuesIn(Targets()),
                         [](const ::testing::TestParamInfo<std::int64_t>& test) {
                           return hwy::TargetName(test.param);
                         });

// Mean, variance and fourth moment of 10⁶ normals, each within 5.5 standard errors: an error rate of 1.2e-7.
TEST_P(Moments, OfNormals) {
  const DrawPlace draw{Stream(3, Purpose::kVisible), 5, 0};
  const Index count = 1000000;
  std::vector<float> normals(1000);
  double mean = 0;
  double square = 0;
  double fourth = 0;
  for (Index r = 0; r < 1000; ++r) {
    DrawNormals(draw, r, normals);
    for (const double x : normals) {
      mean += x;
      square += x * x;
      fourth += x * x * x * x;
    }
  }
  const double n = static_cast<double>(count);
  EXPECT_NEAR(mean / n, 0, 5.5 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1, 5.5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 5.5 * std::sqrt(96 / n));
}

// More terms than are taken at a time.
TEST(KernelsOnLongRows, AddUpAllTerms) {
  const Matrix v = RandomVisible(7, 2500, 1);
  const Matrix W = RandomVisible(2500, 20, 2);
  const std::vector<float> zeros(20);
  Matrix product(7, 20);
  RightFactor(W, zeros).Multiply(v, product);
  Panels marginal(7, 20);
  ProbabilityProduct(Packed(v), Packed(W), 0, {0, 7}, marginal);
  for (Index r = 0; r < 7; ++r) {
    for (Index j = 0; j < 20; ++j) {
      double expected = 0;
      for (Index i = 0; i < 2500; ++i) expected += double{v(r, i)} * double{W(i, j)};
      ASSERT_NEAR(product(r, j), expected, Tolerance(2500));
      ASSERT_NEAR(marginal.view()(r, j), expected, Tolerance(2500));
    }
  }
  EXPECT_NEAR(
      SumSoftplus(v.row(0)),
      [&] {
        double sum = 0;
        for (const double x : v.row(0)) sum += std::log(1 + std::exp(x));
        return sum;
      }(),
      1e-9);
}

TEST(KernelsOnThreads, ConcurrentCallsAreRight) {
  const Matrix v = RandomVisible(40, 37, 1);
  const Matrix W = RandomVisible(37, 70, 2);
  const BitMatrix h = RandomHidden(40, 70, 3);
  const Panels v_panels = Packed(v);
  const Panels W_panels = Packed(W);
  const Panels W_transposed = PackedTransposed(W);
  const PanelRow bias(70, kNever);
  const auto run = [&] {
    Panels logits(40, 70);
    Panels product(40, 37);
    HiddenResult result;
    result.logits = logits;
    for (Index g = 0; g < 2; ++g) Hidden(v_panels, W_panels, bias, g, {0, 40}, result);
    HiddenProduct(h, W_transposed, 0, {0, 40}, product);
    return std::make_pair(std::vector<float>(logits.values().begin(), logits.values().end()),
                          std::vector<float>(product.values().begin(), product.values().end()));
  };
  const auto expected = run();
  ThreadPool pool(5);
  pool.ParallelFor(5000, [&](Index) {
    if (run() != expected) throw NumericError("a product came out wrong");
  });
}

TEST_P(Moments, SumsOfSquaresAreThoseOfALoop) {
  for (const Index units : {0, 1, 7, 8, 9, 16, 67}) {
    const Matrix x = RandomVisible(1, units, 1);
    double sums[8] = {};
    for (Index k = 0; k < units; ++k) {
      sums[k < units / 8 * 8 ? k % 8 : 0] += double{x(0, k)} * double{x(0, k)};
    }
    EXPECT_EQ(SumOfSquares(x.row(0)), std::accumulate(std::begin(sums), std::end(sums), 0.0));
  }
}

TEST_P(Moments, StepsOfDescentAreThoseOfALoop) {
  const SgdStep step = {0.7, 0.9, 0.01, 0.003};
  for (const bool with_moment : {false, true}) {
    for (const Index units : {1, 7, 8, 9, 67}) {
      const Matrix theta = RandomVisible(1, units, 1);
      Matrix m = RandomVisible(1, units, 2);
      Matrix g = RandomVisible(1, units, 4);
      Matrix expected_m = m, expected = g;
      for (Index k = 0; k < units; ++k) {
        double direction = step.scale * double{g(0, k)};
        if (with_moment) direction = expected_m(0, k) = static_cast<float>(0.9 * double{m(0, k)} + direction);
        const float decayed = theta(0, k) - static_cast<float>(step.decay * double{theta(0, k)});
        expected(0, k) = decayed - static_cast<float>(step.rate * direction);
      }
      StepSgd(step, theta.row(0), with_moment ? m.row(0) : std::span<float>(), g.row(0));
      EXPECT_EQ(m, expected_m);
      EXPECT_EQ(g, expected);
    }
  }
}

TEST_P(Moments, StepsOfAdamAreThoseOfALoop) {
  const AdamStep step = {0.7, 0.9, 0.999, 0.271, 0.002997, 0.01, 0.003, 1e-8};
  for (const Index units : {1, 7, 8, 9, 67}) {
    const Matrix theta = RandomVisible(1, units, 1);
    Matrix m = RandomVisible(1, units, 2);
    Matrix s = RandomVisible(1, units, 3);
    Matrix g = RandomVisible(1, units, 4);
    for (float& x : s.values()) x *= x;
    Matrix expected_m = m, expected_s = s, expected = g;
    for (Index k = 0; k < units; ++k) {
      const double slope = step.scale * double{g(0, k)};
      expected_m(0, k) = static_cast<float>(0.9 * double{m(0, k)} + (1 - 0.9) * slope);
      expected_s(0, k) = static_cast<float>(0.999 * double{s(0, k)} + (1 - 0.999) * slope * slope);
      const double length = std::sqrt(double{expected_s(0, k)} / step.correction2) + step.epsilon;
      const double direction = double{expected_m(0, k)} / step.correction1 / length;
      const float decayed = theta(0, k) - static_cast<float>(step.decay * double{theta(0, k)});
      expected(0, k) = decayed - static_cast<float>(step.rate * direction);
    }
    StepAdam(step, theta.row(0), m.row(0), s.row(0), g.row(0));
    EXPECT_EQ(m, expected_m);
    EXPECT_EQ(s, expected_s);
    EXPECT_EQ(g, expected);
  }
}

TEST(CpuTargets, AreNamed) { EXPECT_FALSE(CpuTarget().empty()); }

}  // namespace
}  // namespace grbm::kernels
