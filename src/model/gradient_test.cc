// Every gradient against finite differences of the double-precision energies.
#include "grbm/model/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Doubles;
using testing::RandomHidden;
using testing::RandomModel;
using testing::RandomVisible;

// Fourth-order central difference of f at x: error of order step⁴.
double Slope(const std::function<double(double)>& f, double x, double step) {
  return (8 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12 * step);
}

constexpr double kStep = 0x1p-9;

// The slope of f(model) in one parameter, which is a float: the parameter is first rounded to multiples of the step,
// so that every shifted value is exact.
using Pick = std::function<float&(Parameters&)>;
double ParameterSlope(const Parameters& at, const Pick& pick, const std::function<double(const Model&)>& f) {
  Parameters p = at;
  const double x = pick(p);
  return Slope(
      [&](double value) {
        pick(p) = static_cast<float>(value);
        return f(Model(p));
      },
      x, kStep);
}

Parameters RoundToSteps(Parameters p) {
  const auto round = [](std::span<float> values) {
    for (float& x : values) x = static_cast<float>(std::round(double{x} / kStep) * kStep);
  };
  round(p.W.values());
  round(p.b);
  round(p.mu);
  round(p.log_var);
  return p;
}

// Calls check(name, analytic, pick) for every parameter of a gradient-shaped object.
template <typename Gradient, typename Check>
void ForEachParameter(const Gradient& g, const Check& check) {
  for (Index i = 0; i < g.W.rows(); ++i) {
    for (Index j = 0; j < g.W.cols(); ++j) {
      check("W", g.W(i, j), [i, j](Parameters& p) -> float& { return p.W(i, j); });
    }
  }
  for (std::size_t j = 0; j < g.b.size(); ++j) check("b", g.b[j], [j](Parameters& p) -> float& { return p.b[j]; });
  for (std::size_t i = 0; i < g.mu.size(); ++i) {
    check("mu", g.mu[i], [i](Parameters& p) -> float& { return p.mu[i]; });
    check("log_var", g.log_var[i], [i](Parameters& p) -> float& { return p.log_var[i]; });
  }
}

class Gradients : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  Model model = Model(RoundToSteps(RandomModel(3, 4, GetParam()).parameters()));
  Matrix v = RandomVisible(6, 3, GetParam() + 100);
  BitMatrix h = RandomHidden(6, 4, GetParam() + 200);
  ThreadPool pool{2};
};

INSTANTIATE_TEST_SUITE_P(Seeds, Gradients, ::testing::Values(1, 2, 3, 4, 5));

TEST_P(Gradients, EnergyInV) {
  for (Index r = 0; r < v.rows(); ++r) {
    std::vector<double> at = Doubles(v.row(r));
    const auto hr = Doubles(h, r);
    const auto joint = EnergyGradient(model, at, hr);
    const auto marginal = MarginalEnergyGradient(model, at);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto shifted = [&](double x) {
        auto moved = at;
        moved[i] = x;
        return moved;
      };
      EXPECT_NEAR(joint[i], Slope([&](double x) { return Energy(model, shifted(x), hr); }, at[i], kStep), 1e-9);
      EXPECT_NEAR(marginal[i], Slope([&](double x) { return MarginalEnergy(model, shifted(x)); }, at[i], kStep), 1e-8);
    }
  }
}

// The library's gradients are float; the bound is a few float roundings of numbers up to about 10.
TEST_P(Gradients, EnergyInEveryParameter) {
  EnergyStatistics statistics(model);
  statistics.Add(v, h, pool);
  const double n = static_cast<double>(v.rows());
  ForEachParameter(statistics.MeanGradient(pool), [&](const char* name, double analytic, const Pick& pick) {
    const double slope = ParameterSlope(model.parameters(), pick, [&](const Model& m) {
      double sum = 0;
      for (Index r = 0; r < v.rows(); ++r) sum += Energy(m, Doubles(v.row(r)), Doubles(h, r));
      return sum / n;
    });
    EXPECT_NEAR(analytic, slope, 1e-5) << name;
  });
}

