// The processes of an MPI job, where the program was started as one: mpirun -n 4 grbm train ...
#pragma once

#include "grbm/core/ranks.h"

namespace grbm::app {

// Where mpirun or another launcher started this process as one of several, its ranks; otherwise this process alone, and MPI
// is not touched. Throws ConfigError where there are several, but the program was built without MPI.
Ranks& JoinJob();
// As many threads as were asked for or, of 0, this process's share: the cores are those of all ranks of the machine. 0: all.
int ThreadsOfRank(int asked = 0);
// At the end of all that is well: ranks wait for each other.
void LeaveJob();
// Before an error is told: what is wrong with a command is wrong for all ranks, and the first one speaks for all.
void WaitForFirstRank();
// After an error: ends all ranks.
void EndJob(int code);

}  // namespace grbm::app
