// The commands. Each Add... function, in a file of its own, declares one and what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace grbm::app {

// What every command shares.
struct Common {
  bool quiet = false;  // nothing but errors, warnings and what was asked for
  bool json = false;   // results as one JSON object
  int threads = 0;     // 0: one per core
  std::uint64_t seed = 1;
};

// A command's work, run after the whole command line was understood; its result is the exit code.
using Action = std::function<int()>;

void AddTrain(CLI::App& app, Common& common, Action& action);
void AddSample(CLI::App& app, Common& common, Action& action);
void AddReconstruct(CLI::App& app, Common& common, Action& action);
void AddInpaint(CLI::App& app, Common& common, Action& action);
void AddEncode(CLI::App& app, Common& common, Action& action);
void AddFilters(CLI::App& app, Common& common, Action& action);
void AddInfo(CLI::App& app, Common& common, Action& action);
void AddData(CLI::App& app, Common& common, Action& action);
void AddPresets(CLI::App& app, Common& common, Action& action);
void AddConvert(CLI::App& app, Common& common, Action& action);
void AddDensity(CLI::App& app, Common& common, Action& action);
void AddBench(CLI::App& app, Common& common, Action& action);
void AddEvaluate(CLI::App& app, Common& common, Action& action);
void AddReproduce(CLI::App& app, Common& common, Action& action);
void AddReport(CLI::App& app, Common& common, Action& action);
void AddDashboard(CLI::App& app, Common& common, Action& action);
void AddCompletion(CLI::App& app, Common& common, Action& action);

}  // namespace grbm::app
