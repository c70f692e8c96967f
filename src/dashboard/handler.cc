#include "dashboard/handler.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "core/json.h"
#include "dashboard/model_view.h"
#include "dashboard/page.h"
#include "dashboard/run_text.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/version.h"
#include "grbm/train/run.h"
#include "store/options_json.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using httplib::Request;
using httplib::Response;

constexpr int kMaxStreams = 16;            // of events, each of which keeps a worker
constexpr int kMaxInLine = 8;              // requests that draw, each of which keeps one, too, until its turn is over
constexpr std::size_t kMaxModels = 32;     // whose description is kept
constexpr std::size_t kMaxBody = 1 << 12;  // of what is posted
constexpr auto kTick = std::chrono::milliseconds(250);
constexpr auto kHeartbeat = std::chrono::seconds(15);

// An answer that is not the one that was asked for.
struct Refusal {
  int status;
  std::string message;
};

void SendError(Response& response, int status, const std::string& message) {
  response.status = status;
  response.set_content(JsonText(json{{"error", message}}), "application/json");
}

std::vector<std::string> Split(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// The address of a PNG file: that of the data, or one of the samples.
bool IsPicture(const std::vector<std::string>& parts) {
  if (parts.size() < 4 || parts[0] != "api" || parts[1] != "runs") return false;
  return parts.size() == 4 ? parts[3] == "data" : parts.size() == 5 && parts[3] == "pictures";
}

bool IsLoopback(const std::string& host) {
  in_addr address{};
  return host == "localhost" || host == "::1" ||
         (::inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

// "localhost" of "localhost:80", "::1" of "[::1]:80".
std::string HostName(const std::string& header) {
  if (header.starts_with("[")) return header.substr(1, header.find(']') - 1);
  return header.substr(0, header.find(':'));
}

template <typename Work>
bool Guarded(Response& response, Work work) {
  try {
    work();
    return true;
  } catch (const Refusal& refusal) {
    SendError(response, refusal.status, refusal.message);
  } catch (const IoError& error) {  // a file that has just gone
    SendError(response, 404, error.what());
  } catch (const Error& error) {
    SendError(response, 400, error.what());
  } catch (const std::exception& error) {
    SendError(response, 500, error.what());
  }
  return false;
}

}  // namespace

RequestHandler::RequestHandler(const DashboardOptions& options)
    : options_(options), max_streams_(kMaxStreams), max_in_line_(kMaxInLine), pool_(options.threads) {
  std::error_code error;
  root_ = fs::canonical(options.folder, error);
  if (error || !fs::is_directory(root_)) {
    throw IoError(fmt::format("{}: there is no such folder: give a run, or a folder of runs", options.folder));
  }
  page_ = PageHtml({{"live", true}, {"version", Version()}, {"folder", options.folder}, {"runs", json::array()}});
}

void RequestHandler::set_workers(std::size_t workers) {
  const auto count = static_cast<int>(std::min<std::size_t>(workers, 1 << 10));
  max_streams_ = std::min(kMaxStreams, count / 2);
  max_in_line_ = std::clamp(count / 4, 1, kMaxInLine);
}

// The run of that name. Names come from the folder itself: none leads out of it.
RunFolder RequestHandler::Find(const std::string& name) const {
  for (RunFolder& run : ListRuns(root_)) {
    if (run.name == name) return std::move(run);
  }
  throw Refusal{404, fmt::format("there is no run '{}'", name)};
}

ModelFile RequestHandler::LoadModel(const RunFolder& run) {
  const std::string path = ModelPath(run.path.string());
  if (!run.Has(path))
    throw Refusal{404, fmt::format("run '{}' has no model yet: it comes with a checkpoint", run.name)};
  return ReadModel(path);
}

// What changes of the runs, in short: the page asks for whatever it has an older token of.
json RequestHandler::Tokens() const {
  json runs = json::object();
  for (const RunFolder& run : ListRuns(root_)) {
    const std::string folder = run.path.string();
    runs[run.name] = {{"metrics", FileToken(run, MetricsPath(folder))},
                      {"pictures", FileToken(run, PictureFolder(folder))},
                      {"model", FileToken(run, ModelPath(folder))}};
  }
  return runs;
}

// The turn to draw, for as long as it lives. Throws Refusal where many are waiting for theirs: they would keep all
// workers from those who only read.
class RequestHandler::Turn {
 public:
  explicit Turn(RequestHandler& handler) : handler_(handler) {
    if (++handler_.in_line_ > handler_.max_in_line_) {
      --handler_.in_line_;
      throw Refusal{503, fmt::format("requests that wait for samples already: {}; try again", handler_.max_in_line_)};
    }
    handler_.drawing_.lock();
    if (handler_.stopping_) {
      Release();
      handler_.CheckGoingOn();
    }
  }
  ~Turn() { Release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  void Release() {
    handler_.drawing_.unlock();
    --handler_.in_line_;
  }

  RequestHandler& handler_;
};

// Called at every step of whatever is drawn, so that nobody waits for its end.
void RequestHandler::CheckGoingOn() const {
  if (stopping_) throw Refusal{503, "the dashboard is ending"};
}

json RequestHandler::Model(const RunFolder& run) {
  const std::string token = FileToken(run, ModelPath(run.path.string()));
  const auto known = [&]() -> std::optional<json> {
    const std::lock_guard lock(describing_);
    const auto found = models_.find(run.name);
    return found != models_.end() && found->second.first == token ? std::optional(found->second.second) : std::nullopt;
  };
  if (auto text = known()) return *text;
  const Turn turn(*this);
  if (auto text = known()) return *text;
  json text = DescribeModel(LoadModel(run), 1, pool_, [this](auto&&...) { CheckGoingOn(); });
  const std::lock_guard lock(describing_);
  if (models_.size() >= kMaxModels) models_.clear();
  models_[run.name] = {token, text};
  return text;
}

json RequestHandler::Fresh(const RunFolder& run, const std::string& body) {
  const ModelFile file = LoadModel(run);
  FreshOptions fresh;
  const SamplerOptions drawn = file.generation();
  fresh.steps = std::min(drawn.steps, kMaxShownSteps);
  fresh.temperature = drawn.temperature;
  OptionsFromJson(ParseJson(body, kMaxBody, "samples"), fresh.Fields(), "samples");
  const Turn turn(*this);
  return DrawFresh(file, fresh, pool_, [this](auto&&...) { CheckGoingOn(); });
}

json RequestHandler::Get(const std::vector<std::string>& parts, const Request& request) {
  if (parts.size() == 2) return {{"runs", Tokens()}};
  const RunFolder run = Find(parts[2]);
  if (parts.size() == 3) return DescribeRun(run, Pictures::kByAddress);
  if (parts.size() == 4 && parts[3] == "metrics") return ReadMetrics(run, request.get_param_value("token"));
  if (parts.size() == 4 && parts[3] == "times") return ReadTimes(run, request.get_param_value("token"));
  if (parts.size() == 4 && parts[3] == "pictures") return ListPictures(run, Pictures::kByAddress);
  if (parts.size() == 4 && parts[3] == "model") return Model(run);
  throw Refusal{404, "there is nothing here"};
}

json RequestHandler::Post(const std::vector<std::string>& parts, const Request& request) {
  const RunFolder run = Find(parts[2]);
  if (parts[3] == "samples") return Fresh(run, request.body);
  const ModelFile file = LoadModel(run);
  const Turn turn(*this);
  return MeasureModel(file, 1, pool_, [this](auto&&...) { CheckGoingOn(); });
}

void RequestHandler::Answer(const Request& request, Response& response) {
  const std::vector<std::string> parts = Split(request.path);
  const bool posts = parts.size() == 4 && parts[0] == "api" && (parts[3] == "samples" || parts[3] == "measure");
  if (posts != (request.method == "POST")) {
    response.set_header("Allow", posts ? "POST" : "GET, HEAD");
    throw Refusal{405,
                  fmt::format("{} is not for {}: allowed is {}", request.path, request.method, posts ? "POST" : "GET")};
  }
  if (request.path == "/") {
    response.set_content(page_, "text/html; charset=utf-8");
  } else if (request.path == "/api/events") {
    SendEvents(response);
  } else if (IsPicture(parts)) {
    const RunFolder run = Find(parts[2]);
    const auto path = parts.size() == 4 ? DataPicture(run) : PicturePath(run, parts[4]);
    if (!path || path->extension() != ".png") throw Refusal{404, "there is no such picture"};
    response.set_content(ReadFile(path->string(), {.max_bytes = kMaxPictureFile}), "image/png");
  } else if (parts.size() >= 2 && parts[0] == "api" && parts[1] == "runs") {
    response.set_content(JsonText(posts ? Post(parts, request) : Get(parts, request)), "application/json");
  } else {
    throw Refusal{404, "there is nothing here"};
  }
}

// Server-sent events: the tokens, whenever one of them has changed. Where there is no worker to spare, a stream ends with its
// first event: browsers then come again by themselves.
void RequestHandler::SendEvents(Response& response) {
  if (++streams_ > std::max(max_streams_, 1)) {
    --streams_;
    throw Refusal{503, fmt::format("pages that look on already: {}; close one", std::max(max_streams_, 1))};
  }
  response.set_header("Cache-Control", "no-store");
  response.set_chunked_content_provider(
      "text/event-stream",
      [this, last = std::string(), sent = std::chrono::steady_clock::now()](std::size_t,
                                                                            httplib::DataSink& sink) mutable {
        while (!stopping_ && (max_streams_ > 0 || last.empty())) {
          const auto now = std::chrono::steady_clock::now();
          std::string text = JsonText(Tokens());
          if (text != last || now - sent > kHeartbeat) {
            const std::string event = text != last ? "data: " + text + "\n\n" : ": still here\n\n";
            last = std::move(text);
            sent = now;
            return sink.write(event.data(), event.size());
          }
          if (!sink.is_writable()) return false;
          std::this_thread::sleep_for(kTick);
        }
        sink.done();
        return true;
      },
      [this](bool) { --streams_; });
}

// The library would put together an answer of many ranges in memory, of errors as well, and would tell clients to go on
// after they have. For browsers it would compress each answer as tightly as it can, which takes ten times as long as making
// it, to save nothing on the way to the same machine.
void RequestHandler::Prepare(Request& request) {
  if (request.ranges.size() > 1) request.ranges.clear();  // CheckCaller refuses them
  request.headers.erase("Expect");
  request.headers.erase("Accept-Encoding");
}

// Other pages in the same browser may send requests here: by a name of theirs that leads to this machine, or by posting.
void RequestHandler::CheckCaller(const Request& request) const {
  const std::string host = request.get_header_value("Host");
  if (IsLoopback(options_.host) && !IsLoopback(HostName(host))) {
    throw Refusal{403, fmt::format("the host '{}' is not this machine: use http://{}:{}/", host, options_.host, port_)};
  }
  if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
    throw Refusal{405, fmt::format("{} is not allowed: GET, HEAD and POST are", request.method)};
  }
  if (request.get_header_value("Range").find(',') != std::string::npos) {
    throw Refusal{416, "several ranges are not served at once: ask for one, or for all"};
  }
  if (request.method != "POST") return;
  if (request.has_header("Origin") && request.get_header_value("Origin") != "http://" + host) {
    throw Refusal{403, "posted by another page"};
  }
  if (!request.get_header_value("Content-Type").starts_with("application/json")) {
    throw Refusal{415, "Content-Type: application/json is needed"};
  }
}

void RequestHandler::SetUp(httplib::Server& server) {
  server.set_payload_max_length(kMaxBody);
  server.set_keep_alive_timeout(5);  // what clients are told; Connections has more patience
  // Not SO_REUSEPORT, with which two programs could share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-store"}});
  server.set_pre_routing_handler([this](const Request& request, Response& response) {
    return Guarded(response, [&] { CheckCaller(request); }) ? httplib::Server::HandlerResponse::Unhandled
                                                            : httplib::Server::HandlerResponse::Handled;
  });
  const auto answer = [this](const Request& request, Response& response) {
    Guarded(response, [&] { Answer(request, response); });
  };
  server.Get(".*", answer);
  server.Post(".*", answer);
  server.set_error_handler([](const Request&, Response& response) {
    if (response.body.empty()) SendError(response, response.status, "the request was not understood");
  });
}

}  // namespace grbm
