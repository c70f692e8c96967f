// What a run's folder says of the run, and whether it may be gone on with.
#pragma once

#include <memory>

#include "core/folder_lock.h"
#include "grbm/data/dataset.h"
#include "grbm/train/checkpoint.h"
#include "grbm/train/run.h"

namespace grbm {

std::string CheckpointFolder(const std::string& folder);

// The request with a data.source that is found from any folder.
RunRequest Resolved(RunRequest request);

// The contents of the model file that the run starts from: the one it was given or, resumed, the copy that it keeps; empty
// where parameters are fresh. Throws ConfigError where a resumed run is given another one than it was started with.
std::string InitContents(const RunRequest& request);

// What the checkpoints of this run say of themselves. init: see above.
RunOrigin OriginOf(const RunRequest& request, const Dataset& data, const Dataset* held_out, const std::string& init);

// Throws ConfigError where the folder holds a run and `resume` is not set, or parts of a run but no manifest. Changes
// nothing: for before the data are loaded.
void CheckFolder(const RunRequest& request);

// Whether the run was started by a version that kept no fingerprint of its data.
bool IsOldRun(const std::string& folder);

// The settings that the checkpoints of a run may be of, beside those in force: it was extended since.
std::vector<std::string> EarlierSettings(const std::string& folder);

// Makes the folder of a new run, or sees to it that the one to be resumed is the same run on the same data, and holds it
// until the lock is destroyed. Throws BusyError where another process holds it, ConfigError and DataError where it is not
// the same run.
std::unique_ptr<FolderLock> OpenFolder(const RunRequest& request, const Dataset& data, const RunOrigin& origin,
                                       const std::string& init, int threads, RunObserver& observer);

}  // namespace grbm
