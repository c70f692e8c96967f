// The connections of a web server, however many there are and whatever their clients do. One thread waits for all of them:
// a worker gets a request when all of it is there, and an answer is sent as fast as its client takes it. Who sends slowly,
// or not at all, or never reads, costs a file descriptor and some memory for a while, and no thread.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace grbm {

struct ConnectionLimits {
  std::size_t threads = 32;           // that make answers; fewer where the system starts no more
  std::size_t connections = 512;      // beyond which the one that has been idle longest makes room for a new one
  std::size_t request = 1 << 14;      // bytes of a request
  std::size_t unsent = 64 << 20;      // bytes of all answers that wait for their clients
  std::chrono::seconds patience{10};  // with a client that neither sends a whole request nor takes what it is sent
};

// The bytes of the request at the beginning of the text: none where they are not there yet. What the length of a body is
// said to be counts up to `limit`; otherwise the request ends with its headers, and the server's own parser refuses it.
std::optional<std::size_t> RequestSize(std::string_view text, std::size_t limit);

// Whether the headers are there, and say that the client sends the body only when it is told to go on.
bool WaitsToGoOn(std::string_view text);

// Bytes that are taken in the order in which they came.
class ByteQueue {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return bytes_.size() - taken_; }
  std::string_view front() const { return std::string_view(bytes_).substr(taken_); }  // all of them

  void Append(std::string_view bytes) { bytes_.append(bytes); }
  void Pop(std::size_t count);
  void Clear() { *this = {}; }  // and its memory

 private:
  std::string bytes_;
  std::size_t taken_ = 0;  // of the first
};

class Connections {
 public:
  // Reads one request from the stream and writes its answer. False: the connection ends with it. Is called on many threads.
  using Answer = std::function<bool(httplib::Stream&)>;

  // listener: a socket that listens; not owned. Throws IoError where nobody could be answered.
  Connections(int listener, const ConnectionLimits& limits, Answer answer);
  ~Connections();

  // Threads that make answers: at least one.
  std::size_t threads() const { return workers_.size(); }

  // Serves until Stop, which may be called on any thread and in a signal handler. Answers that are being made then come to
  // their end unsent.
  void Run();
  void Stop();

 private:
  struct Connection;
  class RequestStream;
  using Clock = std::chrono::steady_clock;
  using Handle = std::shared_ptr<Connection>;

  void Wake() const;
  void Accept();
  void Attend(const Handle& connection, short events);
  void Receive(const Handle& connection);
  void Send(Connection& connection);
  void Drain(Connection& connection);
  void GoOn(const Handle& connection);
  void StartWorkers();
  void TakeRequests();
  void Work(const Handle& connection);
  void Drop(Connection& connection);
  bool DropOldest(bool unsent);
  void EndLate();

  int listener_;
  ConnectionLimits limits_;
  Answer answer_;
  int alarm_;  // wakes the thread that waits
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // guards the connections, the requests and the sum
  std::list<Handle> connections_;
  std::size_t unsent_ = 0;
  std::condition_variable more_;
  std::deque<Handle> requests_;  // that wait for a worker
  std::vector<std::thread> workers_;
};

}  // namespace grbm
