// A training run in its folder: settings, metrics, checkpoints, the model. A run that was stopped at any moment, even by
// a kill, goes on to the same bits.
//
//   config.toml        every setting in force
//   manifest.json      version, seed, CPU target, threads, data with their fingerprint, and the settings once more: a
//                      config.toml that was changed is refused, one that is lost is written again
//   init.safetensors   the model that the run was told to start from, where it was
//   metrics.jsonl      one line per logged update; no times, so that runs can be compared byte by byte
//   times.jsonl        the seconds of training up to each of these lines and to each checkpoint; when the run was started
//                      and resumed, and by which command. All else is decided by the settings; this file is not
//   data.png, .json    rows of the data, drawn as the samples are; made with the first of these
//   checkpoints/       the newest few; one that cannot be read is put aside as NAME.damaged
//   samples/           pictures of samples from noise over training, named after their update
//   model.safetensors  the model as of the last checkpoint; at the end, the result
//   run.lock           held by the process that is at work here, which it names; without one it is an empty file, or names
//                      a process that was killed, and means nothing
#pragma once

#include <cstdint>
#include <string>

#include "grbm/core/error.h"
#include "grbm/core/parallel.h"
#include "grbm/core/ranks.h"
#include "grbm/train/config.h"
#include "grbm/train/trainer.h"

namespace grbm {

// The places in a run's folder.
std::string ConfigPath(const std::string& folder);
std::string ManifestPath(const std::string& folder);
std::string MetricsPath(const std::string& folder);
std::string TimesPath(const std::string& folder);
std::string ModelPath(const std::string& folder);
std::string InitPath(const std::string& folder);
std::string PictureFolder(const std::string& folder);
// Without its ending.
std::string DataPicturePath(const std::string& folder);

struct RunRequest {
  Config config;  // a relative data.source is one of the present folder; the run keeps it absolute
  std::uint64_t seed = 1;
  std::string folder;
  bool resume = false;
  // The update after which to stop with a checkpoint; 0: the last. No setting of the run, whose schedules are those of its
  // whole length: resumed, it goes on to the bits of one that never paused.
  std::uint64_t pause_after = 0;
  // A model file to start from; empty: fresh parameters. The run keeps a copy, and a resumed one needs no other.
  std::string init = {};
  // What the user called, for times.jsonl; empty: not known.
  std::string command = {};
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
  // What is worth knowing, and no reason to worry.
  virtual void OnNote(const std::string& /*text*/) {}
  // Asked after every update, of several ranks the first one in its course; true writes a checkpoint and ends the run early.
  virtual bool ShouldStop() { return false; }
};

// Another process is at work in the folder: later it may be free.
class BusyError : public Error {
 public:
  explicit BusyError(const std::string& message) : Error(message, 75) {}
};

// Settings and seed of the run in a folder. Throws where there is none.
RunRequest ReadRun(const std::string& folder);

// Trains to the end, or to the pause, or until the observer says stop; true at the end. A folder that holds a run is refused unless
// `resume` says to go on with it, and settings other than those of [checkpoint] are then refused if they differ, as are
// data of another fingerprint; but more train.epochs extend a run, finished or not: schedules are then those of the new
// length, and the manifest keeps digests of the settings of before, which the checkpoints name; the same data may have moved to another path. Runs and checkpoints of versions that kept no
// fingerprint are resumed where the data have as many rows and columns, with a warning. A folder that holds parts of a run
// without its manifest is refused. Throws BusyError where another process is at work in the folder.
//
// With several ranks each calls this with the same request, and trains on its part of every batch: a run of the same bits for
// any number of them. Rank 0 alone reads and writes the folder, and its observer decides when to stop.
bool TrainRun(const RunRequest& request, ThreadPool& pool, RunObserver& observer, Ranks& ranks = OneRank());

}  // namespace grbm
