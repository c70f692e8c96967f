// The command line: `grbm COMMAND`. Each command is one file of this folder; there is no mathematics here.
#include <fmt/core.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <sstream>

#include "commands.h"
#include "grbm/core/error.h"
#include "grbm/core/options.h"
#include "grbm/core/version.h"
#include "grbm/model/backend.h"
#include "streams.h"

namespace {

using grbm::app::Action;
using grbm::app::Common;

std::string VersionText() { return fmt::format("grbm {}\ncpu target: {}", grbm::Version(), grbm::CpuTarget()); }

// The command that was meant, when the first word is none.
void CheckCommandName(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::ranges::find(names, argv[1]) != names.end()) return;
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw grbm::ConfigError(
      fmt::format("unknown command '{}'{}: see 'grbm --help'", argv[1], grbm::DidYouMean(argv[1], views)));
}

int Run(int argc, char** argv) {
  // What an update frees, the next one takes: blocks below 8 MB stay with the program.
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  CLI::App app{"Gaussian-Bernoulli restricted Boltzmann machines: train, sample, use.", "grbm"};
  app.set_version_flag("--version", VersionText, "Print the version and the CPU target");
  app.footer("Example: grbm train gmm-iso --out run && grbm sample run/model.safetensors -n 1000 -o samples.npy");
  app.require_subcommand(0, 1);  // what follows a command is never another one: grbm reproduce filters
  Common common;
  Action action;
  for (const auto add :
       {grbm::app::AddTrain, grbm::app::AddSample, grbm::app::AddReconstruct, grbm::app::AddInpaint,
        grbm::app::AddEncode, grbm::app::AddFilters, grbm::app::AddDensity, grbm::app::AddEvaluate, grbm::app::AddInfo,
        grbm::app::AddData, grbm::app::AddPresets, grbm::app::AddConvert, grbm::app::AddBench, grbm::app::AddReproduce,
        grbm::app::AddReport, grbm::app::AddDashboard, grbm::app::AddCompletion}) {
    add(app, common, action);
  }
  for (CLI::App* command : app.get_subcommands({})) {
    command->add_flag("--quiet", common.quiet, "Print nothing but errors, warnings and what was asked for");
    command->add_flag("--json", common.json, "Print results as one JSON object");
  }
  CheckCommandName(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(request, text);
    grbm::app::PrintText(text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    const auto used = app.get_subcommands();
    throw grbm::ConfigError(
        fmt::format("{}: see 'grbm {}--help'", error.what(), used.empty() ? "" : used.front()->get_name() + " "));
  }
  if (!action) {
    grbm::app::PrintText(app.help());
    return 0;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  using grbm::app::Tell;
  grbm::app::OpenStandardStreams();
  try {
    const int code = Run(argc, argv);
    grbm::app::CloseOutput();
    return code;
  } catch (const grbm::Error& error) {
    Tell("grbm: {}\n", error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    Tell("grbm: out of memory\n");
    return 71;
  } catch (const std::exception& error) {
    Tell("grbm: {}\n", error.what());
    return 70;
  }
}
