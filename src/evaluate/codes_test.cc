#include "grbm/evaluate/codes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "grbm/model/conditions.h"
#include "grbm/model/energy.h"
#include "grbm/model/exact.h"
#include "grbm/model/labels.h"
#include "support/models.h"

namespace grbm {
namespace {

using testing::ConditionedModel;
using testing::Doubles;
using testing::LabelledModel;
using testing::RandomVisible;

// p(h_j = 1 | v) = Σ_y p(y | v) p(h_j = 1 | v, y), of which enumeration knows both.
TEST(Codes, WithLabelsProbabilitiesAreTheSumOverClasses) {
  const ModelFile file{LabelledModel(3, 4, 5, 7), {}, {}, {}, {}, {}, {"a", "b", "c", "d"}};
  const ExactModel exact(file.model);
  const Matrix values = RandomVisible(20, 3, 9);
  ThreadPool pool(2);
  const Matrix p = Codes(file).Probabilities({values, {}}, pool);
  for (Index r = 0; r < values.rows(); ++r) {
    std::vector<double> joint;
    for (Index k = 0; k < 4; ++k) {
      std::vector<double> state = Doubles(values.row(r));
      state.resize(7);
      state[static_cast<std::size_t>(3 + k)] = 1;
      joint.push_back(exact.LogDensity(state));
    }
    NormalizeLogs(joint);
    std::vector<double> mean(5);
    for (Index k = 0; k < 4; ++k) {
      const Matrix given = HiddenProbabilities(GivenLabel(file.model, k), values.view().Rows(r, 1), pool);
      for (std::size_t j = 0; j < 5; ++j) {
        mean[j] += std::exp(joint[static_cast<std::size_t>(k)]) * double{given.row(0)[j]};
      }
    }
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(p.row(r)[j], mean[j], 1e-5);
  }
}

TEST(Codes, GivenConditionsTheyAreThoseOfEachRowsOwnModel) {
  const ModelFile file{ConditionedModel(3, 2, 5, 1)};
  const Matrix values = RandomVisible(20, 3, 4);
  const Matrix conditions = RandomVisible(20, 2, 5);
  ThreadPool pool(2);
  const Codes codes(file);
  const Matrix p = codes.Probabilities({values, conditions}, pool);
  const Matrix v = codes.Decode(p, conditions, pool);
  for (Index r = 0; r < values.rows(); ++r) {
    const Model given = GivenConditions(file.model, conditions.row(r));
    const Matrix own = HiddenProbabilities(given, values.view().Rows(r, 1), pool);
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(p.row(r)[j], own.row(0)[j], 1e-5);
    const Matrix mean = VisibleMean(given, p.view().Rows(r, 1), pool);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(v.row(r)[i], mean.row(0)[i], 1e-5);
  }
}

// A draw is a function of its row's number: of labels, too.
TEST(Codes, RowsMayComeInPieces) {
  const ModelFile labelled{LabelledModel(3, 4, 5, 7), {}, {}, {}, {}, {}, {"a", "b", "c", "d"}};
  const ModelFile conditional{ConditionedModel(3, 2, 5, 1)};
  const Matrix values = RandomVisible(200, 3, 9, 3.0);
  const Matrix u = RandomVisible(200, 2, 5);
  ThreadPool pool(1);
  for (const ModelFile* file : {&labelled, &conditional}) {
    const Codes codes(*file);
    const bool given = file->model.conditions() > 0;
    const auto draw = [&](Index first, Index count) {
      const ConstMatrix with = given ? u.view().Rows(first, count) : ConstMatrix();
      return codes.Draw({values.view().Rows(first, count), with, static_cast<std::uint32_t>(first)}, 11, pool);
    };
    const BitMatrix whole = draw(0, 200);
    const BitMatrix end = draw(150, 50);
    Index on = 0;
    for (Index r = 0; r < 50; ++r) {
      for (Index j = 0; j < 5; ++j) {
        EXPECT_EQ(end.Get(r, j), whole.Get(150 + r, j));
        on += end.Get(r, j) ? 1 : 0;
      }
    }
    EXPECT_GT(on, 25);
    EXPECT_LT(on, 225);
  }
}

}  // namespace
}  // namespace grbm
