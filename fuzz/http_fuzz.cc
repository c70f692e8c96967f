// Requests to the dashboard, without sockets: the input is what a client sends, one request after the other.
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "dashboard/connections.h"
#include "dashboard/handler.h"
#include "dashboard/page.h"
#include "fuzz.h"
#include "grbm/core/file.h"
#include "grbm/train/config.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
namespace grbm {

// In place of the page that the build embeds.
const std::string_view kPageText = "GRBM_DATA";

}  // namespace grbm
#endif

namespace {

class MemoryStream : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view input) : input_(input) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* out, std::size_t size) override {
    const std::size_t count = std::min(size, input_.size());
    input_.copy(out, count);
    input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char*, std::size_t size) override { return static_cast<ssize_t>(size); }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  bool empty() const { return input_.empty(); }

 private:
  std::string_view input_;
};

class MemoryServer : public httplib::Server {
 public:
  // False at the end of the connection.
  bool Serve(httplib::Stream& stream) {
    bool closed = false;
    return process_request(stream, false, closed, grbm::RequestHandler::Prepare) && !closed;
  }
};

// A folder with one run, which has no model: drawing would take the time of a thousand requests.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("grbm-fuzz-" + std::to_string(::getpid()));

  Folder() {
    const std::string run = (path / "run").string();
    grbm::MakeFolder(run + "/samples");
    grbm::WriteFileAtomically(run + "/config.toml", grbm::ConfigText({}));
    grbm::WriteFileAtomically(run + "/manifest.json", R"({"seed":1,"data":{"rows":10}})");
    grbm::WriteFileAtomically(run + "/metrics.jsonl", "{\"update\":1,\"x\":2.5}\n{\"update\":2,\"x\":3}\n");
    grbm::WriteFileAtomically(run + "/samples/000000000001.json", "[[1,2]]");
    grbm::WriteFileAtomically(run + "/samples/000000000002.png", "not looked into");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

struct Dashboard {
  Folder folder;
  grbm::RequestHandler handler{{.folder = folder.path.string()}};
  MemoryServer server;

  Dashboard() {
    handler.SetUp(server);
    handler.Stop();  // a stream of events ends at once
  }
};

}  // namespace

GRBM_FUZZ_TARGET(Http, input) {
  static Dashboard dashboard;
  const auto size = grbm::RequestSize(input, 1 << 12);
  if (size && *size > input.size()) std::abort();
  MemoryStream stream(input);
  for (int requests = 0; requests < 8 && !stream.empty(); ++requests) {
    if (!dashboard.server.Serve(stream)) break;
  }
}
