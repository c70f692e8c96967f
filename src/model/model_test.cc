#include "grbm/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grbm/model/energy.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::Doubles;
using ::testing::HasSubstr;
using testing::RandomHidden;
using testing::RandomModel;
using testing::RandomVisible;

std::string Refusal(const Parameters& parameters, double floor = 1e-8) {
  try {
    const Model model(parameters, floor);
  } catch (const Error& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Model, RefusesWhatIsNotAModel) {
  const Parameters good = RandomModel(3, 4, 1).parameters();
  EXPECT_EQ(Refusal(good), "(accepted)");

  Parameters p = good;
  p.b.pop_back();
  EXPECT_EQ(Refusal(p), "model: b has 3 elements, but W has 4 hidden units: they must be as many");
  p = good;
  p.mu.push_back(0);
  EXPECT_THAT(Refusal(p), HasSubstr("mu has 4 elements"));
  p = good;
  p.log_var.clear();
  EXPECT_THAT(Refusal(p), HasSubstr("log_var has 0 elements"));
  p = good;
  p.W(1, 2) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Refusal(p), "model: W[1, 2] is nan: every parameter must be finite");
  p = good;
  p.b[3] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(Refusal(p), HasSubstr("b[3] is -inf"));
  p = good;
  p.mu[0] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Refusal(p), HasSubstr("mu[0] is inf"));
  p = good;
  p.log_var[2] = 89.0f;  // exp overflows a float
  EXPECT_THAT(Refusal(p), HasSubstr("log_var[2] is 89"));
  EXPECT_THAT(Refusal(Parameters(0, 4)), HasSubstr("W is 0 × 4"));
  EXPECT_THAT(Refusal(good, 0), HasSubstr("variance_floor = 0"));
  EXPECT_THROW(Model::Initial(0, 1, 1), ConfigError);
  EXPECT_THROW(Model::Initial(1, 1, 1, -1.0), ConfigError);
  EXPECT_THROW(RandomModel(1, 1, 1).Tempered(0), ConfigError);
}

TEST(Model, RefusesStatesThatDoNotFit) {
  const Model model = RandomModel(3, 4, 1);
  ThreadPool pool(1);
  EXPECT_THROW(HiddenLogits(model, Matrix(2, 4), pool), DataError);
  EXPECT_THROW(VisibleMean(model, BitMatrix(2, 3), pool), DataError);
  EXPECT_THROW(Energies(model, Matrix(2, 3), BitMatrix(3, 4), pool), DataError);
  Matrix v(2, 3);
  v(1, 2) = std::numeric_limits<float>::quiet_NaN();
  try {
    HiddenLogits(model, v, pool);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "visible states: element [1, 2] is nan: every value must be finite");
  }
}

TEST(Model, VariancesKeepToTheFloor) {
  Parameters p(2, 1);
  p.log_var = {-30.0f, 1.0f};
  const Model model(p, 1e-4);
  EXPECT_NEAR(model.variance()[0], 1e-4, 1e-9);
  EXPECT_NEAR(model.inverse_variance()[0], 1e4, 1e-1);
  EXPECT_NEAR(model.mean_variance(), (1e-4 + std::exp(1.0)) / 2, 1e-6);
}

// 200,000 weights: mean and variance within 5.1 standard errors (family-wise error 1e-6).
TEST(Model, InitialWeightsHaveTheStatedVariance) {
  const Model model = Model::Initial(400, 500, 3, 0.25);
  double sum = 0;
  double squares = 0;
  for (const float w : model.parameters().W.values()) {
    sum += double{w};
    squares += double{w} * double{w};
  }
  const double n = 200000;
  const double variance = 0.25 / 900;
  EXPECT_NEAR(sum / n, 0, 5.1 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n / variance, 1, 5.1 * std::sqrt(2 / n));
  EXPECT_NEAR(model.mean_variance(), 0.25, 1e-7);
  EXPECT_FALSE(model.parameters() == Model::Initial(400, 500, 4, 0.25).parameters());
}

TEST(Model, ReplacedItIsTheOtherModel) {
  ThreadPool pool(1);
  const Model first = RandomModel(3, 70, 2);
  const Model second = RandomModel(3, 70, 3);
  const Matrix v = RandomVisible(10, 3, 4);
  const auto energies = [&](const Model& m) { return MarginalEnergies(m, v, pool); };
  Model model(first.parameters());
  EXPECT_EQ(energies(model), energies(first));
  EXPECT_TRUE(model.Replace(Model(second.parameters())) == first.parameters());
  EXPECT_EQ(energies(model), energies(second));
  // Copies keep the weights that they share.
  const Model copy = model;
  EXPECT_TRUE(model.Replace(Model(first.parameters())) == second.parameters());
  EXPECT_EQ(energies(model), energies(first));
  EXPECT_EQ(energies(copy), energies(second));
  // A model that is packed already stays so.
  EXPECT_TRUE(model.Replace(second) == first.parameters());
  EXPECT_EQ(energies(model), energies(copy));
}

