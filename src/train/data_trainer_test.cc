#include "grbm/train/data_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "grbm/core/error.h"
#include "grbm/data/standardize.h"
#include "support/errors.h"
#include "support/models.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Config SmallConfig() {
  Config config;
  config.data.standardize = Standardize::kPixel;
  config.model.hidden = 4;
  config.sampler.steps = 3;
  config.train.batch_size = 10;
  config.train.epochs = 2;
  config.train.momentum = 0.5;
  config.train.unit_scale = UnitScale::kData;
  config.generate.steps = 7;
  return config;
}

Dataset SmallData() {
  Matrix rows = testing::RandomVisible(30, 3, 8);
  for (float& x : rows.values()) x = 5 * x + 2;
  return {std::move(rows), {}, "memory"};
}

TEST(DataTrainer, AModelToStartFromHasAMarginIfTheDataHave) {
  Config config = SmallConfig();
  Matrix rows = SmallData().ReadAll();
  for (float& x : rows.values()) x = std::max(0.0f, x);
  const Dataset data(std::move(rows), {}, "memory");
  ThreadPool pool(1);
  const auto trained = [&](double margin, const std::optional<ModelFile>& init) {
    config.data.margin = margin;
    return DataTrainer(config, data, 9, pool, {}, {}, init).File();
  };
  const ModelFile without = trained(0, {});
  const ModelFile with = trained(0.5, {});
  EXPECT_NO_THROW(trained(0, without));
  EXPECT_NO_THROW(trained(0.5, with));
  EXPECT_THAT([&] { trained(0.5, without); },
              ThrowsMessage<DataError>("memory: data.margin = 0.5, but the model to start from has none: in no other "
                                       "units would its law be the same: set data.margin=0"));
  EXPECT_THAT([&] { trained(0, with); }, ThrowsMessage<DataError>(HasSubstr("has a margin")));
}

TEST(DataTrainer, IsATrainerOfStandardisedBatches) {
  const Config config = SmallConfig();
  const Dataset data = SmallData();
  ThreadPool pool(1);
  DataTrainer ours(config, data, 9, pool);
  const Standardization units = UnitStatistics(data, ours.statistics().standardization);
  Matrix all = data.ReadAll();
  ours.statistics().standardization.Apply(all);
  const BatchStream batches(30, 10, 9);
  Trainer written_out(
      {config.model, config.sampler, config.train, 9, 3, 30, 0, units.mean, units.deviation},
      [&](std::uint64_t update, MutableMatrix out) {
        std::vector<Index> rows(10);
        batches.Rows(update, rows);
        for (Index r = 0; r < 10; ++r) {
          CopyRows(all.view().Rows(rows[static_cast<std::size_t>(r)], 1), out.Rows(r, 1));
        }
      },
      pool);
  EXPECT_EQ(ours.trainer().total_updates(), 6u);
  while (!ours.trainer().done()) {
    ours.trainer().Update();
    written_out.Update();
  }
  EXPECT_EQ(ours.trainer().model().parameters(), written_out.model().parameters());
}

TEST(DataTrainer, ItsFileKnowsTheDataAndDrawsAsGenerateSays) {
  ThreadPool pool(1);
  const DataTrainer trainer(SmallConfig(), SmallData(), 9, pool);
  const ModelFile file = trainer.File();
  EXPECT_EQ(file.generation().steps, 7);
  EXPECT_EQ(file.sampler.steps, 3);
  EXPECT_EQ(file.standardization, trainer.statistics().standardization);
  EXPECT_EQ(file.provenance.at("data"), "memory");
  EXPECT_EQ(file.provenance.at("seed"), "9");
  EXPECT_EQ(file.provenance.at("updates"), "0");
}

Dataset DataWithGaps() {
  Matrix rows = SmallData().ReadAll();
  for (Index r = 0; r < rows.rows(); ++r) rows(r, r % 3) = std::numeric_limits<float>::quiet_NaN();
  return {std::move(rows), {}, "gaps", {}, false, {}, true};
}

std::string Refused(const Config& config, const Dataset& data) {
  ThreadPool pool(1);
  return testing::ErrorOf([&] { DataTrainer(config, data, 9, pool); });
}

