// The page of a report, live: a folder of runs on a web server.
#pragma once

#include <memory>
#include <string>

namespace grbm {

struct DashboardOptions {
  std::string folder;  // a run, or a folder of runs
  std::string host = "127.0.0.1";
  int port = 0;     // 0: any that is free
  int threads = 1;  // that draw samples
};

// Shows the runs and nothing outside of the folder; what leads out of it by links is not there. On a loopback address it
// answers only those who call it by a name of this machine, so that no other page can read it through a name of its own.
class Dashboard {
 public:
  // Listens from here on. Throws ConfigError or IoError where that cannot be.
  explicit Dashboard(const DashboardOptions& options);
  ~Dashboard();

  int port() const;
  // What there is too little of, in one line: empty where nothing is.
  std::string warning() const;
  // Answers until Stop, which may be called on any thread and in a signal handler.
  void Run();
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grbm
