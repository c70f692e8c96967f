#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/train/presets.h"
#include "reproduce/experiment.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;

// Every row of every experiment at one scale.
std::vector<Row> AllRows(const ReproduceOptions& options) {
  std::vector<Row> all;
  for (const Experiment& experiment : Experiments()) {
    for (const Row& row : experiment.rows(options)) all.push_back(row);
  }
  return all;
}

const Row& FindRow(const std::vector<Row>& rows, const std::vector<std::string>& labels) {
  const auto found = std::ranges::find(rows, labels, &Row::labels);
  GRBM_CHECK(found != rows.end());
  return *found;
}

class Reproduce : public testing::TemporaryFolder {
 protected:
  ReproduceOptions Options(Scale scale) const { return {.scale = scale, .out = Path("out"), .faces = Path("")}; }
};

TEST_F(Reproduce, EverySettingOfEveryScaleIsAccepted) {
  for (const Scale scale : {Scale::kQuick, Scale::kSmall, Scale::kPaper}) {
    for (const Row& row : AllRows(Options(scale))) {
      Config config = CellConfig(row.cell);
      EXPECT_NO_THROW(CheckOptions(config.sampler)) << RowName(row);
      EXPECT_NO_THROW(CheckGeneration(config.generate, config.sampler)) << RowName(row);
      EXPECT_LT(config.sampler.adjust_after, config.sampler.steps) << RowName(row);
    }
  }
}

// The paper's settings, as its appendix states them.
TEST_F(Reproduce, PaperScaleIsThePapers) {
  const ReproduceOptions options = Options(Scale::kPaper);
  for (const Row& row : kCdTable.rows(options)) {
    const Config config = CellConfig(row.cell);
    EXPECT_EQ(std::to_string(config.sampler.steps), row.labels[0]);
    EXPECT_EQ(std::to_string(config.model.hidden), row.labels[1]);
    EXPECT_EQ(config.train.batch_size, 512);
    EXPECT_EQ(config.train.epochs, 3000);
    EXPECT_EQ(config.sampler.temperature, 512);
  }
  EXPECT_EQ(FindRow(kCdTable.rows(options), {"50", "8192"}).published, "22.05");

  const std::vector<Row> langevin = kLangevinTable.rows(options);
  const Config half = CellConfig(FindRow(langevin, {"no", "10", "0.01953125", "no", "—"}).cell);
  EXPECT_EQ(half.sampler.step_size, 10.0 / 512);
  EXPECT_EQ(half.generate.step_size, 10.0 / 100);
  const Config annealed = CellConfig(FindRow(langevin, {"yes", "10", "0.0390625", "yes", "50"}).cell);
  EXPECT_EQ(annealed.train.step_size_schedule, Schedule::kCosine);
  EXPECT_EQ(annealed.sampler.adjust, Adjust::kMetropolis);
  EXPECT_EQ(annealed.sampler.adjust_after, 50);

  for (const Row& row : kGmm.rows(options)) {
    if (row.labels[1] != "as published") continue;
    const Config config = CellConfig(row.cell);
    EXPECT_EQ(config.model.hidden, 256);
    EXPECT_EQ(config.train.epochs, 50000);
    EXPECT_EQ(config.train.batch_size, 100);
    EXPECT_EQ(config.sampler.steps, 100);
    EXPECT_EQ(config.sampler.step_size, 0.1);
    EXPECT_EQ(config.sampler.adjust_after, 0);
    EXPECT_EQ(config.generate.final, Final::kMean);
  }
  EXPECT_DOUBLE_EQ(annealed.train.learning_rate, 0.01);
  EXPECT_DOUBLE_EQ(half.train.learning_rate, 0.01);
}

