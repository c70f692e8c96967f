#include "grbm/train/run.h"

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "core/json.h"
#include "evaluate/common.h"
#include "grbm/core/file.h"
#include "grbm/core/version.h"
#include "grbm/data/batches.h"
#include "grbm/data/standardize.h"
#include "grbm/evaluate/samples.h"
#include "grbm/model/backend.h"
#include "grbm/report/samples.h"
#include "grbm/store/model_file.h"
#include "grbm/train/checkpoint.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr std::uint64_t kMetricsLines = 2000;
constexpr std::size_t kMaxText = std::size_t{1} << 20;  // of a configuration, a manifest, a line of metrics

// Of each picture: images, or points of the plane.
constexpr Index kPictureImages = 64;
constexpr Index kPicturePoints = 256;

std::string CheckpointFolder(const std::string& folder) { return folder + "/checkpoints"; }

// After which updates a picture is drawn: `count` of them, or fewer in short runs, evenly on a logarithmic scale; the last
// is the last of the run.
std::set<std::uint64_t> PictureUpdates(std::uint64_t total, std::int64_t count) {
  std::set<std::uint64_t> updates;
  for (std::int64_t k = 1; k <= count; ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(count);
    updates.insert(std::clamp<std::uint64_t>(std::llround(std::pow(static_cast<double>(total), share)), 1, total));
  }
  return updates;
}

// The same chains at every picture, so that they can be followed from one to the next.
void WritePicture(const ModelFile& file, const std::string& folder, std::uint64_t update, std::uint64_t seed,
                  ThreadPool& pool) {
  if (!HasPictures(file)) return;
  const Index count = file.image_shape.known() ? kPictureImages : kPicturePoints;
  const Matrix samples = DrawSamples(file, count, PartSeed(seed, Part::kPictures), pool);
  const Picture picture = DrawPicture(file, samples);
  WriteFileAtomically(fmt::format("{}/{:012}{}", folder, update, picture.ending), picture.contents);
}

// Named numbers, in order.
using Values = std::vector<std::pair<std::string, double>>;

std::string MetricsLine(const UpdateMetrics& m, const Values& curves) {
  json line;
  line["update"] = m.update;
  line["epoch"] = m.epoch;
  line["learning_rate"] = m.learning_rate;
  line["step_size"] = m.step_size;
  line["reconstruction"] = m.batch.reconstruction;
  line["gradient_norm"] = m.gradient_norm;
  line["acceptance"] = m.batch.acceptance;
  line["mean_variance"] = m.mean_variance;
  line["min_log_var"] = m.min_log_var;
  line["max_log_var"] = m.max_log_var;
  line["hidden_activity"] = m.batch.hidden_activity;
  line["unstable_units"] = m.batch.unstable_units;
  for (const auto& [name, value] : curves) line[name] = value;
  return line.dump() + "\n";
}

// The update that a line of metrics.jsonl is of; none where it is no such line.
std::optional<std::uint64_t> MetricsUpdate(std::string_view line) {
  try {
    const json entry = ParseJson<json>(line, kMaxText, "");
    if (!entry.is_object() || !entry.contains("update") || !entry["update"].is_number_unsigned()) return std::nullopt;
    return entry["update"].get<std::uint64_t>();
  } catch (const DataError&) {
    return std::nullopt;
  }
}

// metrics.jsonl: cut back to the lines of updates that were made, then appended to, line by line.
class MetricsFile {
 public:
  MetricsFile(const std::string& path, std::uint64_t updates) : path_(path) {
    std::string kept;
    if (fs::exists(path)) {
      std::istringstream lines(ReadFile(path));
      for (std::string line; std::getline(lines, line);) {
        if (const auto update = MetricsUpdate(line); !update || *update > updates) break;
        kept += line + "\n";
      }
    }
    WriteFileAtomically(path, kept);
    file_.reset(std::fopen(path.c_str(), "a"));
    if (!file_) Fail();
  }