TEST(DataTrainer, RefusesGapsThatCannotBeDrawn) {
  const Dataset data = DataWithGaps();
  Config config = SmallConfig();
  EXPECT_EQ(Refused(config, data), "no error");
  config.sampler.method = Method::kLangevin;
  config.sampler.temperature = 2;
  EXPECT_THAT(Refused(config, data), HasSubstr("missing values at sampler.temperature = 2"));
  config.sampler.method = Method::kGibbs;
  EXPECT_EQ(Refused(config, data), "no error");
  config.data.noise = 0.5;
  EXPECT_THAT(Refused(config, data), HasSubstr("set model.variance_floor to 0.25 or more (now 1e-08)"));
  config.model.variance_floor = 0.25;
  EXPECT_EQ(Refused(config, data), "no error");
  Matrix nothing = data.ReadAll();
  std::ranges::fill(nothing.row(4), std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(Refused(config, Dataset(nothing, {}, "gaps", {}, false, {}, true)),
              HasSubstr("gaps: row 4 (counted from 0) of those to train on: no value is known: leave it out"));
}

// A run that stops and goes on has the bits of one that does not; rows of weight 0 leave no trace but their number.
TEST(DataTrainer, GoesOnToTheSameBitsWithGapsAndWeights) {
  Config config = SmallConfig();
  config.train.gap_steps = 1;
  const Dataset data = DataWithGaps().WithWeights(std::vector<double>(30, 1.0));
  std::vector<double> weights(30, 0.7);
  weights[3] = 0;
  weights[8] = 4;
  const Dataset weighted = data.WithWeights(weights);
  ThreadPool pool(2);
  DataTrainer whole(config, weighted, 9, pool);
  DataTrainer first(config, weighted, 9, pool);
  while (!whole.trainer().done()) whole.trainer().Update();
  for (int k = 0; k < 3; ++k) first.trainer().Update();
  DataTrainer rest(config, weighted, 9, pool);
  rest.trainer().Restore(first.trainer().State());
  while (!rest.trainer().done()) rest.trainer().Update();
  EXPECT_EQ(rest.trainer().model().parameters(), whole.trainer().model().parameters());
  DataTrainer plain(config, data, 9, pool);
  while (!plain.trainer().done()) plain.trainer().Update();
  EXPECT_NE(plain.trainer().model().parameters(), whole.trainer().model().parameters());
  Matrix other = weighted.ReadAll();
  for (float& x : other.row(3)) x = 1e6f;
  DataTrainer unseen(config, Dataset(other, {}, "gaps", {}, false, {}, true).WithWeights(weights), 9, pool);
  while (!unseen.trainer().done()) unseen.trainer().Update();
  EXPECT_EQ(unseen.trainer().model().parameters(), whole.trainer().model().parameters());
}

TEST(DataTrainer, KeepsStatesOfRowsWithGapsAlone) {
  ThreadPool pool(1);
  const Config config = SmallConfig();
  Matrix rows = SmallData().ReadAll();
  rows(4, 1) = rows(11, 0) = rows(11, 2) = std::numeric_limits<float>::quiet_NaN();
  const Dataset data(std::move(rows), {}, "gaps", {}, false, {}, true);
  DataTrainer trainer(config, data, 9, pool);
  for (int k = 0; k < 6; ++k) trainer.trainer().Update();
  const TrainState state = trainer.trainer().State();
  ASSERT_TRUE(state.gaps);
  EXPECT_EQ(state.gaps->rows(), 2);
  EXPECT_TRUE((*state.gaps)(0, 0) != 0 || (*state.gaps)(1, 0) != 0);
  const std::vector<Index> whole = {0, 1, 2, 3, 5, 6};
  EXPECT_FALSE(DataTrainer(config, data.Select(whole), 9, pool).trainer().State().gaps);
}

TEST(DataTrainer, TakesStatisticsOfOtherData) {
  const Config config = SmallConfig();
  ThreadPool pool(1);
  const DataTrainer first(config, SmallData(), 9, pool);
  const std::vector<Index> few = {0, 1, 2};
  const DataTrainer next(config, SmallData().Select(few), 9, pool, {}, first.statistics());
  EXPECT_EQ(next.statistics(), first.statistics());
  EXPECT_NE(ComputeStatistics(config, next.data()), first.statistics());
}

}  // namespace
}  // namespace grbm
