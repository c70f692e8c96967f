// Runs that go on for longer than they were to be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grbm/core/file.h"
#include "grbm/train/run.h"
#include "support/errors.h"
#include "support/notes.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using grbm::testing::Notes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Extend : public grbm::testing::TemporaryFolder {
 protected:
  // The run in that folder, on 200 points, of ten updates an epoch; its model's bytes.
  std::string Train(const std::string& name, double epochs, bool resume, bool cosine = false, std::uint64_t pause = 0) {
    RunRequest request;
    if (resume) request = ReadRun(Path(name));
    request.folder = Path(name);
    request.resume = resume;
    request.pause_after = pause;
    Config& config = request.config;
    config.data.source = "gmm-iso";
    config.data.subset = 200;
    config.model.hidden = 3;
    config.sampler.steps = 3;
    config.train.batch_size = 20;
    config.train.epochs = epochs;
    config.train.algorithm = Algorithm::kPcd;
    config.train.learning_rate_schedule = cosine ? Schedule::kCosine : Schedule::kConstant;
    config.checkpoint.pictures = 0;
    TrainRun(request, pool_, notes_);
    return ReadFile(ModelPath(Path(name)));
  }

  ThreadPool pool_{1};
  Notes notes_;
};

TEST_F(Extend, AFinishedRunGoesOnToTheBitsOfALongerOne) {
  Train("a", 2, false);
  const std::string longer = Train("a", 5, true);
  EXPECT_THAT(notes_.notes, ElementsAre("extended from 2 epochs to 5: schedules are now those of the whole"));
  EXPECT_TRUE(notes_.warnings.empty());
  EXPECT_EQ(longer, Train("b", 5, false));  // rates are constant
  EXPECT_EQ(ReadRun(Path("a")).config.train.epochs, 5);
  EXPECT_EQ(Train("a", 5, true), longer);  // nothing is left to do
}

TEST_F(Extend, AnExtendedRunResumesBitForBitAndIsExtendedAgain) {
  for (const std::string name : {"a", "b"}) Train(name, 2, false, true);
  const std::string whole = Train("a", 4, true, true);
  Train("b", 4, true, true, 33);  // stopped within the added part
  EXPECT_EQ(Train("b", 4, true, true), whole);
  // Stopped before its first new checkpoint: the old one is still of this run.
  Train("c", 2, false, true);
  Train("c", 4, true, true, 20);
  EXPECT_EQ(Train("c", 4, true, true), whole);
  EXPECT_EQ(Train("a", 6, true, true), Train("b", 6, true, true));
}

TEST_F(Extend, OnlyMoreEpochsAreTaken) {
  Train("a", 3, false);
  EXPECT_THAT(grbm::testing::ErrorOf([&] { Train("a", 2, true); }),
              HasSubstr("cannot resume: train.epochs = 2 now, but the run was started with 3"));
  EXPECT_THAT(grbm::testing::ErrorOf([&] { Train("a", 5, true, true); }), HasSubstr("train.learning_rate_schedule"));
  EXPECT_EQ(ReadRun(Path("a")).config.train.epochs, 3);
}

}  // namespace
}  // namespace grbm