  void Write(const std::string& line) {
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() || std::fflush(file_.get()) != 0) Fail();
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[noreturn]] void Fail() const {
    throw IoError(fmt::format("{}: cannot write: {}; the last checkpoint is kept: make room and resume", path_,
                              std::strerror(errno)));
  }

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

void CheckSameSettings(const RunRequest& request, const RunRequest& stored) {
  Config ours = request.config;
  Config theirs = stored.config;
  theirs.checkpoint = ours.checkpoint;
  const auto our_sections = ours.Sections();
  const auto their_sections = theirs.Sections();
  for (std::size_t s = 0; s < our_sections.size(); ++s) {
    for (std::size_t f = 0; f < our_sections[s].fields.size(); ++f) {
      const Field& our_field = our_sections[s].fields[f];
      const Field& their_field = their_sections[s].fields[f];
      if (Value(our_field) == Value(their_field)) continue;
      throw ConfigError(fmt::format(
          "{}: cannot resume: {}.{} = {} now, but the run was started with {}: give the same "
          "settings, or another --out",
          request.folder, our_sections[s].name, our_field.name, ValueText(our_field), ValueText(their_field)));
    }
  }
  if (request.seed != stored.seed) {
    throw ConfigError(fmt::format("{}: cannot resume: --seed {} now, but the run was started with {}", request.folder,
                                  request.seed, stored.seed));
  }
}

// The folder of a new run, or of the one to be resumed.
void Prepare(const RunRequest& request, const Dataset& data, ThreadPool& pool) {
  const bool exists = fs::exists(ManifestPath(request.folder));
  if (exists && !request.resume) {
    throw ConfigError(fmt::format("{}: there is a run already: add --resume to go on with it, or give another --out",
                                  request.folder));
  }
  MakeFolder(CheckpointFolder(request.folder));
  if (exists) {
    CheckSameSettings(request, ReadRun(request.folder));
    return;
  }
  WriteFileAtomically(ConfigPath(request.folder), ConfigText(request.config));
  json manifest;
  manifest["grbm_version"] = Version();
  manifest["seed"] = request.seed;
  manifest["cpu_target"] = CpuTarget();
  manifest["threads"] = pool.threads();
  manifest["data"] = {{"source", data.source()}, {"rows", data.rows()}, {"visible", data.visible()}};
  // Last: with it, the folder is a run.
  WriteFileAtomically(ManifestPath(request.folder), manifest.dump(2) + "\n");
}

}  // namespace

std::string ConfigPath(const std::string& folder) { return folder + "/config.toml"; }
std::string ManifestPath(const std::string& folder) { return folder + "/manifest.json"; }
std::string MetricsPath(const std::string& folder) { return folder + "/metrics.jsonl"; }
std::string ModelPath(const std::string& folder) { return folder + "/model.safetensors"; }
std::string PictureFolder(const std::string& folder) { return folder + "/samples"; }

RunRequest ReadRun(const std::string& folder) {
  if (!fs::exists(ManifestPath(folder))) {
    throw ConfigError(fmt::format("{}: there is no run here to resume: manifest.json is missing", folder));
  }
  RunRequest run;
  run.folder = folder;
  run.config = ParseConfig(ReadFile(ConfigPath(folder), {.max_bytes = kMaxText}), ConfigPath(folder));
  const json manifest =
      ParseJson<json>(ReadFile(ManifestPath(folder), {.max_bytes = kMaxText}), kMaxText, ManifestPath(folder));
  if (!manifest.is_object() || !manifest.contains("seed") || !manifest["seed"].is_number_unsigned()) {
    throw DataError(fmt::format("{}: not a manifest: it has no seed", ManifestPath(folder)));
  }
  run.seed = manifest["seed"];
  return run;
}

