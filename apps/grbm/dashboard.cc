// grbm dashboard: runs in the browser while they train.
#include <fmt/core.h>

#include <csignal>
#include <memory>
#include <thread>

#include "grbm/dashboard/server.h"
#include "numbers.h"
#include "output.h"
#include "streams.h"

namespace grbm::app {

namespace {

// Until Ctrl-C, or the same from another program.
int Serve(const DashboardOptions& options, const Common& common) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // inherited by all threads: only sigwait sees them
  Dashboard dashboard(options);
  const std::string host = options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]";
  PrintResults({.quiet = false, .json = common.json},
               {{"address", fmt::format("http://{}:{}/", host, dashboard.port())}});
  if (!common.quiet && !common.json) Print("shows {}; Ctrl-C ends it\n", options.folder);
  FlushOutput();
  std::thread serving([&] { dashboard.Run(); });
  int signal = 0;
  sigwait(&ends, &signal);
  dashboard.Stop();
  serving.join();
  return 0;
}

}  // namespace

void AddDashboard(Command app, Common& common, Action& action) {
  Command command = app.AddCommand("dashboard", "Show runs in the browser while they train");
  const auto options = std::make_shared<DashboardOptions>();
  options->port = 8417;
  command.AddOption("DIR", options->folder, "A run, or a folder of runs").Required();
  AddNumber<int>(command, "--port", options->port, "The port; 0: any that is free", 0, 65535).ShowDefault();
  command.AddOption("--host", options->host, "The address to listen on; 0.0.0.0: all, for everyone who can reach them")
      .ShowDefault();
  AddThreads(command, options->threads, "Threads that draw samples; 0: one per core").ShowDefault();
  command.SetFooter("Example: grbm dashboard runs");
  command.SetCallback([=, &common, &action] { action = [=, &common] { return Serve(*options, common); }; });
}

}  // namespace grbm::app
