// The command line: `grbm COMMAND`. Each command is one file of this folder; there is no mathematics here.
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <filesystem>
#include <new>

#include "commands.h"
#include "grbm/core/error.h"
#include "grbm/core/options.h"
#include "grbm/core/version.h"
#include "grbm/model/backend.h"
#include "job.h"
#include "streams.h"

namespace {

using grbm::app::Action;
using grbm::app::Common;

std::string VersionText() { return fmt::format("grbm {}\ncpu target: {}", grbm::Version(), grbm::CpuTarget()); }

// The command line in words that a shell takes for the same.
std::string CommandText(int argc, char** argv) {
  std::string text = "grbm";
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    const auto plain = [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (!word.empty() && std::ranges::all_of(word, plain)) {
      text += fmt::format(" {}", word);
      continue;
    }
    text += " '";
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    text += "'";
  }
  return text;
}

// The command that was meant, when the first word is none.
void CheckCommandName(grbm::app::Command program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const grbm::app::Command command : program.Commands()) names.push_back(command.name());
  if (std::ranges::find(names, argv[1]) != names.end()) return;
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw grbm::ConfigError(
      fmt::format("unknown command '{}'{}: see 'grbm --help'", argv[1], grbm::DidYouMean(argv[1], views)));
}

int Run(int argc, char** argv) {
  // What an update frees, the next one takes: blocks below 8 MB stay with the program.
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  grbm::app::CommandLine line("grbm", "Gaussian-Bernoulli restricted Boltzmann machines: train, sample, use.",
                              VersionText);
  const grbm::app::Command program = line.root();
  program.SetFooter(
      "Example: grbm train gmm-iso --out run && grbm sample run/model.safetensors -n 1000 -o samples.npy");
  Common common;
  common.command = CommandText(argc, argv);
  Action action;
  for (const auto add :
       {grbm::app::AddTrain,    grbm::app::AddSample,    grbm::app::AddClassify,  grbm::app::AddReconstruct,
        grbm::app::AddInpaint,  grbm::app::AddEncode,    grbm::app::AddFilters,   grbm::app::AddDensity,
        grbm::app::AddEvaluate, grbm::app::AddDistance,  grbm::app::AddScore,     grbm::app::AddCouplings,
        grbm::app::AddInfo,     grbm::app::AddData,      grbm::app::AddPresets,   grbm::app::AddSettings,
        grbm::app::AddConvert,  grbm::app::AddBench,     grbm::app::AddReproduce, grbm::app::AddSearch,
        grbm::app::AddReport,   grbm::app::AddDashboard, grbm::app::AddCompletion}) {
    add(program, common, action);
  }
  for (const grbm::app::Command command : program.Commands()) {
    command.AddFlag("--quiet", common.quiet, "Print nothing but errors, warnings and what was asked for");
    command.AddFlag("--json", common.json, "Print results as one JSON object");
  }
  CheckCommandName(program, argc, argv);
  std::string text;
  if (!line.Parse(argc, argv, text) || !action) {
    grbm::app::PrintText(text.empty() ? program.Help() : text);
    return 0;
  }
  // Of an MPI job, ranks that have no part in a command leave it to the first one.
  if (grbm::app::JoinJob().rank() > 0 && !common.shared) return 0;
  return action();
}

// What an error is to whoever started the program: a line, and a code.
int Failed(int code, const std::string& text) {
  grbm::app::WaitForFirstRank();
  grbm::app::Tell("grbm: {}\n", text);
  grbm::app::EndJob(code);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  grbm::app::OpenStandardStreams();
  try {
    const int code = Run(argc, argv);
    grbm::app::CloseOutput();
    grbm::app::LeaveJob();
    return code;
  } catch (const grbm::Error& error) {
    return Failed(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return Failed(71, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return Failed(74, fmt::format("{}: {}", grbm::OneLine(error.path1().string()), error.code().message()));
  } catch (const std::exception& error) {
    return Failed(70, error.what());
  }
}
