#include "train/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace grbm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

UpdateMetrics At(std::uint64_t update, double least = 1, double most = 1, double variety = 1) {
  UpdateMetrics metrics;
  metrics.update = update;
  metrics.min_log_var = std::log(least);
  metrics.max_log_var = std::log(most);
  metrics.batch.variety = variety;
  return metrics;
}

TEST(Watch, SaysNothingWhereAllIsWell) {
  Watch watch({}, {});
  for (std::uint64_t u = 1; u < 1000; ++u) EXPECT_THAT(watch.See(At(u, 0.01, 3, 0.8)), IsEmpty());
}

TEST(Watch, SpeaksOfAVarianceThatFallsOncePerDegree) {
  Watch watch({}, {});
  EXPECT_THAT(watch.See(At(1, 2e-3)), IsEmpty());
  EXPECT_THAT(watch.See(At(2, 9e-4)),
              ElementsAre(HasSubstr("update 2: the variance of a visible unit has fallen to 0.0009")));
  EXPECT_THAT(watch.See(At(3, 1e-4)), IsEmpty());
  EXPECT_THAT(watch.See(At(4, 2.9e-5)), ElementsAre(HasSubstr("variance_floor")));
  ModelOptions small;
  small.initial_variance = 0.01;
  EXPECT_THAT(Watch(small, {}).See(At(1, 9e-4, 0.01)), IsEmpty()) << "it began there";
  SamplerOptions hot;
  hot.temperature = 512;
  EXPECT_THAT(Watch({}, hot).See(At(1, 1e-5)), IsEmpty()) << "noise of 512 times the variance";
}

TEST(Watch, SpeaksOfAVarianceThatRunsAway) {
  Watch watch({}, {});
  EXPECT_THAT(watch.See(At(1, 1, 99)), IsEmpty());
  EXPECT_THAT(watch.See(At(2, 1, 101)), ElementsAre(HasSubstr("has grown to 1e+02")));
  EXPECT_THAT(watch.See(At(3, 1, 2000)), IsEmpty());
  EXPECT_THAT(watch.See(At(4, 1, 4000)), ElementsAre(HasSubstr("learning_rate")));
}

// One update says little: the mean of some fifty does.
TEST(Watch, SpeaksOfChainsThatBecomeAlike) {
  Watch watch({}, {});
  std::uint64_t u = 1;
  for (; u <= 20; ++u) EXPECT_THAT(watch.See(At(u, 1, 1, 0)), IsEmpty()) << u;
  std::vector<std::uint64_t> spoken;
  for (; u <= 200; ++u) {
    for (const std::string& text : watch.See(At(u, 1, 1, 0))) {
      EXPECT_THAT(text, HasSubstr("samples become alike"));
      spoken.push_back(u);
    }
  }
  // 0.98ᵘ falls below 0.3, 0.1, 0.033 here.
  EXPECT_THAT(spoken, ElementsAre(60, 114, 169));
}

// An update at which the data's units hardly differ makes a great ratio, and no credit for those after it.
TEST(Watch, OneGreatVarietyHidesNothing) {
  Watch watch({}, {});
  watch.See(At(1, 1, 1, 124));
  std::vector<std::uint64_t> spoken;
  for (std::uint64_t u = 2; u <= 62; ++u) {
    if (!watch.See(At(u, 1, 1, 0)).empty()) spoken.push_back(u);
  }
  EXPECT_THAT(spoken, ElementsAre(61));
}

TEST(Watch, SpeaksOfStepsThatOvershoot) {
  Watch watch({}, {});
  UpdateMetrics metrics = At(7);
  metrics.batch.unstable_units = 3;
  EXPECT_THAT(watch.See(metrics), ElementsAre(HasSubstr("the step overshoots for 3 visible units")));
  metrics.batch.unstable_units = 6;
  EXPECT_THAT(watch.See(metrics), IsEmpty());
  metrics.batch.unstable_units = 7;
  EXPECT_EQ(watch.See(metrics).size(), 1u);
}

}  // namespace
}  // namespace grbm
