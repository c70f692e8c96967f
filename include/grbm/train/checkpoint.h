// Training interrupted and gone on with: everything that changes, in one safetensors file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grbm/train/trainer.h"

namespace grbm {

// Of which run a checkpoint is: digests of the data, and of the settings and the seed.
struct RunOrigin {
  std::string data;
  std::string settings;
  std::vector<std::string> earlier = {};  // settings that the run had before it was extended; no part of a checkpoint

  bool operator==(const RunOrigin&) const = default;
};

struct Checkpoint {
  TrainState state;
  std::optional<RunOrigin> origin;  // unknown in files of format version 1
};

// Written atomically, with a digest of its contents. Throws IoError.
void WriteCheckpoint(const std::string& path, const TrainState& state, const RunOrigin& origin);
// Throws DataError, naming the file, where it is not a checkpoint or a damaged one. Files of format version 1 have no
// digest and no origin: they are taken as they are.
Checkpoint ReadCheckpoint(const std::string& path);
// The same from memory; `path` stands for the file in messages.
Checkpoint ParseCheckpoint(std::string contents, const std::string& path);

// Checkpoints of a folder are named after their update.
std::string CheckpointName(std::uint64_t update);
bool HasCheckpoints(const std::string& folder);
// The newest one that can be read; none where there are none. Damaged ones are put aside, as NAME.damaged, and told to
// `warn`. Throws DataError where all are damaged, or where it is of another run than `origin`, as it is or
// was before it was extended. Only in runs that older
// versions started are files taken that do not tell their origin.
std::optional<TrainState> ReadNewestCheckpoint(const std::string& folder, const RunOrigin& origin, bool of_old_run,
                                               const std::function<void(const std::string&)>& warn);
// Removes all but the newest `keep`.
void PruneCheckpoints(const std::string& folder, std::int64_t keep);
// Removes what writes that were killed left in a folder.
void RemoveLeftovers(const std::string& folder);

}  // namespace grbm
