#include "grbm/train/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "evaluate/common.h"
#include "grbm/core/file.h"
#include "grbm/data/batches.h"
#include "grbm/data/standardize.h"
#include "grbm/evaluate/samples.h"
#include "grbm/report/samples.h"
#include "grbm/store/model_file.h"
#include "grbm/train/checkpoint.h"
#include "train/metrics_file.h"
#include "train/run_folder.h"
#include "train/watch.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMetricsLines = 2000;

// Of each picture: images, or points of the plane.
constexpr Index kPictureImages = 64;
constexpr Index kPicturePoints = 256;

// After which updates a picture is drawn: `count` of them, or fewer in short runs, evenly on a logarithmic scale; the last
// is the last of the run.
std::set<std::uint64_t> PictureUpdates(std::uint64_t total, std::int64_t count) {
  std::set<std::uint64_t> updates;
  for (std::int64_t k = 1; k <= count; ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(count);
    const double update = std::round(std::pow(static_cast<double>(total), share));
    updates.insert(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(update), 1, total));
  }
  return updates;
}

// The same chains at every picture, so that they can be followed from one to the next.
void WritePicture(const ModelFile& file, const std::string& folder, std::uint64_t update, std::uint64_t seed,
                  ThreadPool& pool) {
  if (!HasPictures(file)) return;
  const Index count = file.image_shape.known() ? kPictureImages : kPicturePoints;
  const Matrix samples = DrawShown(file, count, PartSeed(seed, Part::kPictures), pool);
  const Picture picture = DrawPicture(file, samples);
  WriteFileAtomically(fmt::format("{}/{:012}{}", folder, update, picture.ending), picture.contents);
}

// Pictures of updates that a resumed run has yet to make.
void RemoveLaterPictures(const std::string& folder, std::uint64_t updates) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string stem = entry.path().stem().string();
    std::uint64_t update = 0;
    const auto [end, failure] = std::from_chars(stem.data(), stem.data() + stem.size(), update);
    const bool number = failure == std::errc() && end == stem.data() + stem.size();
    if (number && update > updates) fs::remove(entry.path(), error);
  }
}

LogSchedule MakeLogSchedule(const Config& config, std::uint64_t total) {
  const auto log_every = static_cast<std::uint64_t>(config.train.log_every);
  return {log_every > 0 ? log_every : std::max<std::uint64_t>(1, total / kMetricsLines),
          static_cast<std::uint64_t>(config.evaluate.every_steps), total};
}

}  // namespace

