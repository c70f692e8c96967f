// The commands. Each Add... function, in a file of its own, declares one and what it does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "command_line.h"

namespace grbm::app {

// What every command shares.
struct Common {
  bool quiet = false;   // nothing but errors, warnings and what was asked for
  bool json = false;    // results as one JSON object
  int threads = 0;      // 0: one per core
  bool shared = false;  // whether all ranks of an MPI job work on the command
  std::uint64_t seed = 1;
  std::string command = {};  // the whole line, as a shell reads it
};

// A command's work, run after the whole command line was understood; its result is the exit code.
using Action = std::function<int()>;

void AddTrain(Command app, Common& common, Action& action);
void AddSample(Command app, Common& common, Action& action);
void AddClassify(Command app, Common& common, Action& action);
void AddReconstruct(Command app, Common& common, Action& action);
void AddInpaint(Command app, Common& common, Action& action);
void AddEncode(Command app, Common& common, Action& action);
void AddFilters(Command app, Common& common, Action& action);
void AddInfo(Command app, Common& common, Action& action);
void AddData(Command app, Common& common, Action& action);
void AddPresets(Command app, Common& common, Action& action);
void AddSettings(Command app, Common& common, Action& action);
void AddConvert(Command app, Common& common, Action& action);
void AddDensity(Command app, Common& common, Action& action);
void AddBench(Command app, Common& common, Action& action);
void AddEvaluate(Command app, Common& common, Action& action);
void AddDistance(Command app, Common& common, Action& action);
void AddScore(Command app, Common& common, Action& action);
void AddCouplings(Command app, Common& common, Action& action);
void AddReproduce(Command app, Common& common, Action& action);
void AddSearch(Command app, Common& common, Action& action);
void AddReport(Command app, Common& common, Action& action);
void AddDashboard(Command app, Common& common, Action& action);
void AddCompletion(Command app, Common& common, Action& action);

}  // namespace grbm::app
