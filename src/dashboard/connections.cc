#include "dashboard/connections.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "grbm/core/error.h"

namespace grbm {

namespace {

constexpr int kTick = 200;                    // milliseconds between looks at the clock
constexpr std::size_t kBlock = 1 << 12;       // bytes read at a time, so that nobody is read for long
constexpr std::size_t kMaxDrained = 1 << 18;  // bytes read from a client that was told to go
constexpr int kBacklog = 512;                 // connections that the system keeps for us

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

bool StartsWith(std::string_view text, std::string_view start) {  // in any case of letters
  return text.size() >= start.size() && ::strncasecmp(text.data(), start.data(), start.size()) == 0;
}

// Of the last header of that name, which ends with its colon; empty where there is none. The head: without its empty line.
std::string_view HeaderValue(std::string_view head, std::string_view name) {
  std::string_view value;
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (!StartsWith(line, name)) continue;
    value = line.substr(std::min(line.find_first_not_of(' ', name.size()), line.size()));
  }
  return value;
}

}  // namespace

bool WaitsToGoOn(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return false;
  const std::string_view head = text.substr(0, end);
  return head.substr(0, head.find("\r\n")).ends_with(" HTTP/1.1") &&
         StartsWith(HeaderValue(head, "expect:"), "100-continue");
}

std::optional<std::size_t> RequestSize(std::string_view text, std::size_t limit) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view digits = HeaderValue(text.substr(0, end), "content-length:");
  std::size_t body = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), body);
  const std::size_t head = end + 4;
  if (body > limit) body = 0;
  return text.size() < head + body ? std::nullopt : std::optional(head + body);
}

void ByteQueue::Pop(std::size_t count) {
  taken_ += count;
  if (empty()) {
    Clear();
  } else if (taken_ > bytes_.size() / 2) {  // not each time: the rest would be moved again and again
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
}

struct Connections::Connection {
  int socket;                 // -1: dropped
  std::string received = {};  // not answered yet
  ByteQueue unsent = {};
  std::size_t request = 0;  // bytes of `received` that are being answered
  std::size_t drained = 0;
  Clock::time_point since = Clock::now();  // when it last came to an end of something, or took some bytes
  bool told_to_go_on = false;              // with the body of this request
  bool answering = false;                  // a worker has it
  bool last = false;                       // ends with the answer that is being made or sent
  bool leaving = false;                    // has been told to go
  bool hung_up = false;                    // by the client; it may still read

  // Nothing is being made or sent.
  bool idle() const { return !answering && unsent.empty(); }
  short events() const {
    if (!unsent.empty()) return POLLOUT;
    if (answering) return hung_up ? 0 : POLLRDHUP;
    return POLLIN;
  }
};

// One request, from memory; its answer, into memory.
class Connections::RequestStream : public httplib::Stream {
 public:
  RequestStream(Connections& owner, Connection& connection) : owner_(owner), connection_(connection) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override {
    const std::lock_guard lock(owner_.mutex_);
    return connection_.socket >= 0 && !connection_.hung_up && !owner_.stopping_;
  }
  ssize_t read(char* out, std::size_t size) override {  // nobody else touches `received` while this is being answered
    const std::size_t count = std::min(size, connection_.request - read_);
    std::memcpy(out, connection_.received.data() + read_, count);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, std::size_t size) override {
    {
      const std::lock_guard lock(owner_.mutex_);
      if (connection_.socket < 0 || owner_.stopping_) return -1;
      if (connection_.unsent.empty()) connection_.since = Clock::now();
      connection_.unsent.Append({data, size});
      owner_.unsent_ += size;
    }
    owner_.Wake();
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  bool read_all() const { return read_ == connection_.request; }

 private:
  Connections& owner_;
  Connection& connection_;
  std::size_t read_ = 0;
};

Connections::Connections(int listener, const ConnectionLimits& limits, Answer answer)
    : listener_(listener),
      limits_(limits),
      answer_(std::move(answer)),
      alarm_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (alarm_ < 0 || ::listen(listener_, kBacklog) != 0 || ::fcntl(listener_, F_SETFL, O_NONBLOCK) != 0) {
    const int reason = errno;
    if (alarm_ >= 0) ::close(alarm_);
    throw IoError(fmt::format("cannot wait for connections: {}", std::strerror(reason)));
  }
  StartWorkers();
}

// As many as the system lets start.
void Connections::StartWorkers() {
  try {
    workers_.reserve(limits_.threads);
    while (workers_.size() < limits_.threads) workers_.emplace_back([this] { TakeRequests(); });
  } catch (const std::exception& error) {
    if (!workers_.empty()) return;
    ::close(alarm_);
    throw IoError(
        fmt::format("cannot start a thread that answers requests: {}; end other programs, or raise the limit of "
                    "processes (ulimit -u) or of memory (ulimit -v)",
                    error.what()));
  }
}

Connections::~Connections() {
  Stop();
  {
    const std::lock_guard lock(mutex_);  // no worker is between its look at stopping_ and its sleep
    more_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
  for (const Handle& connection : connections_) Drop(*connection);
  ::close(alarm_);
}

void Connections::Stop() {
  stopping_ = true;
  Wake();
}

void Connections::Wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      ::write(alarm_, &one, sizeof(one));  // fails only where one is pending already
}

void Connections::Run() {
  std::vector<pollfd> waiting;
  std::vector<Handle> handles;
  while (!stopping_) {
    waiting = {{alarm_, POLLIN, 0}, {listener_, POLLIN, 0}};
    handles.clear();
    {
      const std::lock_guard lock(mutex_);
      for (const Handle& connection : connections_) {
        waiting.push_back({connection->socket, connection->events(), 0});
        handles.push_back(connection);
      }
    }
    ::poll(waiting.data(), waiting.size(), kTick);
    const std::lock_guard lock(mutex_);
    std::uint64_t rings = 0;
    if (waiting[0].revents != 0) [[maybe_unused]]
      const ssize_t taken = ::read(alarm_, &rings, sizeof(rings));
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (const short events = waiting[i + 2].revents; events != 0) Attend(handles[i], events);
    }
    if (waiting[1].revents != 0) Accept();
    EndLate();
    connections_.remove_if([](const Handle& connection) { return connection->socket < 0; });
  }
}

