#include "grbm/train/data_trainer.h"

#include <gtest/gtest.h>

#include "grbm/data/standardize.h"
#include "support/models.h"

namespace grbm {
namespace {

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
