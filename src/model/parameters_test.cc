#include "grbm/model/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/models.h"

namespace grbm {
namespace {

using ::testing::ElementsAre;

TEST(Parameters, TensorsAreViewsOfThem) {
  Parameters p(2, 3, 1);
  const auto tensors = p.Tensors();
  std::vector<std::string_view> names;
  std::vector<std::vector<Index>> shapes;
  for (const auto& tensor : tensors) {
    names.push_back(tensor.name);
    shapes.push_back(tensor.shape());
    tensor.line(tensor.lines() - 1).back() = 7;
  }
  EXPECT_THAT(names, ElementsAre("W", "b", "mu", "log_var", "A", "B"));
  EXPECT_THAT(shapes, ElementsAre(ElementsAre(2, 3), ElementsAre(3), ElementsAre(2), ElementsAre(2), ElementsAre(2, 1),
                                  ElementsAre(3, 1)));
  EXPECT_EQ(p.W(1, 2), 7);
  EXPECT_THAT(p.b, ElementsAre(0, 0, 7));
  EXPECT_THAT(p.mu, ElementsAre(0, 7));
  EXPECT_THAT(p.log_var, ElementsAre(0, 7));
  EXPECT_THAT(p.A.values(), ElementsAre(0, 7));
  EXPECT_THAT(p.B.values(), ElementsAre(0, 0, 7));
  EXPECT_EQ(LineCount(p), 2 + 3 + 2 + 3);
  EXPECT_EQ(LineCount(Parameters(2, 3)), 2 + 3);
  EXPECT_THAT(tensors[0].Rows(1, 1), ElementsAre(0, 0, 7));
  EXPECT_THAT(tensors[1].Rows(1, 2), ElementsAre(0, 7));
}

TEST(Parameters, HaveTheSameShapesAsOthersOfAsManyUnits) {
  EXPECT_TRUE(SameShapes(Parameters(2, 3), testing::RandomModel(2, 3, 1).parameters()));
  EXPECT_FALSE(SameShapes(Parameters(2, 3), Parameters(3, 2)));
  Parameters short_bias(2, 3);
  short_bias.b.pop_back();
  EXPECT_FALSE(SameShapes(Parameters(2, 3), short_bias));
}

// Whatever the threads, and where W has as few columns or rows as can be.
TEST(Parameters, EveryLineIsWorkedOnOnce) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const auto& [visible, hidden] : {std::pair<Index, Index>{1, 1}, {5, 20000}, {20000, 2}}) {
      Parameters p(visible, hidden, threads);
      std::vector<int> seen(static_cast<std::size_t>(LineCount(p)));
      const auto tensors = p.Tensors();
      ForLines(p, pool, [&](const ParameterLine& at) {
        ++seen[static_cast<std::size_t>(at.number)];
        for (float& x : tensors[at.tensor].line(at.line)) ++x;
      });
      EXPECT_EQ(std::set<int>(seen.begin(), seen.end()), std::set<int>{1});
      for (const auto& tensor : tensors) EXPECT_THAT(tensor.values(), ::testing::Each(1)) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace grbm
