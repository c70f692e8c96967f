#include "grbm/dashboard/server.h"

#include <fmt/core.h>
#include <httplib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dashboard/connections.h"
#include "dashboard/handler.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

// A server whose connections are attended to by Connections.
class Listener : public httplib::Server {
 public:
  ~Listener() override {
    if (svr_sock_ != INVALID_SOCKET) ::close(svr_sock_);
  }
  int socket() const { return svr_sock_; }
  bool Answer(httplib::Stream& stream) {
    bool closed = false;
    return process_request(stream, false, closed, RequestHandler::Prepare) && !closed;
  }
};

// The port that the server now listens on.
int Bind(httplib::Server& server, const DashboardOptions& options) {
  errno = 0;
  const int port = options.port == 0 ? server.bind_to_any_port(options.host)
                                     : (server.bind_to_port(options.host, options.port) ? options.port : -1);
  if (port > 0) return port;
  const int reason = errno;
  if (reason == EADDRINUSE) {
    throw IoError(fmt::format("port {} of {} is taken: give another with --port, or --port 0 for any that is free",
                              options.port, options.host));
  }
  throw IoError(fmt::format("cannot listen on port {} of {}: {}", options.port, options.host,
                            reason != 0 ? std::strerror(reason) : "not an address of this machine"));
}

}  // namespace

struct Dashboard::State {
  explicit State(const DashboardOptions& options)
      : handler(options),
        port((handler.SetUp(server), Bind(server, options))),
        connections(server.socket(), ConnectionLimits(),
                    [this](httplib::Stream& stream) { return server.Answer(stream); }) {
    handler.set_port(port);
    handler.set_workers(connections.threads());
  }

  RequestHandler handler;
  Listener server;
  int port;
  Connections connections;
};

Dashboard::Dashboard(const DashboardOptions& options) : state_(std::make_unique<State>(options)) {}

Dashboard::~Dashboard() { Stop(); }

int Dashboard::port() const { return state_->port; }

std::string Dashboard::warning() const {
  const std::size_t threads = state_->connections.threads();
  const std::size_t wanted = ConnectionLimits().threads;
  if (threads == wanted) return "";
  return fmt::format("the system starts no more than {} of {} threads that answer: few can look on at a time", threads,
                     wanted);
}

void Dashboard::Run() { state_->connections.Run(); }

void Dashboard::Stop() {
  state_->handler.Stop();
  state_->connections.Stop();
}

}  // namespace grbm
