// Runs that end when held-out rows no longer gain.
#include "train/early_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "grbm/core/file.h"
#include "grbm/train/run.h"
#include "support/errors.h"
#include "support/notes.h"
#include "support/temporary_folder.h"
#include "support/thread_ranks.h"

namespace grbm {
namespace {

using grbm::testing::Notes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Ended {
  bool done = false;
  std::string model;
  std::string metrics;

  bool operator==(const Ended&) const = default;
};

class EarlyStopTest : public grbm::testing::TemporaryFolder {
 protected:
  // 200 points, of ten updates an epoch, at a rate at which the measure goes up and down.
  RunRequest Request(const std::string& name, StopOn stop_on = StopOn::kReconstruction) {
    RunRequest request;
    request.folder = Path(name);
    Config& config = request.config;
    config.data.source = "gmm-iso";
    config.data.subset = 200;
    config.model.hidden = 3;
    config.sampler.steps = 3;
    config.train.batch_size = 20;
    config.train.epochs = 200;
    config.train.learning_rate = 0.1;
    config.train.learning_rate_schedule = Schedule::kConstant;
    config.train.algorithm = Algorithm::kPcd;
    config.train.stop_after = 3;
    config.train.stop_on = stop_on;
    config.checkpoint.pictures = 0;
    return request;
  }

  Ended Train(const RunRequest& request) {
    const bool done = TrainRun(request, pool_, notes_);
    return {done, ReadFile(ModelPath(request.folder)), ReadFile(MetricsPath(request.folder))};
  }

  // By update, what was measured.
  static std::vector<std::pair<std::uint64_t, double>> Measured(const Ended& ended, const char* name) {
    std::vector<std::pair<std::uint64_t, double>> measured;
    std::istringstream lines(ended.metrics);
    for (std::string line; std::getline(lines, line);) {
      const auto entry = nlohmann::json::parse(line);
      if (entry.contains(name)) measured.emplace_back(entry["update"], entry[name]);
    }
    return measured;
  }

  ThreadPool pool_{1};
  Notes notes_;
};

TEST_F(EarlyStopTest, EndsSoManyEpochsAfterTheBestAndKeepsIt) {
  for (const auto& [stop_on, name, sign] : {std::tuple{StopOn::kReconstruction, "held_out_reconstruction", 1.0},
                                            std::tuple{StopOn::kPseudo, "held_out_pseudo_likelihood", -1.0}}) {
    notes_.notes.clear();
    const Ended ended = Train(Request(name, stop_on));
    EXPECT_TRUE(ended.done);
    const auto measured = Measured(ended, name);
    const auto best = std::ranges::min_element(measured, {}, [&](const auto& m) { return sign * m.second; });
    EXPECT_EQ(measured.back().first, best->first + 30);
    EXPECT_LT(measured.back().first, 2000u);
    for (std::size_t k = 0; k < measured.size(); ++k) EXPECT_EQ(measured[k].first, 10 * (k + 1));
    const ModelFile file = ReadModel(ModelPath(Path(name)));
    EXPECT_EQ(file.provenance.at("updates"), std::to_string(best->first));
    EXPECT_THAT(notes_.notes, ElementsAre(HasSubstr("ended early, after update")));
  }
}

// The best model is that of a run that was to end there.
TEST_F(EarlyStopTest, TheBestIsTheModelAtThatUpdate) {
  const Ended ended = Train(Request("a"));
  const ModelFile best = ReadModel(ModelPath(Path("a")));
  RunRequest request = Request("b");
  request.config.train.stop_after = 0;
  request.pause_after = std::stoull(best.provenance.at("updates"));
  Train(request);
  EXPECT_EQ(best.model.parameters(), ReadModel(ModelPath(Path("b"))).model.parameters());
}

TEST_F(EarlyStopTest, GoesOnToTheSameBits) {
  const Ended whole = Train(Request("whole"));
  RunRequest request = Request("parts");
  Ended parts;
  for (std::uint64_t pause = 7; !parts.done; pause += 16) {
    request.pause_after = pause;
    parts = Train(request);
    request.resume = true;
  }
  EXPECT_EQ(parts, whole);
  request.pause_after = 0;
  EXPECT_EQ(Train(request), whole);  // nothing is left to do
}

TEST_F(EarlyStopTest, RanksEndTogether) {
  const Ended alone = Train(Request("alone"));
  testing::OnRanks(2, [&](Ranks& ranks) {
    ThreadPool pool(1);
    RunObserver quiet;
    EXPECT_TRUE(TrainRun(Request("ranks"), pool, quiet, ranks));
  });
  EXPECT_EQ(ReadFile(ModelPath(Path("ranks"))), alone.model);
}

TEST_F(EarlyStopTest, NeedsRowsThatAreHeldOut) {
  RunRequest request = Request("a");
  request.config.data.subset = 0;
  request.config.data.source = Path("a.csv");
  WriteFileAtomically(request.config.data.source, "1,2\n3,4\n5,6\n7,9\n");
  EXPECT_THAT(testing::ErrorOf([&] { Train(request); }),
              HasSubstr("no rows are held out to measure on: set data.held_out"));
}

}  // namespace
}  // namespace grbm
