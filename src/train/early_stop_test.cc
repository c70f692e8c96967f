// Runs that end when held-out rows no longer gain.
#include "train/early_stop.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "grbm/core/file.h"
#include "grbm/core/random.h"
#include "grbm/model/energy.h"
#include "grbm/model/labels.h"
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

TEST_F(EarlyStopTest, MorePatienceGoesOnToTheBitsOfARunThatHadIt) {
  const Ended early = Train(Request("a"));
  RunRequest request = Request("a");
  request.resume = true;
  request.config.train.stop_after = 12;
  notes_.notes.clear();
  const Ended longer = Train(request);
  EXPECT_THAT(notes_.notes, ElementsAre("train.stop_after = 12 in place of 3", HasSubstr("ended early")));
  RunRequest patient = Request("b");
  patient.config.train.stop_after = 12;
  EXPECT_EQ(longer, Train(patient));
  EXPECT_GT(longer.metrics.size(), early.metrics.size());

  for (const double less : {5.0, 0.0}) {
    request.config.train.stop_after = less;
    EXPECT_THAT(testing::ErrorOf([&] { Train(request); }), HasSubstr("cannot resume: train.stop_after = "));
  }
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

// Points of two classes, of which the first value tells, with more noise than can be learned from.
class LabelStopTest : public EarlyStopTest {
 protected:
  RunRequest LabelRequest(const std::string& name, StopOn stop_on) {
    const auto write = [&](const std::string& file, std::uint64_t seed) {
      const Stream stream(seed, Purpose::kNoise);
      std::string text = "x,y,z,kind\n";
      for (std::uint32_t r = 0; r < 200; ++r) {
        const bool b = stream.UniformDouble(0, r) < 0.5;
        const auto noise = [&](std::uint64_t step) { return 4 * stream.UniformDouble(step, r) - 2; };
        text += fmt::format("{},{},{},{}\n", noise(1) + (b ? 1 : -1), noise(2), noise(3), b ? "b" : "a");
      }
      WriteFileAtomically(Path(file), text);
    };
    write("train.csv", 1);
    write("held.csv", 2);
    RunRequest request = Request(name, stop_on);
    Config& config = request.config;
    config.data.source = Path("train.csv");
    config.data.label = "kind";
    config.data.held_out = Path("held.csv");
    config.data.subset = 0;
    config.model.labels = true;
    config.train.hidden = HiddenKind::kProbability;
    config.train.discriminative = 10;
    return request;
  }
};

TEST_F(LabelStopTest, EndsByWhatTheClassesAreToldBy) {
  for (const auto& [stop_on, name, sign] : {std::tuple{StopOn::kReconstruction, "held_out_reconstruction", 1.0},
                                            std::tuple{StopOn::kPseudo, "held_out_pseudo_likelihood", -1.0},
                                            std::tuple{StopOn::kLabels, "held_out_label_log_probability", -1.0}}) {
    const RunRequest request = LabelRequest(name, stop_on);
    const Ended ended = Train(request);
    EXPECT_TRUE(ended.done);
    const auto measured = Measured(ended, name);
    const auto best = std::ranges::min_element(measured, {}, [&](const auto& m) { return sign * m.second; });
    EXPECT_EQ(measured.back().first, best->first + 30) << name;
    EXPECT_LT(measured.back().first, 2000u) << name;
    const ModelFile file = ReadModel(ModelPath(Path(name)));
    EXPECT_EQ(file.provenance.at("updates"), std::to_string(best->first)) << name;
    EXPECT_EQ(file.model.label_units(), 2) << name;

    // What was measured, of the model that was kept: by the energies of all states of v and y.
    DataOptions options = request.config.data;
    options.source = options.held_out;
    options.held_out.clear();
    const Dataset held = LoadDataset(options);
    Matrix rows(held.rows(), held.visible());
    held.Read(0, rows);
    file.standardization.Apply(rows);
    double log_probability = 0;
    double error = 0;
    for (Index r = 0; r < rows.rows(); ++r) {
      std::vector<double> logs;
      std::vector<std::vector<double>> mean;
      for (Index y = 0; y < 2; ++y) {
        std::vector<float> v(rows.row(r).begin(), rows.row(r).end());
        v.resize(5);
        SetLabel(file.model, v, y);
        logs.push_back(-MarginalEnergy(file.model, std::vector<double>(v.begin(), v.end())));
        mean.emplace_back(3);
        for (std::size_t i = 0; i < 3; ++i) {
          mean.back()[i] = double{file.model.mu()[i]};
          for (Index j = 0; j < 3; ++j) {
            double x = double{file.model.b()[ToSize(j)]};
            for (Index k = 0; k < 5; ++k) {
              x += double{v[ToSize(k)]} * double{file.model.inverse_variance()[ToSize(k)]} *
                   double{file.model.W()(k, j)};
            }
            mean.back()[i] += double{file.model.W()(static_cast<Index>(i), j)} / (1 + std::exp(-x));
          }
        }
      }
      NormalizeLogs(logs);
      log_probability += logs[ToSize(Index{held.labels()[ToSize(r)]})] / 200;
      for (std::size_t i = 0; i < 3; ++i) {
        const double expected = std::exp(logs[0]) * mean[0][i] + std::exp(logs[1]) * mean[1][i];
        error += std::pow(double{rows.row(r)[i]} - expected, 2) / 600;
      }
    }
    if (stop_on == StopOn::kPseudo) continue;  // pseudo_test.cc
    EXPECT_NEAR(best->second, stop_on == StopOn::kLabels ? log_probability : error, 1e-5) << name;
  }
}

TEST_F(LabelStopTest, CurvesAreOfTheValues) {
  RunRequest request = LabelRequest("curves", StopOn::kLabels);
  request.config.train.stop_after = 0;
  request.config.train.epochs = 2;
  request.config.evaluate.every_steps = 10;
  const Ended ended = Train(request);
  for (const char* name : {"quick_distance", "free_energy_gap", "pseudo_likelihood"}) {
    EXPECT_EQ(Measured(ended, name).size(), 2u) << name;
  }
}

TEST_F(LabelStopTest, TellsWhatIsMissing) {
  EXPECT_THAT(testing::ErrorOf([&] { Train(Request("a", StopOn::kLabels)); }),
              HasSubstr("train: stop_on = \"labels\": the model has none: set model.labels=true"));
  RunRequest request = LabelRequest("b", StopOn::kLabels);
  WriteFileAtomically(request.config.data.held_out, "x,y,z,kind\n1,2,3,a\n1,2,4,c\n");
  EXPECT_THAT(testing::ErrorOf([&] { Train(request); }), HasSubstr("is of class 'c': the model knows a, b"));
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
