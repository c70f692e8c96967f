#include "grbm/data/standardization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grbm/core/error.h"
#include "grbm/model/conditions.h"
#include "grbm/model/exact.h"
#include "support/models.h"

namespace grbm {
namespace {

const Standardization kTwo = {{1.0f, -2.0f}, {2.0f, 0.5f}};

std::string Message(const Standardization& standardization) {
  try {
    CheckStandardization(standardization, 2, "a.safetensors");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Standardization, MapsEachUnitByItsOwnMeanAndDeviation) {
  Matrix values(2, 2);
  values(0, 0) = 3;
  values(0, 1) = -2;
  values(1, 0) = 1;
  values(1, 1) = -1.5;
  const Matrix original = values;
  kTwo.Apply(values);
  EXPECT_THAT(values.values(), ::testing::ElementsAre(1, 0, 0, 1));
  kTwo.Invert(values);
  EXPECT_EQ(values, original);
}

TEST(Standardization, KeepsToItsViewOfAWiderMatrix) {
  Matrix values(2, 3);
  kTwo.Apply(MutableMatrix(values.data(), 2, 2, 3));
  EXPECT_THAT(values.values(), ::testing::ElementsAre(-0.5, 4, 0, -0.5, 4, 0));
}

TEST(Standardization, EmptyIsTheIdentityBitForBit) {
  Matrix values(1, 2);
  values(0, 0) = -0.0f;
  values(0, 1) = 1e-45f;
  Standardization().Apply(values);
  Standardization().Invert(values);
  EXPECT_TRUE(std::signbit(values(0, 0)));
  EXPECT_EQ(values(0, 1), 1e-45f);
}

// The densities differ by the volume of a unit alone, whatever the data are measured by.
TEST(Standardization, AModelInOtherUnitsHasTheSameLaw) {
  // With a floor that both variances are at, and which smaller units must not raise them to.
  Parameters parameters = testing::RandomModel(2, 4, 7).parameters();
  parameters.log_var = {0, 0};
  const Model model(parameters, 1.0);
  const Standardization other = {{-0.5f, 3.0f}, {0.25f, 4.0f}};
  for (const auto& [from, to] : {std::pair(kTwo, other), {kTwo, {}}, {{}, other}}) {
    const ExactModel before(model);
    const ExactModel after(InUnits(model, from, to));
    const auto volume = [](const Standardization& s) {
      return s.identity() ? 0.0 : std::log(double{s.deviation[0]} * double{s.deviation[1]});
    };
    Matrix x = testing::RandomVisible(20, 2, 8, 2.0);
    Matrix y = x;
    from.Apply(x);
    to.Apply(y);
    for (Index r = 0; r < x.rows(); ++r) {
      const auto density = [&](const ExactModel& exact, const Matrix& v) {
        return exact.LogDensity(std::vector<double>(v.row(r).begin(), v.row(r).end()));
      };
      EXPECT_NEAR(density(before, x) - volume(from), density(after, y) - volume(to), 1e-4) << r;
    }
  }
  EXPECT_EQ(InUnits(model, kTwo, kTwo).parameters(), model.parameters());
}

TEST(Standardization, AModelInOtherUnitsOfItsConditionsHasTheSameLaw) {
  const Model model = testing::ConditionedModel(2, 2, 3, 4);
  const Standardization from = {{1, -2}, {0.5f, 3}};
  for (const Standardization& to : {kTwo, Standardization()}) {
    const Model after = InUnits(InConditionUnits(model, from, to), from, to);
    Matrix x = testing::RandomVisible(20, 2, 8, 2.0);
    Matrix y = x;
    from.Apply(x);
    to.Apply(y);
    const double volume = to.identity() ? std::log(1.5) : std::log(1.5 / double{to.deviation[0] * to.deviation[1]});
    for (Index r = 1; r < x.rows(); ++r) {
      const auto density = [&](const Model& m, const Matrix& v) {  // of a row, with that before it as its conditions
        return ExactModel(GivenConditions(m, v.row(r - 1))).LogDensity(testing::Doubles(v.row(r)));
      };
      EXPECT_NEAR(density(model, x) - volume, density(after, y), 1e-4) << r;
    }
  }
}

TEST(Standardization, ChecksNameThePlaceTheValueAndWhatIsAllowed) {
  EXPECT_EQ(Message({}), "");
  EXPECT_EQ(Message(kTwo), "");
  EXPECT_EQ(Message({{1}, {1, 1}}),
            "a.safetensors: standardization: mean has 1 elements: expected are 2, one per visible "
            "unit");
  EXPECT_EQ(Message({{1, 1}, {}}),
            "a.safetensors: standardization: deviation has 0 elements: expected are 2, one per "
            "visible unit");
  EXPECT_EQ(Message({{1, std::numeric_limits<float>::quiet_NaN()}, {1, 1}}),
            "a.safetensors: standardization: mean[1] = nan: allowed is a finite number");
  EXPECT_EQ(Message({{1, 1}, {1, 0}}),
            "a.safetensors: standardization: deviation[1] = 0: allowed is a finite number above 0");
  EXPECT_NE(Message({{1, 1}, {1, std::numeric_limits<float>::infinity()}}), "");
  EXPECT_NE(Message({{1, 1}, {-1, 1}}), "");
}

}  // namespace
}  // namespace grbm
