#include "grbm/sampler/diagnostics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "grbm/core/random.h"

namespace grbm {
namespace {

using Chains = BasicMatrix<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// tests/golden/diagnostics/make_golden.R says what is in it.
const nlohmann::json& Golden() {
  static const nlohmann::json golden = nlohmann::json::parse(std::ifstream(GRBM_TEST_DATA "/diagnostics/golden.json"));
  return golden;
}

double Number(const nlohmann::json& value) {
  if (value.is_null()) return kNaN;
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

Chains ReadDraws(const nlohmann::json& rows) {
  Chains draws(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  for (Index c = 0; c < draws.rows(); ++c) {
    for (Index i = 0; i < draws.cols(); ++i) {
      draws(c, i) = Number(rows[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)]);
    }
  }
  return draws;
}

Chains GoldenDraws(const std::string& name) {
  for (const nlohmann::json& test : Golden()["cases"]) {
    if (test["name"] == name) return ReadDraws(test["draws"]);
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

void ExpectClose(double actual, double expected, double tolerance, const std::string& what) {
  if (std::isfinite(expected)) {
    EXPECT_NEAR(actual, expected, tolerance * std::abs(expected)) << what;
  } else if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what << " = " << actual;
  } else {
    EXPECT_EQ(actual, expected) << what;
  }
}

void ExpectSame(const Diagnostics& actual, const Diagnostics& expected, double tolerance, const std::string& what) {
  ExpectClose(actual.rhat, expected.rhat, tolerance, what + ": rhat");
  ExpectClose(actual.ess_bulk, expected.ess_bulk, tolerance, what + ": ess_bulk");
  ExpectClose(actual.ess_tail, expected.ess_tail, tolerance, what + ": ess_tail");
  ExpectClose(actual.ess_mean, expected.ess_mean, tolerance, what + ": ess_mean");
  ExpectClose(actual.autocorrelation_time, expected.autocorrelation_time, tolerance, what + ": autocorrelation_time");
}

// x_t = rho x_{t-1} + √(1 - rho²) ξ_t: stationary, variance 1, autocorrelation rho^t.
Chains Autoregressive(Index chains, Index draws, double rho, std::uint64_t seed) {
  const Stream stream(seed, Purpose::kVisible);
  Chains x(chains, draws);
  for (Index c = 0; c < chains; ++c) {
    for (Index i = 0; i < draws; ++i) {
      const double noise = stream.Normal(0, static_cast<std::uint32_t>(c), i);
      x(c, i) = i == 0 ? noise : rho * x(c, i - 1) + std::sqrt(1 - rho * rho) * noise;
    }
  }
  return x;
}

template <typename Function>
Chains Map(Chains x, Function function) {
  for (double& value : x.values()) value = function(value);
  return x;
}

TEST(Diagnostics, AgreeWithPosterior) {
  EXPECT_GE(Golden()["cases"].size(), 40u);
  for (const nlohmann::json& test : Golden()["cases"]) {
    const Chains draws = ReadDraws(test["draws"]);
    const nlohmann::json& expected = test["expected"];
    const double ess_mean = Number(expected["ess_mean"]);
    ExpectSame(Diagnose(draws),
               {.rhat = Number(expected["rhat"]),
                .ess_bulk = Number(expected["ess_bulk"]),
                .ess_tail = Number(expected["ess_tail"]),
                .ess_mean = ess_mean,
                .autocorrelation_time = static_cast<double>(draws.values().size()) / ess_mean},
               1e-11, test["name"].get<std::string>());
  }
}

TEST(Diagnostics, EachFunctionGivesItsPartOfDiagnose) {
  const Chains draws = GoldenDraws("odd-draws");
  const Diagnostics all = Diagnose(draws);
  EXPECT_EQ(SplitRhat(draws), all.rhat);
  EXPECT_EQ(EssBulk(draws), all.ess_bulk);
  EXPECT_EQ(EssTail(draws), all.ess_tail);
  EXPECT_EQ(EssMean(draws), all.ess_mean);
  EXPECT_EQ(static_cast<double>(draws.rows() * draws.cols()) / EssMean(draws), all.autocorrelation_time);
}

TEST(Diagnostics, ReadViewsWithAStride) {
  const Chains packed = GoldenDraws("odd-draws");
  Chains wide(packed.rows(), packed.cols() + 5);
  for (double& value : wide.values()) value = kNaN;
  for (Index c = 0; c < packed.rows(); ++c) {
    std::ranges::copy(packed.row(c), wide.row(c).begin() + 2);
  }
  const MatrixView<const double> view(wide.data() + 2, packed.rows(), packed.cols(), wide.cols());
  ExpectSame(Diagnose(view), Diagnose(packed), 0, "strided");
}

TEST(Diagnostics, DoNotDependOnOrderOfChainsNorOnUnits) {
  const Chains draws = GoldenDraws("ar1-0.5");
  const Diagnostics expected = Diagnose(draws);
  Chains reversed(draws.rows(), draws.cols());
  for (Index c = 0; c < draws.rows(); ++c) {
    std::ranges::copy(draws.row(c), reversed.row(draws.rows() - 1 - c).begin());
  }
  ExpectSame(Diagnose(reversed), expected, 1e-12, "reversed chains");
  ExpectSame(Diagnose(Map(draws, [](double x) { return 1024 * x; })), expected, 1e-12, "scaled");

  const Chains growing = Map(draws, [](double x) { return std::exp(2 * x); });
  EXPECT_EQ(EssBulk(growing), expected.ess_bulk);
  EXPECT_EQ(EssTail(growing), expected.ess_tail);
  EXPECT_GT(std::abs(EssMean(growing) / expected.ess_mean - 1), 0.01);
}

// S/τ = S (1 - rho) / (1 + rho) of S draws, and the same for their ranks. A window of w lags gives τ a relative
// standard error of √(2 (2w + 1) / S) (Madras and Sokal 1988); `window` is where |rho|^w has sunk into the noise and
// Geyer's rule has stopped. Over 400 seeds the standard deviations were below that (0.021, 0.008, 0.015 and 0.033),
// and the bias of the rule below 2 %. Eight comparisons within 5.5 standard errors and the bias, four of R̂:
// family-wise error 8 × 3.8e-8 + 8 × 5e-9 < 1e-6.
TEST(Diagnostics, AutoregressiveChainsHaveTheEssOfTheory) {
  const struct {
    double rho;
    double window;
  } cases[] = {{-0.6, 40}, {0, 10}, {0.5, 20}, {0.9, 80}};
  std::uint64_t seed = 7;
  for (const auto& [rho, window] : cases) {
    const Chains draws = Autoregressive(16, 10000, rho, seed++);
    const double total = 160000;
    const double theory = total * (1 - rho) / (1 + rho);
    const double error = 5.5 * std::sqrt(2 * (2 * window + 1) / total) + 0.02;
    const Diagnostics actual = Diagnose(draws);
    const std::string name = "rho " + std::to_string(rho);
    ExpectClose(actual.ess_mean, theory, error, name + ": ess_mean");
    ExpectClose(actual.ess_bulk, theory, error, name + ": ess_bulk");
    // N (R̂² - 1) + 1 = τ χ²/31 for the 32 half means; χ² > 3.2 · 31 has probability 5e-9. Folded draws have τ below
    // (1 + rho²) / (1 - rho²).
    const double tau = std::max((1 + rho) / (1 - rho), (1 + rho * rho) / (1 - rho * rho));
    EXPECT_LT(actual.rhat, std::sqrt(1 + (3.2 * tau - 1) / 5000)) << name;
  }
}

TEST(Diagnostics, RhatSeesWhatDiffers) {
  const Chains same = Autoregressive(4, 1000, 0.2, 3);
  EXPECT_LT(SplitRhat(same), 1.01);

  Chains shifted = same;
  for (double& x : shifted.row(2)) x += 2;
  EXPECT_GT(SplitRhat(shifted), 1.1);

  Chains scaled = same;
  for (double& x : scaled.row(2)) x *= 4;
  EXPECT_GT(SplitRhat(scaled), 1.1);

  Chains drifting = same;
  for (Index c = 0; c < 4; ++c) {
    for (Index i = 0; i < 1000; ++i) drifting(c, i) += static_cast<double>(i) / 500;
  }
  EXPECT_GT(SplitRhat(drifting), 1.1);
}

TEST(Diagnostics, RhatOfChainsThatNeverMoveIsInfinite) {
  Chains draws(3, 1001);
  for (Index c = 0; c < 3; ++c) {
    for (double& x : draws.row(c)) x = 0.1 * static_cast<double>(c * c);
  }
  EXPECT_EQ(SplitRhat(draws), std::numeric_limits<double>::infinity());
}

TEST(Diagnostics, SayNothingWithoutDraws) {
  const Diagnostics nothing = {kNaN, kNaN, kNaN, kNaN, kNaN};
  for (const auto& [chains, draws] : {std::pair{0, 0}, {0, 10}, {4, 0}, {4, 1}, {4, 2}, {4, 3}}) {
    ExpectSame(Diagnose(Autoregressive(chains, draws, 0, 1)), nothing, 0,
               std::to_string(chains) + " × " + std::to_string(draws));
  }
}

TEST(Diagnostics, ANaNAnywhereGivesNaN) {
  const Diagnostics nothing = {kNaN, kNaN, kNaN, kNaN, kNaN};
  for (const Index draw : {0, 10, 20}) {  // 10 is the one that the split drops
    Chains draws = Autoregressive(4, 21, 0, 1);
    draws(3, draw) = kNaN;
    ExpectSame(Diagnose(draws), nothing, 0, "NaN at " + std::to_string(draw));
  }
}

TEST(Diagnostics, SquaresThatOverflowGiveNaNNotANumber) {
  const Chains draws = Map(Autoregressive(4, 20, 0, 1), [](double x) { return 1e200 * x; });
  EXPECT_TRUE(std::isnan(EssMean(draws)));
  EXPECT_TRUE(std::isfinite(EssBulk(draws)));
  EXPECT_TRUE(std::isfinite(SplitRhat(draws)));
}

TEST(Diagnostics, NormalQuantileAgreesWithR) {
  const nlohmann::json& table = Golden()["normal_quantile"];
  ASSERT_GE(table["p"].size(), 30u);
  for (std::size_t i = 0; i < table["p"].size(); ++i) {
    const double p = table["p"][i];
    ExpectClose(NormalQuantile(p), table["z"][i], 1e-14, "p = " + std::to_string(p));
  }
}

TEST(Diagnostics, NormalQuantileInvertsTheNormalCdf) {
  // Φ's relative error is about z² times that of z: 1e3 at the far end.
  for (double z = -36; z <= 7; z += 0.01) {
    const double p = 0.5 * std::erfc(-z / std::sqrt(2.0));
    const double back = 0.5 * std::erfc(-NormalQuantile(p) / std::sqrt(2.0));
    ASSERT_NEAR(back, p, 1e-12 * p) << "z = " << z;
  }
  for (const double p : {0.001, 0.05, 0.3, 0.4375}) {
    EXPECT_NEAR(NormalQuantile(1 - p), -NormalQuantile(p), 1e-13);
  }
  EXPECT_EQ(NormalQuantile(0.5), 0);
  EXPECT_EQ(NormalQuantile(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(NormalQuantile(1), std::numeric_limits<double>::infinity());
  for (const double p : {-0.1, 1.1, kNaN}) EXPECT_TRUE(std::isnan(NormalQuantile(p))) << p;
}

}  // namespace
}  // namespace grbm