// Which energies are divided by the batch size, and what a rate of 0.01 and a clip of 10 per unit of E are per unit of E/τ.
TEST_F(Reproduce, TemperaturesAreThoseThatWerePublished) {
  struct Expected {
    double temperature, proposals, law;
  };
  const auto expect = [](const Row& row, const Expected& e, double generate_temperature, double generate_proposals) {
    const Config config = CellConfig(row.cell);
    EXPECT_EQ(config.sampler.temperature, e.temperature) << RowName(row);
    EXPECT_EQ(config.sampler.proposal_temperature, e.proposals) << RowName(row);
    EXPECT_DOUBLE_EQ(config.train.learning_rate, 0.01 * e.law) << RowName(row);
    EXPECT_DOUBLE_EQ(config.train.clip_norm, 10 / e.law) << RowName(row);
    EXPECT_EQ(config.generate.temperature, generate_temperature) << RowName(row);
    EXPECT_EQ(config.generate.proposal_temperature, generate_proposals) << RowName(row);
  };
  const std::vector<Row> mixtures = kGmm.rows(Options(Scale::kPaper));
  for (const std::string mixture : {"gmm-iso", "gmm-aniso"}) {
    const auto row = [&](const std::string& way, const std::string& sampler) {
      return FindRow(mixtures, {mixture, way, sampler});
    };
    const std::string published = "as published";
    expect(row(published, "Gibbs"), {1, 0, 1}, 0, 0);
    expect(row(published, "Langevin without adjustment"), {100, 0, 1}, 0, 0);
    expect(row(published, "Langevin with adjustment"), {100, 0, 100}, 0, 0);
    expect(row(published, "Gibbs-Langevin without adjustment"), {100, 0, 1}, 0, 0);
    expect(row(published, "Gibbs-Langevin with adjustment"), {1, 100, 1}, 0, 0);
    expect(row(published, "Gibbs-Langevin with adjustment, repaired"), {100, 0, 100}, 0, 0);
    expect(row(published, "Langevin with adjustment, against exp(−Ẽ)"), {1, 100, 1}, 0, 0);
    expect(row("temperature 1", "Gibbs-Langevin with adjustment"), {1, 0, 1}, 0, 0);
    // The presets say it themselves.
    const auto same = [&](const std::string& sampler, const std::string& preset) {
      EXPECT_TRUE(Differences(CellConfig(row(published, sampler).cell), LoadPreset(preset)).empty()) << preset;
    };
    same("Gibbs-Langevin with adjustment", "paper-" + mixture);
    same("Gibbs-Langevin with adjustment, repaired", "paper-" + mixture + "-repaired");
    EXPECT_EQ(CellName(row(published, "Gibbs").cell, 1), CellName(row("temperature 1", "Gibbs").cell, 1));
  }
  const std::vector<Row> digits = kMnistTable.rows(Options(Scale::kPaper));
  expect(FindRow(digits, {"Gibbs"}), {1, 0, 1}, 0, 0);
  expect(FindRow(digits, {"Langevin without adjustment"}), {512, 0, 1}, 100, 0);
  expect(FindRow(digits, {"Langevin with adjustment"}), {512, 0, 512}, 100, 0);
  expect(FindRow(digits, {"Gibbs-Langevin without adjustment"}), {512, 0, 1}, 100, 0);
  expect(FindRow(digits, {"Gibbs-Langevin with adjustment"}), {1, 512, 1}, 0, 100);
  EXPECT_EQ(LoadPreset("paper-mnist").generate.step_size, 20.0 / 100);
  // What compares temperatures draws as it trained.
  for (const Row& row : kTemperature.rows(Options(Scale::kPaper))) {
    const Config config = CellConfig(row.cell);
    EXPECT_EQ(config.generate.Apply(config.sampler), config.sampler) << RowName(row);
  }
  const GenerateOptions faces = LoadPreset("paper-celeba2k64").generate;
  EXPECT_EQ(faces.temperature, 64);
  EXPECT_EQ(faces.step_size, 20.0 / 64);
}

TEST_F(Reproduce, SeveralSeedsAndSomeRowsOnly) {
  ReproduceOptions options = Options(Scale::kPaper);
  options.seed = 5;
  options.seeds = 3;
  options.only = "gmm-iso, as published";
  const std::vector<PlannedCell> cells = PlanCells({&kGmm}, options);
  ASSERT_EQ(cells.size(), 21U);
  EXPECT_EQ(cells[0].seed, 5U);
  EXPECT_EQ(cells[20].seed, 7U);
  EXPECT_EQ(cells[0].name, "gmm-iso, as published, Gibbs");
  EXPECT_EQ(cells[0].updates, 500000U);
  options.seed = 6;
  options.seeds = 1;
  const std::vector<PlannedCell> alone = PlanCells({&kGmm}, options);
  for (std::size_t k = 0; k < 7; ++k) EXPECT_EQ(alone[k].folder, cells[7 + k].folder);
  options.only = "gmm-iso, as published, Gibbs, seed";
  EXPECT_EQ(PlanCells({&kGmm}, options).size(), 1U);
  options.seeds = 3;
  options.only = "Gibbs, seed 7";
  for (const PlannedCell& cell : PlanCells({&kGmm}, options)) EXPECT_EQ(cell.seed, 7U) << cell.name;
  options.only = "nobody";
  EXPECT_THROW(PlanCells({&kGmm}, options), ConfigError);
}

