// Training interrupted and gone on with: everything that changes, in one safetensors file.
#pragma once

#include <optional>
#include <string>

#include "grbm/train/trainer.h"

namespace grbm {

// Written atomically. Throws IoError.
void WriteCheckpoint(const std::string& path, const TrainState& state);
// Throws DataError, naming the file, where it is not a checkpoint.
TrainState ReadCheckpoint(const std::string& path);

// Checkpoints of a folder are named after their update.
std::string CheckpointName(std::uint64_t update);
// The newest one that can be read; those that cannot are passed over.
std::optional<TrainState> ReadNewestCheckpoint(const std::string& folder);
// Removes all but the newest `keep`.
void PruneCheckpoints(const std::string& folder, std::int64_t keep);
// Removes what writes that were killed left in a folder.
void RemoveLeftovers(const std::string& folder);

}  // namespace grbm
