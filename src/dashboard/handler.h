// What the dashboard answers, apart from the sockets that it answers on.
#pragma once

#include <httplib.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dashboard/run_view.h"
#include "grbm/core/parallel.h"
#include "grbm/dashboard/server.h"
#include "grbm/store/model_file.h"

namespace grbm {

class RequestHandler {
 public:
  // Throws IoError where there is no such folder, ConfigError where the page was not built.
  explicit RequestHandler(const DashboardOptions& options);

  // Routes and limits of a server that answers by this handler, which must outlive it.
  void SetUp(httplib::Server& server);
  // What the server must call with each request before it is answered.
  static void Prepare(httplib::Request& request);
  // Ends the streams of events, and drawing.
  void Stop() { stopping_ = true; }
  // For messages.
  void set_port(int port) { port_ = port; }
  // How many threads call this handler: where there are few, streams and drawing leave some of them to the others.
  void set_workers(std::size_t workers);

 private:
  using json = nlohmann::ordered_json;
  using Request = httplib::Request;
  using Response = httplib::Response;

  class Turn;

  void CheckGoingOn() const;

  RunFolder Find(const std::string& name) const;
  static ModelFile LoadModel(const RunFolder& run);
  json Tokens() const;
  json Model(const RunFolder& run);
  json Fresh(const RunFolder& run, const std::string& body);
  json Get(const std::vector<std::string>& parts, const Request& request);
  json Post(const std::vector<std::string>& parts, const Request& request);
  void Answer(const Request& request, Response& response);
  void SendEvents(Response& response);
  void CheckCaller(const Request& request) const;

  DashboardOptions options_;
  std::filesystem::path root_;
  std::string page_;
  int port_ = 0;
  int max_streams_;
  int max_in_line_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> streams_ = 0;
  std::atomic<int> in_line_ = 0;
  std::mutex drawing_;  // guards the pool
  ThreadPool pool_;
  std::mutex describing_;                                       // guards the models
  std::map<std::string, std::pair<std::string, json>> models_;  // by run: of which file, and what was said of it
};

}  // namespace grbm
