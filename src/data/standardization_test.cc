#include "grbm/data/standardization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// The second unit has no margin: its values below 0 are values. The first has them, though its data have none.
TEST(Standardization, ZerosMoveDownByTheMarginAndWhatIsBetweenComesBackAsZero) {
  const Standardization margin = {{1, -2}, {2, 0.5f}, {4, 0}};
  Matrix values(4, 2);
  const float own[] = {0, -3, 0.5f, 0, -1, 1, std::nanf(""), 2};
  std::ranges::copy(own, values.values().begin());
  const Matrix original = values;
  margin.Apply(values);
  EXPECT_EQ(values(0, 0), (0 - 4 - 1) / 2.0f);
  EXPECT_EQ(values(1, 0), (0.5f - 1) / 2.0f);
  EXPECT_EQ(values(2, 0), (-1 - 4 - 1) / 2.0f);
  EXPECT_TRUE(std::isnan(values(3, 0)));
  EXPECT_THAT(values(0, 1), (-3 + 2) / 0.5f);
  EXPECT_THAT(values(1, 1), (0 + 2) / 0.5f);
  margin.Invert(values);
  EXPECT_EQ(values(0, 0), 0);
  EXPECT_EQ(values(1, 0), 0.5f);
  EXPECT_EQ(values(2, 0), 0);
  for (Index r = 0; r < 4; ++r) EXPECT_EQ(values(r, 1), original(r, 1)) << r;
  Matrix drawn(5, 2);  // the first unit's own values -5, -4, -2, 0, 0.25
  const float units[] = {-3, -2.5f, -1.5f, -0.5f, -0.375f};
  for (Index r = 0; r < 5; ++r) drawn(r, 0) = units[r];
  Matrix shown = drawn;
  margin.Shown(shown);
  margin.Invert(drawn);
  const float expected[] = {0, 0, 0, 0, 0.25f};
  for (Index r = 0; r < 5; ++r) {
    EXPECT_EQ(drawn(r, 0), expected[r]) << r;
    EXPECT_EQ(shown(r, 0), (expected[r] - 1) / 2) << r;
    EXPECT_EQ(shown(r, 1), 0) << r;
  }
}

TEST(Standardization, ZerosComeBackAsZerosWhateverTheRounding) {
  for (int k = 1; k < 300; ++k) {
    const float x = static_cast<float>(k);
    const Standardization margin = {{x / 7}, {x / 3}, {x / 11}};
    Matrix zero(1, 1);
    margin.Apply(zero);
    margin.Invert(zero);
    EXPECT_EQ(zero(0, 0), 0) << k;
  }
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
  EXPECT_EQ(Message({{1, 1}, {1, 1}, {0, 2}}), "");
  EXPECT_EQ(Message({{1, 1}, {1, 1}, {0, -2}}),
            "a.safetensors: standardization: margin[1] = -2: allowed is a finite number of at least 0");
  EXPECT_THAT(Message({{1, 1}, {1, 1}, {2}}), ::testing::HasSubstr("margin has 1 elements"));
  EXPECT_THAT(Message({{}, {}, {2, 2}}), ::testing::HasSubstr("mean has 0 elements"));
}

}  // namespace
}  // namespace grbm