// The floor is tempered, too, and to the last bit as the variances are.
TEST(Model, AUnitAtTheFloorIsThereAtEveryTemperature) {
  testing::Dice dice(3);
  for (int k = 0; k < 1000; ++k) {
    const double floor = std::exp(dice.Uniform(-12, 0));
    const double temperature = std::exp(dice.Uniform(-3, 7));
    Parameters p(2, 1);
    p.log_var = {-100, 5};
    const Model model(p, floor);
    const Model tempered = model.Tempered(temperature);
    EXPECT_NEAR(tempered.variance_floor() / (temperature * floor), 1, 1e-5);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(tempered.log_var()[i], static_cast<float>(double{model.log_var()[i]} + std::log(temperature)));
    }
    EXPECT_NEAR(double{tempered.variance()[0]} / tempered.variance_floor(), 1, 1e-6);
  }
}

TEST(Model, TheTemperedModelHasTheTemperedEnergy) {
  const Model model = RandomModel(3, 4, 2);
  for (const double temperature : {0.3, 1.0, 7.0}) {
    const Model tempered = model.Tempered(temperature);
    const BitMatrix h = RandomHidden(10, 4, 3);
    const Matrix v = RandomVisible(10, 3, 4);
    for (Index r = 0; r < 10; ++r) {
      const auto vr = Doubles(v.row(r));
      const auto hr = Doubles(h, r);
      EXPECT_NEAR(Energy(tempered, vr, hr), Energy(model, vr, hr) / temperature, 1e-5);
    }
  }
}

// Equation (1), term by term, with nothing shared with the library.
TEST(Energy, IsThePapersFormula) {
  const Model model = RandomModel(3, 4, 5);
  const auto v = Doubles(RandomVisible(1, 3, 6).row(0));
  const auto h = Doubles(RandomHidden(1, 4, 7), 0);
  double expected = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double variance = std::exp(double{model.log_var()[i]});
    expected += 0.5 * std::pow((v[i] - double{model.mu()[i]}) / std::sqrt(variance), 2);
    for (std::size_t j = 0; j < 4; ++j) {
      expected -= v[i] / variance * double{model.W()(static_cast<Index>(i), static_cast<Index>(j))} * h[j];
    }
  }
  for (std::size_t j = 0; j < 4; ++j) expected -= double{model.b()[j]} * h[j];
  EXPECT_NEAR(Energy(model, v, h), expected, 1e-12);
}

TEST(Energy, TheMarginalEnergySumsOverHiddenStates) {
  const Model model = RandomModel(2, 5, 8);
  const auto v = Doubles(RandomVisible(1, 2, 9).row(0));
  double sum = 0;
  for (unsigned state = 0; state < 32; ++state) {
    std::vector<double> h;
    for (unsigned j = 0; j < 5; ++j) h.push_back(state >> j & 1);
    sum += std::exp(-Energy(model, v, h));
  }
  EXPECT_NEAR(MarginalEnergy(model, v), -std::log(sum), 1e-12);
}

TEST(Energy, BatchesAgreeWithSingleStates) {
  const Model model = RandomModel(7, 70, 10, 0.3);
  const Matrix v = RandomVisible(40, 7, 11);
  const BitMatrix h = RandomHidden(40, 70, 12);
  ThreadPool pool(2);
  const auto joint = Energies(model, v, h, pool);
  const auto marginal = MarginalEnergies(model, v, pool);
  const Matrix logits = HiddenLogits(model, v, pool);
  const Matrix probabilities = HiddenProbabilities(model, v, pool);
  const Matrix mean = VisibleMean(model, h, pool);
  for (Index r = 0; r < 40; ++r) {
    const auto vr = Doubles(v.row(r));
    const auto hr = Doubles(h, r);
    EXPECT_NEAR(joint[static_cast<std::size_t>(r)], Energy(model, vr, hr), 1e-4);
    EXPECT_NEAR(marginal[static_cast<std::size_t>(r)], MarginalEnergy(model, vr), 1e-4);
    const auto expected = HiddenLogits(model, vr);
    for (Index j = 0; j < 70; ++j) {
      const double x = expected[static_cast<std::size_t>(j)];
      EXPECT_NEAR(logits(r, j), x, 1e-5);
      EXPECT_NEAR(probabilities(r, j), 1 / (1 + std::exp(-x)), 1e-6);
    }
    // ∂E/∂v vanishes at the mean of p(v | h).
    for (const double slope : EnergyGradient(model, Doubles(mean.row(r)), hr)) EXPECT_NEAR(slope, 0, 1e-4);
  }
}

}  // namespace
}  // namespace grbm
