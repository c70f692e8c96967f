// grbm dashboard: runs in the browser while they train.
#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <memory>

#include "grbm/dashboard/server.h"
#include "numbers.h"
#include "output.h"
#include "streams.h"

namespace grbm::app {

namespace {

Dashboard* served = nullptr;

// Ends what is served; the second signal ends the program, whatever it does.
void OnEnd(int) {
  const int before = errno;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  served->Stop();
  errno = before;
}

// Until Ctrl-C, or the same from another program.
int Serve(const DashboardOptions& options, const Common& common) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // inherited by the threads that start here: only this one sees them
  Dashboard dashboard(options);
  if (!dashboard.warning().empty()) Tell("grbm: warning: {}\n", dashboard.warning());
  const std::string host = options.host.find(':') == std::string::npos ? options.host : "[" + options.host + "]";
  PrintResults({.quiet = false, .json = common.json},
               {{"address", fmt::format("http://{}:{}/", host, dashboard.port())}});
  if (!common.quiet && !common.json) Print("shows {}; Ctrl-C ends it\n", options.folder);
  FlushOutput();
  served = &dashboard;
  std::signal(SIGINT, OnEnd);
  std::signal(SIGTERM, OnEnd);
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  dashboard.Run();
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