bool TrainRun(const RunRequest& given, ThreadPool& pool, RunObserver& observer) {
  const RunRequest request = Resolved(given);
  const Config& config = request.config;
  CheckFolder(request);
  const Dataset data = LoadDataset(config.data, pool);
  const Standardization standardization = ComputeStandardization(data, config.data.standardize);
  const BatchStream batches(data.rows(), config.train.batch_size, request.seed);
  std::vector<Index> rows(static_cast<std::size_t>(config.train.batch_size));
  Trainer::Setup setup{config.model,     config.sampler, config.train,
                       request.seed,     data.visible(), static_cast<std::uint64_t>(data.rows()),
                       config.data.noise};
  if (config.train.unit_scale == UnitScale::kData) {
    const Standardization units = UnitStatistics(data, standardization);
    setup.mean = units.mean;
    setup.deviation = units.deviation;
  }
  Trainer trainer(
      setup,
      [&](std::uint64_t update, MutableMatrix out) {
        batches.Rows(update, rows);
        data.Read(rows, out);
        standardization.Apply(out);
      },
      pool);
  CheckGeneration(config.generate, config.sampler);
  const Stability stability = CheckStability(trainer.model(), config.sampler);
  if (stability.unstable > 0) {
    throw ConfigError(fmt::format("sampler: step_size = {}: a step of {:.3g} variances diverges; allowed is below 2",
                                  config.sampler.step_size, stability.ratio));
  }

  std::optional<Curves> curves;
  std::optional<Dataset> held_out;
  if (config.evaluate.every_steps > 0) {
    held_out = LoadHeldOut(config.data, pool);
    curves.emplace(config.evaluate, data, held_out, standardization, request.seed, pool);
  }

  const RunOrigin origin = OriginOf(request, data, held_out ? &*held_out : nullptr);
  const auto lock = OpenFolder(request, data, origin, pool.threads(), observer);
  const std::string checkpoints = CheckpointFolder(request.folder);
  const auto warn = [&](const std::string& text) { observer.OnWarning(text); };
  if (auto state = ReadNewestCheckpoint(checkpoints, origin, IsOldRun(request.folder), warn)) {
    trainer.Restore(std::move(*state));
  } else if (Exists(ModelPath(request.folder))) {  // written after a checkpoint
    throw DataError(fmt::format(
        "{}: the checkpoints of this run are gone: put one back, or start again with another --out", checkpoints));
  }
  PruneCheckpoints(checkpoints, config.checkpoint.keep);
  RemoveLeftovers(checkpoints);
  RemoveLeftovers(request.folder);
  RemoveLeftovers(PictureFolder(request.folder));
  RemoveLaterPictures(PictureFolder(request.folder), trainer.updates());
  const LogSchedule schedule = MakeLogSchedule(config, trainer.total_updates());
  MetricsFile metrics_file(MetricsPath(request.folder), trainer.updates(), schedule, observer);

  const auto model_file = [&]() -> ModelFile {
    return {trainer.model(),
            config.sampler,
            config.generate,
            standardization,
            data.shape(),
            {{"bits", std::to_string(data.bits())},
             {"data", data.source()},
             {"seed", std::to_string(request.seed)},
             {"updates", std::to_string(trainer.updates())},
             {"config", ConfigText(config)}}};
  };
  const auto save = [&] {
    const std::string path = checkpoints + "/" + CheckpointName(trainer.updates());
    metrics_file.Sync();  // what is before a checkpoint is not made again
    WriteCheckpoint(path, trainer.State(), origin);
    WriteModel(ModelPath(request.folder), model_file());
    PruneCheckpoints(checkpoints, config.checkpoint.keep);
    observer.OnCheckpoint(path);
  };

  const std::set<std::uint64_t> pictures = PictureUpdates(trainer.total_updates(), config.checkpoint.pictures);
  if (!pictures.empty()) MakeFolder(PictureFolder(request.folder));

  // The model is that of the checkpoint, also where a kill came between the two.
  if (trainer.updates() > 0) WriteModel(ModelPath(request.folder), model_file());

  observer.OnStart(trainer, data.rows());
  using Clock = std::chrono::steady_clock;
  auto saved = Clock::now();
  Watch watch(config.model, config.sampler);
  std::vector<std::string> words;  // of the last update: where the next one diverges, the error says more
  const auto speak = [&] {
    for (const std::string& text : std::exchange(words, {})) observer.OnWarning(text);
  };
  const auto paused = [&] { return request.pause_after > 0 && trainer.updates() >= request.pause_after; };
  while (!trainer.done() && !paused()) {
    const UpdateMetrics metrics = trainer.Update();
    speak();
    const bool evaluate = curves && (metrics.update % schedule.evaluate_every == 0 || trainer.done());
    if (schedule.Logs(metrics.update)) {
      metrics_file.Write(MetricsLine(metrics, evaluate ? curves->Measure(model_file()) : Values()));
    }
    // Before the checkpoint: what is after one is not made again.
    if (pictures.contains(metrics.update)) {
      WritePicture(model_file(), PictureFolder(request.folder), metrics.update, request.seed, pool);
    }
    observer.OnUpdate(metrics);
    words = watch.See(metrics);
    const bool stop = observer.ShouldStop() || paused();
    const auto every_steps = static_cast<std::uint64_t>(config.checkpoint.every_steps);
    const bool by_steps = every_steps > 0 && metrics.update % every_steps == 0;
    const bool by_time = config.checkpoint.every_seconds > 0 &&
                         Clock::now() - saved > std::chrono::duration<double>(config.checkpoint.every_seconds);
    if (stop || by_steps || by_time || trainer.done()) {
      save();
      saved = Clock::now();
    }
    if (stop && !trainer.done()) break;
  }
  speak();
  metrics_file.Close();
  return trainer.done();
}

}  // namespace grbm
