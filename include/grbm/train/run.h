// A training run in its folder: settings, metrics, checkpoints, the model. A run that was stopped at any moment, even by
// a kill, goes on to the same bits.
//
//   config.toml        every setting in force
//   manifest.json      version, seed, CPU target, threads, data
//   metrics.jsonl      one line per logged update; no times, so that runs can be compared byte by byte
//   checkpoints/       the newest few
//   samples/           pictures of samples from noise over training, named after their update
//   model.safetensors  the model as of the last checkpoint; at the end, the result
#pragma once

#include <cstdint>
#include <string>

#include "grbm/core/parallel.h"
#include "grbm/train/config.h"
#include "grbm/train/trainer.h"

namespace grbm {

// The places in a run's folder.
std::string ConfigPath(const std::string& folder);
std::string ManifestPath(const std::string& folder);
std::string MetricsPath(const std::string& folder);
std::string ModelPath(const std::string& folder);
std::string PictureFolder(const std::string& folder);

struct RunRequest {
  Config config;
  std::uint64_t seed = 1;
  std::string folder;
  bool resume = false;
};

// What the run tells, and asks. The base class says nothing and never stops.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Before the first update: `done` updates of `total` were made by an earlier part of the run.
  virtual void OnStart(const Trainer& /*trainer*/, Index /*data_rows*/) {}
  virtual void OnUpdate(const UpdateMetrics& /*metrics*/) {}
  virtual void OnCheckpoint(const std::string& /*path*/) {}
  virtual void OnWarning(const std::string& /*text*/) {}
  // Asked after every update; true writes a checkpoint and ends the run early.
  virtual bool ShouldStop() { return false; }
};

// Settings and seed of the run in a folder. Throws where there is none.
RunRequest ReadRun(const std::string& folder);

// Trains to the end, or until the observer says stop; true at the end. A folder that holds a run is refused unless
// `resume` says to go on with it, and settings other than those of [checkpoint] are then refused if they differ.
bool TrainRun(const RunRequest& request, ThreadPool& pool, RunObserver& observer);

}  // namespace grbm
