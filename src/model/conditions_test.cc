#include "grbm/model/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/quadrature.h"
#include "support/errors.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ConditionedModel;
using testing::Dice;
using testing::Doubles;
using testing::ErrorOf;
using ::testing::HasSubstr;

// E(v, h | u) as (80) has it, in double.
double NaiveEnergy(const Model& m, std::span<const double> v, std::span<const double> h, std::span<const double> u) {
  double energy = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto row = static_cast<Index>(i);
    double mean = m.mu()[i];
    for (std::size_t k = 0; k < u.size(); ++k) mean += double{m.A()(row, static_cast<Index>(k))} * u[k];
    const double variance = std::exp(double{m.log_var()[i]});
    energy += (v[i] - mean) * (v[i] - mean) / (2 * variance);
    for (std::size_t j = 0; j < h.size(); ++j) energy -= v[i] * double{m.W().row(row)[j]} * h[j] / variance;
  }
  for (std::size_t j = 0; j < h.size(); ++j) {
    double bias = m.b()[j];
    for (std::size_t k = 0; k < u.size(); ++k) {
      bias += double{m.B()(static_cast<Index>(j), static_cast<Index>(k))} * u[k];
    }
    energy -= bias * h[j];
  }
  return energy;
}

struct State {
  std::vector<float> u;
  Matrix row;  // (v, u)
  std::vector<double> v;
  std::vector<double> h;
};
State RandomState(const Model& model, Dice& dice) {
  State s{{}, Matrix(1, model.visible() + model.conditions()), {}, {}};
  for (float& x : s.row.values()) x = static_cast<float>(dice.Normal());
  s.v = Doubles(s.row.row(0).first(static_cast<std::size_t>(model.visible())));
  const auto u = s.row.row(0).last(static_cast<std::size_t>(model.conditions()));
  s.u.assign(u.begin(), u.end());
  for (Index j = 0; j < model.hidden(); ++j) s.h.push_back(dice.Coin() ? 1 : 0);
  return s;
}

TEST(Conditions, GivenThemTheEnergyIsThatOfShiftedBiases) {
  const Model model = ConditionedModel(3, 2, 4, 5);
  Dice dice(1);
  for (int k = 0; k < 20; ++k) {
    const State s = RandomState(model, dice);
    const Model given = GivenConditions(model, s.u);
    EXPECT_EQ(given.conditions(), 0);
    EXPECT_NEAR(Energy(given, s.v, s.h), NaiveEnergy(model, s.v, s.h, Doubles(s.u)), 1e-5);
    // exp(-E/τ) given u is that of the model which is tempered first.
    EXPECT_NEAR(Energy(GivenConditions(model.Tempered(3), s.u), s.v, s.h), Energy(given, s.v, s.h) / 3, 1e-5);
  }
}

// As units, conditions leave the energy of (v, h) as it is but for a part that they alone are in, Σ u²/2.
TEST(Conditions, AsUnitsTheyLeaveTheLawOfTheOthers) {
  const Model model = ConditionedModel(3, 2, 4, 5);
  for (const double temperature : {1.0, 3.0}) {
    const Model units = WithConditionUnits(model).Tempered(temperature);
    EXPECT_EQ(units.condition_units(), 2);
    EXPECT_EQ(units.gaussian_units(), 3);
    ThreadPool pool(2);
    Dice dice(2);
    for (int k = 0; k < 20; ++k) {
      State s = RandomState(model, dice);
      const Model given = GivenConditions(model, s.u).Tempered(temperature);
      const double own = (s.u[0] * s.u[0] + s.u[1] * s.u[1]) / (2 * temperature);
      const Matrix before = s.row;
      TakeShift(model, s.row, pool);
      const std::vector<double> state = Doubles(s.row.row(0));
      EXPECT_NEAR(Energy(units, state, s.h), own + Energy(given, s.v, s.h), 1e-5);
      EXPECT_NEAR(MarginalEnergy(units, state), own + MarginalEnergy(given, s.v), 1e-5);
      EXPECT_NEAR(MarginalEnergies(units, s.row, pool)[0], own + MarginalEnergy(given, s.v), 1e-4);
      AddShift(model, s.row, pool);
      for (Index i = 0; i < before.cols(); ++i) EXPECT_NEAR(s.row(0, i), before(0, i), 1e-6);
    }
  }
}

TEST(Conditions, WhatDoesNotKnowThemRefusesTheModel) {
  const Model model = ConditionedModel(2, 2, 4, 5);
  ThreadPool pool(1);
  const std::vector<double> v(2);
  const std::vector<double> h(4);
  const std::string refused = "model: it has conditions: take it given them (GivenConditions)";
  EXPECT_EQ(ErrorOf([&] { HiddenLogits(model, Matrix(1, 2), pool); }), refused);
  EXPECT_EQ(ErrorOf([&] { Energy(model, v, h); }), refused);
  EXPECT_EQ(ErrorOf([&] { MarginalEnergyGradient(model, v); }), refused);
  EXPECT_EQ(ErrorOf([&] { ExactModel{model}; }), refused);
  EXPECT_EQ(ErrorOf([&] { Quadrature{model}; }), refused);
  EXPECT_EQ(ErrorOf([&] { GivenConditions(model, std::vector<float>(3)); }),
            "conditions: 3 values, but the model has 2: they must be as many");
}

TEST(Conditions, ShapesMustFit) {
  const auto refused = [](const auto& change) {
    Parameters p(2, 3, 2);
    change(p);
    return ErrorOf([&] { Model{p}; });
  };
  EXPECT_EQ(refused([](Parameters&) {}), "no error");
  EXPECT_THAT(refused([](Parameters& p) { p.B = {}; }), HasSubstr("A has 2 columns, and B 0"));
  EXPECT_THAT(refused([](Parameters& p) { p.A = Matrix(3, 2); }), HasSubstr("A has 3 elements, but W has 2 visible"));
  EXPECT_THAT(refused([](Parameters& p) { p.B = Matrix(2, 2); }), HasSubstr("B has 2 elements, but W has 3 hidden"));
  EXPECT_THAT(refused([](Parameters& p) { p.A(1, 0) = NAN; }), HasSubstr("A[1, 0] is nan"));
  Parameters p(2, 3, 2);
  EXPECT_THAT(ErrorOf([&] { Model(p, 1e-8, 1); }), HasSubstr("labels and conditions"));
}

}  // namespace
}  // namespace grbm
