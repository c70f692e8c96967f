#include "grbm/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/safetensors.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const RunOrigin kOrigin = {"0123456789abcdef", "fedcba9876543210"};

TrainState SomeState(std::uint64_t updates) {
  TrainState state;
  state.updates = updates;
  const auto fill = [&](Parameters& p, float first) {
    for (float& x : p.W.values()) x = first++;
    for (float& x : p.b) x = first++;
    for (float& x : p.mu) x = first++;
  };
  state.parameters = Parameters(3, 2);
  fill(state.parameters, 0.5f);
  state.moments.assign(2, Parameters(3, 2));
  fill(state.moments[1], -7.25f);
  state.chains = Chains{0, Matrix(4, 3), BitMatrix(4, 2)};
  state.chains->visible.values()[5] = 1.5f;
  state.chains->hidden.Set(2, 1, true);
  state.offsets = Offsets{{1, 2, 3}, {0.25f, 0.5f}};
  state.average.emplace(3, 2);
  fill(*state.average, 2.5f);
  state.gaps.emplace(5, 1);
  (*state.gaps)(3, 0) = 2;
  state.best = BestState{updates / 2, 0.1, state.moments[1]};
  return state;
}

bool Same(const TrainState& a, const TrainState& b) {
  return a.updates == b.updates && a.parameters == b.parameters && a.moments == b.moments &&
         std::ranges::equal(a.chains->visible.values(), b.chains->visible.values()) &&
         a.chains->hidden.Get(2, 1) == b.chains->hidden.Get(2, 1) && a.offsets == b.offsets && a.average == b.average &&
         a.gaps == b.gaps && a.best->updates == b.best->updates && a.best->measured == b.best->measured &&
         a.best->parameters == b.best->parameters;
}

class CheckpointTest : public testing::TemporaryFolder {
 protected:
  std::string Write(std::uint64_t updates) {
    const std::string path = Path(CheckpointName(updates));
    WriteCheckpoint(path, SomeState(updates), kOrigin);
    return path;
  }
  std::optional<TrainState> Newest(const RunOrigin& origin = kOrigin, bool of_old_run = false) {
    return ReadNewestCheckpoint(folder_.string(), origin, of_old_run,
                                [&](const std::string& text) { warnings.push_back(text); });
  }

  std::vector<std::string> warnings;
};

TEST_F(CheckpointTest, WhatIsWrittenIsRead) {
  const Checkpoint read = ReadCheckpoint(Write(30));
  EXPECT_TRUE(Same(read.state, SomeState(30)));
  EXPECT_EQ(read.origin, kOrigin);
}

TEST_F(CheckpointTest, NoChangedByteGoesUnseen) {
  const std::string good = ReadFile(Write(30));
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(Path("bad"), std::ios::binary) << bad;  // not flushed to disk each time
    try {
      const Checkpoint read = ReadCheckpoint(Path("bad"));
      EXPECT_TRUE(Same(read.state, SomeState(30)) && read.origin == kOrigin) << "byte " << at;
    } catch (const DataError&) {
    }
  }
}

TEST_F(CheckpointTest, TheNewestGoodOneIsTakenAndWhatWasPassedOverIsTold) {
  EXPECT_FALSE(Newest());
  Write(10);
  Write(20);
  const std::string newest = Write(30);
  fs::resize_file(newest, fs::file_size(newest) - 1);
  fs::rename(Path(CheckpointName(20)), Path(CheckpointName(25)));
  ASSERT_EQ(Newest()->updates, 10u);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0], HasSubstr(newest + ": "));
  EXPECT_THAT(warnings[0], HasSubstr("it is kept as update-000000000030.safetensors.damaged"));
  EXPECT_THAT(warnings[1], HasSubstr("it holds update 20"));
  EXPECT_TRUE(fs::exists(newest + ".damaged"));

  // Those that are put aside are not among the ones that are kept.
  PruneCheckpoints(folder_.string(), 1);
  EXPECT_EQ(Newest()->updates, 10u);
  EXPECT_EQ(warnings.size(), 2u);
}

TEST_F(CheckpointTest, WhereAllAreDamagedNothingStartsAgain) {
  for (const std::uint64_t updates : {10, 20}) WriteFileAtomically(Write(updates), "damaged");
  EXPECT_THROW(Newest(), DataError);
  EXPECT_TRUE(HasCheckpoints(folder_.string())) << "a second attempt sees the same";
  EXPECT_THROW(Newest(), DataError);
}

TEST_F(CheckpointTest, AnotherRunsCheckpointIsRefused) {
  Write(10);
  EXPECT_THROW(Newest({kOrigin.data, "0000000000000000"}), DataError);
  EXPECT_THROW(Newest({"0000000000000000", kOrigin.settings}), DataError);
  EXPECT_EQ(Newest()->updates, 10u);
}

TEST_F(CheckpointTest, FilesOfTheFirstVersionAreTakenAndOfOthersNot) {
  TensorFile file = ReadTensors(Write(30));
  const std::string path = Path(CheckpointName(30));
  for (const char* key : {"digest", "data", "settings"}) file.metadata.erase(key);
  file.metadata["format_version"] = "1";
  WriteTensors(path, file);
  const Checkpoint read = ReadCheckpoint(path);
  EXPECT_TRUE(Same(read.state, SomeState(30)));
  EXPECT_FALSE(read.origin);
  EXPECT_EQ(Newest(kOrigin, true)->updates, 30u);
  EXPECT_THROW(Newest(), DataError) << "a stranger in a run of this version";
  file.metadata["format_version"] = "3";
  WriteTensors(path, file);
  EXPECT_THROW(ReadCheckpoint(path), DataError);
}

TEST_F(CheckpointTest, NeedNeitherMomentsNorChains) {
  WriteCheckpoint(Path("plain"), {3, Parameters(2, 2), {}, {}, {}}, kOrigin);
  const TrainState state = ReadCheckpoint(Path("plain")).state;
  EXPECT_TRUE(state.moments.empty());
  EXPECT_FALSE(state.chains);
  EXPECT_FALSE(state.offsets);
}

TEST_F(CheckpointTest, OtherFilesAreRefusedByName) {
  WriteFileAtomically(Path("text"), "nothing of the kind");
  EXPECT_THAT(testing::ErrorOf([&] { ReadCheckpoint(Path("text")); }), HasSubstr(Path("text")));
}

TEST_F(CheckpointTest, TheNewestAreKept) {
  for (const std::uint64_t update : {5, 100, 20, 3}) Write(update);
  PruneCheckpoints(folder_.string(), 2);
  EXPECT_FALSE(fs::exists(Path(CheckpointName(3))));
  EXPECT_FALSE(fs::exists(Path(CheckpointName(5))));
  EXPECT_TRUE(fs::exists(Path(CheckpointName(20))));
  EXPECT_TRUE(fs::exists(Path(CheckpointName(100))));
}

TEST_F(CheckpointTest, LeftoversOfKilledWritesAreRemoved) {
  Write(5);
  WriteFileAtomically(Path(".grbm-x.tmp"), "half a file");
  WriteFileAtomically(Path("mine.tmp"), "somebody else's");
  RemoveLeftovers(folder_.string());
  EXPECT_FALSE(fs::exists(Path(".grbm-x.tmp")));
  EXPECT_TRUE(fs::exists(Path("mine.tmp")));
  EXPECT_TRUE(fs::exists(Path(CheckpointName(5))));
}

}  // namespace
}  // namespace grbm
