// Training with conditions: what one gradient is of.
#include "grbm/model/conditions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/energy.h"
#include "grbm/train/trainer.h"
#include "support/errors.h"
#include "support/learning.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ConditionedModel;
using testing::ErrorOf;

std::span<const float> ConditionsOf(const Model& model, std::span<const float> row) {
  return row.last(ToSize(model.conditions()));
}
std::span<const float> ValuesOf(const Model& model, std::span<const float> row) {
  return row.first(ToSize(model.visible()));
}

// Ẽ/τ of rows (v, u), on average, in double.
double MeanEnergy(const Model& model, ConstMatrix rows, double temperature) {
  double sum = 0;
  for (Index r = 0; r < rows.rows(); ++r) {
    const Model given = GivenConditions(model, ConditionsOf(model, rows.row(r))).Tempered(temperature);
    sum += MarginalEnergy(given, testing::Doubles(ValuesOf(model, rows.row(r))));
  }
  return sum / static_cast<double>(rows.rows());
}

// The gradient of one batch against central differences of what it is of, the chains' states (v - A u) held: of a small model,
// and of one whose batch is several pieces, with and without a temperature.
TEST(ConditionGradient, IsThatOfTheDataLessThatOfTheChains) {
  for (const auto& [visible, conditions, hidden, rows, temperature] :
       {std::tuple<Index, Index, Index, Index, double>{3, 2, 4, 40, 1}, {3, 2, 4, 40, 2}, {20, 3, 1500, 80, 1}}) {
    const Model model = ConditionedModel(visible, conditions, hidden, 21, hidden > 100 ? 0.05 : 1.0);
    const Matrix data = testing::RandomVisible(rows, visible + conditions, 4);
    ThreadPool pool(2);
    Matrix states = data;
    TakeShift(model, states, pool);
    const Model units = WithConditionUnits(model);
    TrainOptions train;
    train.hidden = HiddenKind::kProbability;
    train.algorithm = Algorithm::kPcd;
    train.restart_fraction = 0;
    Contrastive contrastive(train, 5, pool);
    contrastive.set_chains(ChainsFrom(units, states, 3, pool));
    SamplerOptions sampler = testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 1);
    sampler.temperature = temperature;
    const Parameters of_units = contrastive.Gradient(units, sampler, states, 0);
    const std::vector<double> gradient =
        testing::Values(GradientGivenConditions(model, of_units, contrastive.shift_gradient(), pool));
    const Matrix chains = contrastive.chains()->visible;
    for (Index r = 0; r < rows; ++r) {
      for (Index k = visible; k < visible + conditions; ++k) EXPECT_EQ(chains(r, k), data(r, k)) << "a condition moved";
    }
    const std::size_t stride = hidden > 100 ? 997 : 1;  // every parameter, or one of some
    for (std::size_t at = 0; at < gradient.size(); at += stride) {
      const auto objective = [&](float step) {
        auto [p, value] = testing::Moved(model, at, step);
        const Model moved(std::move(p));
        Matrix shifted = chains;
        AddShift(moved, shifted, pool);
        return std::pair(MeanEnergy(moved, data, temperature) - MeanEnergy(moved, shifted, temperature), value);
      };
      const auto [high, right] = objective(1e-2f);
      const auto [low, left] = objective(-1e-2f);
      EXPECT_NEAR(gradient[at], (high - low) / (right - left), 3e-4) << at;
    }
  }
}

TEST(ConditionTraining, RefusesWhatDoesNotGoTogether) {
  const auto refused = [&](const auto& change) {
    Trainer::Setup setup;
    setup.sampler = testing::LearningOptions(Method::kGibbs, Adjust::kNone, 1, 6);
    setup.visible = 3;
    setup.conditions = 2;
    setup.rows = 10;
    change(setup);
    ThreadPool pool(1);
    return ErrorOf([&] { Trainer(setup, {}, pool); });
  };
  const std::string opening = "train: conditions (data.condition, data.history) go with ";
  EXPECT_EQ(refused([](Trainer::Setup& s) { s.train.algorithm = Algorithm::kPcd; }),
            opening + "train.algorithm = \"noise-cd\" or \"cd\"");
  EXPECT_EQ(refused([](Trainer::Setup& s) { s.label_units = 1; }), opening + "model.labels = false");
}

}  // namespace
}  // namespace grbm