TEST_F(Reproduce, ACellIsKnownByItsSettingsAlone) {
  const ReproduceOptions options = Options(Scale::kSmall);
  const Cell plain = {"small-mnist", {"train.epochs=2", "sampler.steps=7"}, {"quick"}};
  const Cell same = {
      "small-mnist", {"sampler.steps=7", "sampler.method=gibbs-langevin", "train.epochs=2"}, {"quick", "fid"}};
  const Cell checkpoint = {"small-mnist", {"train.epochs=2", "sampler.steps=7", "checkpoint.keep=5"}, {}};
  const Cell other = {"small-mnist", {"train.epochs=2", "sampler.steps=8"}, {"quick"}};
  EXPECT_EQ(CellFolder(options, plain, 1), CellFolder(options, same, 1));
  EXPECT_EQ(CellFolder(options, plain, 1), CellFolder(options, checkpoint, 1));
  EXPECT_NE(CellFolder(options, plain, 1), CellFolder(options, other, 1));
  EXPECT_NE(CellFolder(options, plain, 1), CellFolder(options, plain, 2));
}

TEST_F(Reproduce, SharedCellsArePlannedOnceWithAllTheirMetrics) {
  const std::vector<PlannedCell> cells = PlanCells({&kNoiseStart, &kMnistTable}, Options(Scale::kSmall));
  EXPECT_EQ(cells.size(), 11U);  // 3 and 9, of which one is both
  std::set<std::string> folders;
  for (const PlannedCell& cell : cells) folders.insert(cell.folder);
  EXPECT_EQ(folders.size(), cells.size());
  EXPECT_TRUE(HasMetric(cells[0].cell, "fid"));
  EXPECT_EQ(cells[0].updates, 1500U);
}

TEST_F(Reproduce, TheLaterSettingStands) {
  EXPECT_EQ(Merge({"a.bc=1", "a.b=2"}, {"a.b=3", "d.e=4"}), (std::vector<std::string>{"a.bc=1", "a.b=3", "d.e=4"}));
}

// Two cells of a second: one trains, one leaves the finite numbers.
std::vector<Row> TinyRows(const ReproduceOptions&) {
  const std::vector<std::string> tiny = {"train.epochs=2", "model.hidden=4", "sampler.steps=4", "train.burn_in=1"};
  return {{{"fine"}, "1.5", {"gmm-iso", tiny, {"mixture"}}},
          {{"wild"},
           "",
           {"gmm-iso",
            Merge(tiny, {"train.learning_rate=1e9", "train.learning_rate_schedule=constant", "train.clip_norm=0"}),
            {"mixture"}}}};
}
void RenderTiny(Page& page) {
  page.Table({"kind"}, "paper",
             {{"ours: KL", "mixture", "kl_data_model", ""},
              {"back", "mixture", "kl_model_data", ""},
              {"far", "quick", "frechet", ""}});
  page.Draw("panels", {.title = {}, .panels = {EmptyPanel("wild", page.rows()[1].Trouble())}}, "panels");
}
const Experiment kTiny = {"tiny", "for the test", TinyRows, RenderTiny};

TEST_F(Reproduce, ADivergedCellIsAResultThatSaysWhen) {
  const ReproduceOptions options = Options(Scale::kQuick);
  ThreadPool pool(1);
  EXPECT_THAT(ReadFile(RenderPage(kTiny, options, pool)), HasSubstr("| fine | 1.5 | not run yet |"));

  ReproduceObserver silent;
  EXPECT_TRUE(RunCells(PlanCells({&kTiny}, options), options, pool, silent));
  const std::vector<PlannedCell> cells = PlanCells({&kTiny}, options);
  EXPECT_TRUE(cells[0].finished);
  EXPECT_TRUE(cells[1].finished);
  const CellResult fine = *ReadResult(cells[0].folder);
  EXPECT_TRUE(fine.trained());
  EXPECT_EQ(fine.updates, 20U);
  ASSERT_NE(fine.Find("mixture", "kl_data_model"), nullptr);
  const CellResult wild = *ReadResult(cells[1].folder);
  EXPECT_EQ(wild.outcome, "diverged");
  EXPECT_THAT(wild.message, HasSubstr("training diverged at update"));
  EXPECT_LT(wild.updates, 20U);

  const std::string page = ReadFile(RenderPage(kTiny, options, pool));
  EXPECT_THAT(page, HasSubstr("| wild | — | diverged at update " + std::to_string(wild.updates + 1)));
  EXPECT_THAT(page, HasSubstr("grbm train gmm-iso --set train.epochs=2"));

  CellResult failed = fine;
  failed.metrics["mixture"] = failed.metrics["quick"] = {{"failed", {}, "no law"}};
  WriteResultFile(ResultPath(cells[0].folder), failed);
  EXPECT_THAT(ReadFile(RenderPage(kTiny, options, pool)),
              HasSubstr("| fine | 1.5 | failed: no law | — | failed: no law | 20 |"));
}

