// The command line: `grbm COMMAND`. Each command is one file of this folder; there is no mathematics here.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "grbm/core/error.h"
#include "grbm/core/version.h"
#include "grbm/model/backend.h"

namespace {

std::string VersionText() {
  const grbm::Backend backend = grbm::DescribeBackend();
  return fmt::format("grbm {}\ncpu target: {}\nblas: {} (serial)", grbm::Version(), backend.cpu_target, backend.blas);
}

int Run(int argc, char** argv) {
  CLI::App app{"Gaussian-Bernoulli restricted Boltzmann machines.", "grbm"};
  app.set_version_flag("--version", VersionText, "Print the version, the CPU target and the BLAS");
  app.footer("Example: grbm --version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    throw grbm::ConfigError(fmt::format("{}: see 'grbm --help'", error.what()));
  }
  fmt::print("{}", app.help());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const grbm::Error& error) {
    fmt::print(stderr, "grbm: {}\n", error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "grbm: out of memory\n");
    return 71;
  } catch (const std::exception& error) {
    fmt::print(stderr, "grbm: {}\n", error.what());
    return 70;
  }
}
