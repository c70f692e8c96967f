#include "grbm/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "grbm/core/file.h"
#include "support/errors.h"
#include "support/learning.h"
#include "support/models.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using testing::Values;

TrainState SomeState(std::uint64_t updates) {
  TrainState state;
  state.updates = updates;
  state.parameters = testing::RandomModel(3, 70, updates).parameters();
  state.moments = {testing::RandomModel(3, 70, 8).parameters(), testing::RandomModel(3, 70, 9).parameters()};
  state.chains = Chains{0, testing::RandomVisible(5, 3, 1), testing::RandomHidden(5, 70, 2)};
  return state;
}

class Checkpoints : public testing::TemporaryFolder {
 protected:
  void Write(std::uint64_t update) { WriteCheckpoint(Path(CheckpointName(update)), SomeState(update)); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(Checkpoints, KeepEverythingThatTrainingChanges) {
  Write(12);
  const TrainState expected = SomeState(12);
  const TrainState state = ReadCheckpoint(Path(CheckpointName(12)));
  EXPECT_EQ(state.updates, 12U);
  EXPECT_EQ(Values(state.parameters), Values(expected.parameters));
  ASSERT_EQ(state.moments.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(Values(state.moments[k]), Values(expected.moments[k]));
  ASSERT_TRUE(state.chains);
  EXPECT_TRUE(state.chains->visible == expected.chains->visible);
  for (Index r = 0; r < 5; ++r) {
    EXPECT_EQ(testing::Doubles(state.chains->hidden, r), testing::Doubles(expected.chains->hidden, r));
  }
}

TEST_F(Checkpoints, NeedNeitherMomentsNorChains) {
  WriteCheckpoint(Path("plain"), {3, testing::RandomModel(2, 2, 1).parameters(), {}, {}});
  const TrainState state = ReadCheckpoint(Path("plain"));
  EXPECT_TRUE(state.moments.empty());
  EXPECT_FALSE(state.chains);
}

TEST_F(Checkpoints, OtherFilesAreRefusedByName) {
  WriteFileAtomically(Path("text"), "nothing of the kind");
  EXPECT_THAT(testing::ErrorOf([&] { ReadCheckpoint(Path("text")); }), HasSubstr(Path("text")));
}

TEST_F(Checkpoints, TheNewestAreKept) {
  for (const std::uint64_t update : {5, 100, 20, 3}) Write(update);
  PruneCheckpoints(folder_.string(), 2);
  EXPECT_THAT(Names(), ::testing::ElementsAre(CheckpointName(20), CheckpointName(100)));
}

TEST_F(Checkpoints, LeftoversOfKilledWritesAreRemoved) {
  Write(5);
  WriteFileAtomically(Path(".grbm-x.tmp"), "half a file");
  WriteFileAtomically(Path("mine.tmp"), "somebody else's");
  RemoveLeftovers(folder_.string());
  EXPECT_THAT(Names(), ::testing::ElementsAre("mine.tmp", CheckpointName(5)));
}

}  // namespace
}  // namespace grbm