// Stops after so many questions.
class StopAfter : public ReproduceObserver {
 public:
  explicit StopAfter(int questions) : left_(questions) {}
  bool ShouldStop() override { return left_-- <= 0; }

 private:
  int left_;
};

TEST_F(Reproduce, StoppedAnywhereItGoesOnToTheSameResult) {
  ThreadPool pool(1);
  ReproduceObserver silent;
  const ReproduceOptions whole = Options(Scale::kQuick);
  RunCells(PlanCells({&kTiny}, whole), whole, pool, silent);
  ReproduceOptions parts = whole;
  parts.out = Path("parts");
  int stops = 0;
  for (int questions = 1; questions < 1000; questions += 7) {
    StopAfter observer(questions);
    if (RunCells(PlanCells({&kTiny}, parts), parts, pool, observer)) break;
    ++stops;
  }
  EXPECT_GE(stops, 2);
  for (const Row& row : TinyRows(whole)) {
    const std::string a = CellFolder(whole, row.cell, whole.seed);
    const std::string b = CellFolder(parts, row.cell, parts.seed);
    EXPECT_EQ(ReadFile(a + "/metrics.jsonl"), ReadFile(b + "/metrics.jsonl"));
    EXPECT_EQ(ReadResult(a)->updates, ReadResult(b)->updates);
    EXPECT_EQ(ReadResult(a)->outcome, ReadResult(b)->outcome);
  }
  const std::string fine = CellFolder(whole, TinyRows(whole)[0].cell, whole.seed);
  const std::string other = CellFolder(parts, TinyRows(whole)[0].cell, parts.seed);
  EXPECT_EQ(ReadFile(fine + "/model.safetensors"), ReadFile(other + "/model.safetensors"));
  EXPECT_EQ(ReadResult(fine)->Find("mixture", "kl_data_model")->estimate.value,
            ReadResult(other)->Find("mixture", "kl_data_model")->estimate.value);
}

// Whoever needs a cell that another process has waits for it, and may be stopped meanwhile.
TEST_F(Reproduce, ACellBelongsToOneProcessAtATime) {
  const ReproduceOptions options = Options(Scale::kQuick);
  const PlannedCell cell = PlanCells({&kTiny}, options)[0];
  std::filesystem::create_directories(cell.folder);
  const int file = ::open((cell.folder + "/lock").c_str(), O_CREAT | O_RDWR, 0644);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  ThreadPool pool(1);
  StopAfter observer(3);
  EXPECT_FALSE(RunCells({cell}, options, pool, observer));
  EXPECT_FALSE(std::filesystem::exists(cell.folder + "/manifest.json"));  // not begun
  ::close(file);
  ReproduceObserver silent;
  EXPECT_TRUE(RunCells({cell}, options, pool, silent));
}

TEST_F(Reproduce, ABrokenResultIsNamed) {
  WriteFileAtomically(Path("result.json"), "{\"outcome\": 3");
  try {
    ReadResult(Path(""));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("result.json: byte 13: not valid JSON"));
  }
}

TEST_F(Reproduce, CommandsAreForTheShell) {
  const Cell cell = {"faces32", {"data.source=/a b/it's"}, {"quick"}};
  EXPECT_THAT(TrainCommand(cell, 1, "cells/x"), HasSubstr("--set 'data.source=/a b/it'\\''s' --seed 1 --out cells/x"));
}

TEST_F(Reproduce, NamesThatAreUnknownOrLackFacesAreRefused) {
  EXPECT_THROW(FindExperiments("gnm", {}), ConfigError);
  EXPECT_THROW(FindExperiments("celeba32", {}), ConfigError);
  EXPECT_EQ(FindExperiments("all", {}).size() + 2, Experiments().size());
  EXPECT_EQ(FindExperiments("all", Options(Scale::kQuick)).size(), Experiments().size());
}

}  // namespace
}  // namespace grbm