TEST_P(Gradients, MarginalEnergyInEveryParameter) {
  EnergyStatistics statistics(model, EnergyStatistics::Hidden::kProbability);
  statistics.Add(v, pool);
  const double n = static_cast<double>(v.rows());
  ForEachParameter(statistics.MeanGradient(pool), [&](const char* name, double analytic, const Pick& pick) {
    const double slope = ParameterSlope(model.parameters(), pick, [&](const Model& m) {
      double sum = 0;
      for (Index r = 0; r < v.rows(); ++r) sum += MarginalEnergy(m, Doubles(v.row(r)));
      return sum / n;
    });
    EXPECT_NEAR(analytic, slope, 1e-5) << name;
  });
}

TEST_P(Gradients, ExactLogLikelihoodInEveryParameter) {
  const ExactGradient gradient = ExactModel(model).LogLikelihoodGradient(v);
  ForEachParameter(gradient, [&](const char* name, double analytic, const Pick& pick) {
    const double slope =
        ParameterSlope(model.parameters(), pick, [&](const Model& m) { return ExactModel(m).MeanLogLikelihood(v); });
    EXPECT_NEAR(analytic, slope, 1e-8) << name;
  });
}

// A row without gaps, one with one and one with two, and one of which nothing is known.
TEST_P(Gradients, ExactLogLikelihoodOfWhatIsKnownInEveryParameter) {
  constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
  v(1, 0) = v(2, 1) = v(2, 2) = v(3, 0) = v(3, 1) = v(3, 2) = kMissing;
  const ExactGradient gradient = ExactModel(model).LogLikelihoodGradient(v);
  ForEachParameter(gradient, [&](const char* name, double analytic, const Pick& pick) {
    const double slope =
        ParameterSlope(model.parameters(), pick, [&](const Model& m) { return ExactModel(m).MeanLogLikelihood(v); });
    EXPECT_NEAR(analytic, slope, 1e-8) << name;
  });
}

TEST(EnergyStatistics, BatchesAddUpAndThreadsDoNotMatter) {
  const Model model = RandomModel(130, 70, 6, 0.2);
  const Matrix v = RandomVisible(96, 130, 7);
  const BitMatrix h = RandomHidden(96, 70, 8);
  const auto gradient = [&](int threads, const std::vector<Index>& cuts) {
    ThreadPool pool(threads);
    EnergyStatistics statistics(model);
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      const Index rows = cuts[c + 1] - cuts[c];
      statistics.Add(v.view().Rows(cuts[c], rows), h.view().Rows(cuts[c], rows), pool);
    }
    return statistics.MeanGradient(pool);
  };
  const Parameters whole = gradient(1, {0, 96});
  EXPECT_TRUE(whole == gradient(2, {0, 96}));
  EXPECT_TRUE(whole == gradient(5, {0, 96}));
  const Parameters odd = gradient(2, {0, 5, 40, 96});
  for (std::size_t k = 0; k < whole.W.values().size(); ++k) {
    ASSERT_NEAR(whole.W.values()[k], odd.W.values()[k], 1e-5);
  }
}

TEST(EnergyStatistics, ResetForgets) {
  const Model model = RandomModel(3, 4, 1);
  const Matrix v = RandomVisible(6, 3, 2);
  const BitMatrix h = RandomHidden(6, 4, 3);
  ThreadPool pool(1);
  EnergyStatistics fresh(model);
  fresh.Add(v, h, pool);
  EnergyStatistics used(model);
  used.Add(RandomVisible(9, 3, 4), RandomHidden(9, 4, 5), pool);
  used.Reset(model, pool);
  used.Add(v, h, pool);
  EXPECT_TRUE(fresh.MeanGradient(pool) == used.MeanGradient(pool));
  EXPECT_EQ(used.count(), 6);
}

TEST(EnergyStatistics, RefusesWrongCalls) {
  ThreadPool pool(1);
  const Model model = RandomModel(2, 3, 1);
  EnergyStatistics states(model);
  EnergyStatistics probabilities(model, EnergyStatistics::Hidden::kProbability);
  EXPECT_THROW(states.Add(Matrix(1, 2), pool), ConfigError);
  EXPECT_THROW(probabilities.Add(Matrix(1, 2), BitMatrix(1, 3), pool), ConfigError);
  EXPECT_THROW(states.MeanGradient(pool), DataError);
}

}  // namespace
}  // namespace grbm