// All who have come. Where there is no room, the longest idle one makes it; where all are being answered, the new one goes.
void Connections::Accept() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if ((errno == EMFILE || errno == ENFILE) && DropOldest(false)) continue;
      return;  // nobody else has come, or only to leave again
    }
    if (connections_.size() >= limits_.connections && !DropOldest(false)) {
      ::close(socket);
      continue;
    }
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    connections_.push_back(std::make_shared<Connection>(Connection{.socket = socket}));
  }
}

void Connections::Attend(const Handle& connection, short events) {
  if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0 && (events & (POLLIN | POLLOUT)) == 0) return Drop(*connection);
  if ((events & POLLRDHUP) != 0) connection->hung_up = true;
  if ((events & POLLOUT) != 0) Send(*connection);
  if ((events & POLLIN) != 0) connection->leaving ? Drain(*connection) : Receive(connection);
  if (connection->socket >= 0) GoOn(connection);
}

void Connections::Receive(const Handle& connection) {
  char block[kBlock];
  const ssize_t count = ::recv(connection->socket, block, sizeof(block), 0);
  if (count > 0) return void(connection->received.append(block, static_cast<std::size_t>(count)));
  if (count == 0 || (errno != EAGAIN && errno != EINTR)) Drop(*connection);
}

void Connections::Send(Connection& connection) {
  const std::string_view unsent = connection.unsent.front();
  const ssize_t count = ::send(connection.socket, unsent.data(), unsent.size(), MSG_NOSIGNAL);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) Drop(connection);
    return;
  }
  unsent_ -= static_cast<std::size_t>(count);
  connection.unsent.Pop(static_cast<std::size_t>(count));
  connection.since = Clock::now();
}

// Before the connection is closed the client's last bytes are read: unread ones would reset it, and the answer with it.
void Connections::Drain(Connection& connection) {
  char block[kBlock];
  const ssize_t count = ::recv(connection.socket, block, sizeof(block), 0);
  if (count > 0 && (connection.drained += static_cast<std::size_t>(count)) < kMaxDrained) return;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  Drop(connection);
}

// What comes next, where nothing is being made or sent.
void Connections::GoOn(const Handle& connection) {
  if (!connection->idle() || connection->leaving) return;
  if (connection->last) {
    ::shutdown(connection->socket, SHUT_WR);
    connection->leaving = true;
    return;
  }
  const auto size = RequestSize(connection->received, limits_.request);
  if (!size && connection->received.size() < limits_.request) {
    if (connection->told_to_go_on || !WaitsToGoOn(connection->received)) return;
    connection->told_to_go_on = true;
    connection->unsent.Append(kContinue);
    unsent_ += kContinue.size();
    return;
  }
  connection->last = !size;
  connection->request = size.value_or(connection->received.size());
  connection->answering = true;
  requests_.push_back(connection);
  more_.notify_one();
}

void Connections::TakeRequests() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
    if (stopping_) return;
    const Handle connection = std::move(requests_.front());
    requests_.pop_front();
    lock.unlock();
    Work(connection);
    lock.lock();
  }
}

void Connections::Work(const Handle& connection) {
  RequestStream stream(*this, *connection);
  const bool again = answer_(stream) && stream.read_all();
  {
    const std::lock_guard lock(mutex_);
    connection->received.erase(0, connection->request);
    connection->request = 0;
    connection->told_to_go_on = false;
    connection->answering = false;
    connection->last = connection->last || !again;
    connection->since = Clock::now();
    if (connection->socket >= 0) GoOn(connection);
  }
  Wake();
}

void Connections::Drop(Connection& connection) {
  if (connection.socket < 0) return;
  ::close(connection.socket);
  connection.socket = -1;
  unsent_ -= connection.unsent.size();
  connection.unsent.Clear();
}

// Of those that are idle, or of those whose answers wait for them.
bool Connections::DropOldest(bool unsent) {
  Connection* oldest = nullptr;
  for (const Handle& connection : connections_) {
    if (connection->socket < 0 || (unsent ? connection->unsent.empty() : !connection->idle())) continue;
    if (oldest == nullptr || connection->since < oldest->since) oldest = connection.get();
  }
  if (oldest == nullptr) return false;
  Drop(*oldest);
  connections_.remove_if([](const Handle& connection) { return connection->socket < 0; });
  return true;
}

void Connections::EndLate() {
  const Clock::time_point late = Clock::now() - limits_.patience;
  for (const Handle& connection : connections_) {
    if (connection->since < late && (connection->idle() || !connection->unsent.empty())) Drop(*connection);
  }
  while (unsent_ > limits_.unsent && DropOldest(true)) {
  }
}

}  // namespace grbm
