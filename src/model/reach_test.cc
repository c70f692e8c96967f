#include "grbm/model/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "grbm/core/error.h"
#include "grbm/model/energy.h"
#include "support/models.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

template <typename Reach>
std::string Refusal(const Parameters& p, const Reach& reach) {
  try {
    CheckReach(Model(p), reach, "m");
  } catch (const NumericError& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

TEST(Reach, NamesTheParameterThatIsAbsurd) {
  Parameters p(3, 2);
  EXPECT_EQ(Refusal(p, 1.0), "(nothing was thrown)");
  p.W(2, 1) = 3e38f;
  EXPECT_THAT(Refusal(p, 1.0), StartsWith("m: W[2, 1] = 3e+38: the mean of visible unit 2 can reach 3e+38"));
  p.W(2, 1) = 0;
  p.mu[1] = -2e38f;
  EXPECT_THAT(Refusal(p, 1.0), StartsWith("m: mu[1] = -2e+38: the mean of visible unit 1"));
  p.mu[1] = 0;
  p.b[1] = 3e38f;
  EXPECT_THAT(Refusal(p, 1.0), StartsWith("m: b[1] = 3e+38: the logit of hidden unit 1"));
  p.b[1] = 0;
  // W² /σ² is beyond floats, though W is not.
  p.W(0, 1) = 1e20f;
  EXPECT_THAT(Refusal(p, 1.0), HasSubstr("W[0, 1] = 1e+20 with a variance of 1 and values of up to 4e+20: the logit of "
                                         "hidden unit 1 can reach 4e+40"));
  p.W(0, 1) = 1e10f;
  EXPECT_EQ(Refusal(p, 1.0), "(nothing was thrown)");
  EXPECT_THAT(Refusal(p, 1e300), HasSubstr("the logit of hidden unit 1"));
}

TEST(Reach, LooksAtTheDataWhereTheyAreGiven) {
  Parameters p(2, 1);
  p.W(1, 0) = 1e10f;
  Matrix data(3, 2);
  EXPECT_EQ(Refusal(p, data.view()), "(nothing was thrown)");
  data(2, 1) = 1e30f;
  EXPECT_THAT(Refusal(p, data.view()), HasSubstr("values of up to 1e+30"));
  data(2, 1) = 0;
  data(2, 0) = 1e30f;  // a unit without a weight
  EXPECT_EQ(Refusal(p, data.view()), "(nothing was thrown)");
}

// What is allowed gives finite logits and means: random models just below the limit.
TEST(Reach, WhatIsAllowedIsFinite) {
  ThreadPool pool(1);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Parameters p = testing::RandomModel(5, 7, seed).parameters();
    Matrix data = testing::RandomVisible(4, 5, seed);
    const float scale = std::pow(10.0f, static_cast<float>(seed) / 10 + 17);
    for (float& w : p.W.values()) w *= scale;
    for (float& x : data.values()) x *= scale;
    const Model model(p);
    bool allowed = true;
    try {
      CheckReach(model, data.view(), "m");
    } catch (const NumericError&) {
      allowed = false;
    }
    const Matrix logits = HiddenLogits(model, data, pool);
    if (allowed) {
      for (const float x : logits.values()) EXPECT_TRUE(std::isfinite(x)) << seed;
    }
    EXPECT_EQ(allowed, seed <= 13) << seed;  // both sides of the limit are seen
  }
}

}  // namespace
}  // namespace grbm