bool TrainRun(const RunRequest& request, ThreadPool& pool, RunObserver& observer) {
  const Config& config = request.config;
  const Dataset data = LoadDataset(config.data, pool);
  const Standardization standardization = ComputeStandardization(data, config.data.standardize);
  const BatchStream batches(data.rows(), config.train.batch_size, request.seed);
  std::vector<Index> rows(static_cast<std::size_t>(config.train.batch_size));
  Trainer trainer(
      {config.model, config.sampler, config.train, request.seed, data.visible(),
       static_cast<std::uint64_t>(data.rows())},
      [&](std::uint64_t update, MutableMatrix out) {
        batches.Rows(update, rows);
        data.Read(rows, out);
        standardization.Apply(out);
      },
      pool);
  const Stability stability = CheckStability(trainer.model(), config.sampler);
  if (stability.unstable > 0) {
    throw ConfigError(fmt::format("sampler: step_size = {}: a step of {:.3g} variances diverges; allowed is below 2",
                                  config.sampler.step_size, stability.ratio));
  }

  std::optional<Curves> curves;
  const auto evaluate_every = static_cast<std::uint64_t>(config.evaluate.every_steps);
  if (evaluate_every > 0) {
    curves.emplace(config.evaluate, data, LoadHeldOut(config.data, pool), standardization, request.seed, pool);
  }

  Prepare(request, data, pool);
  const std::string checkpoints = CheckpointFolder(request.folder);
  if (auto state = ReadNewestCheckpoint(checkpoints)) trainer.Restore(std::move(*state));
  PruneCheckpoints(checkpoints, config.checkpoint.keep);
  RemoveLeftovers(checkpoints);
  RemoveLeftovers(request.folder);
  RemoveLeftovers(PictureFolder(request.folder));
  MetricsFile metrics_file(MetricsPath(request.folder), trainer.updates());

  const auto model_file = [&]() -> ModelFile {
    return {trainer.model(),
            config.sampler,
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
    WriteCheckpoint(path, trainer.State());
    WriteModel(ModelPath(request.folder), model_file());
    PruneCheckpoints(checkpoints, config.checkpoint.keep);
    observer.OnCheckpoint(path);
  };

  const std::set<std::uint64_t> pictures = PictureUpdates(trainer.total_updates(), config.checkpoint.pictures);
  if (!pictures.empty()) MakeFolder(PictureFolder(request.folder));

  observer.OnStart(trainer, data.rows());
  const auto log_every = static_cast<std::uint64_t>(
      config.train.log_every > 0
          ? config.train.log_every
          : std::max<std::int64_t>(1, static_cast<std::int64_t>(trainer.total_updates() / kMetricsLines)));
  using Clock = std::chrono::steady_clock;
  auto saved = Clock::now();
  Index warned_unstable = 0;
  while (!trainer.done()) {
    const UpdateMetrics metrics = trainer.Update();
    const bool evaluate = curves && (metrics.update % evaluate_every == 0 || trainer.done());
    if (evaluate || metrics.update % log_every == 0 || trainer.done()) {
      metrics_file.Write(MetricsLine(metrics, evaluate ? curves->Measure(model_file()) : Values()));
    }
    // Before the checkpoint: what is after one is not made again.
    if (pictures.contains(metrics.update)) {
      WritePicture(model_file(), PictureFolder(request.folder), metrics.update, request.seed, pool);
    }
    observer.OnUpdate(metrics);
    if (metrics.batch.unstable_units > 2 * warned_unstable) {
      warned_unstable = metrics.batch.unstable_units;
      observer.OnWarning(
          fmt::format("update {}: the step overshoots for {} visible units whose variance is far below the "
                      "mean; sampler.step_scale = \"unit\" fits every unit",
                      metrics.update, warned_unstable));
    }
    const bool stop = observer.ShouldStop();
    const auto every_steps = static_cast<std::uint64_t>(config.checkpoint.every_steps);
    const bool by_steps = every_steps > 0 && metrics.update % every_steps == 0;
    const bool by_time = config.checkpoint.every_seconds > 0 &&
                         Clock::now() - saved > std::chrono::duration<double>(config.checkpoint.every_seconds);
    if (stop || by_steps || by_time || trainer.done()) {
      save();
      saved = Clock::now();
    }
    if (stop && !trainer.done()) return false;
  }
  return true;
}

}  // namespace grbm
