#include "dashboard/connections.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace grbm {
namespace {

using std::chrono::milliseconds;

// A socket that is closed with it.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

  bool Send(const std::string& text) const {
    return ::send(number_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // What comes within ten seconds, up to that many bytes, or to the end of the connection.
  std::string Read(std::size_t size) const {
    std::string text(size, ' ');
    std::size_t done = 0;
    for (ssize_t count = 1; count > 0 && done < size; done += static_cast<std::size_t>(std::max<ssize_t>(count, 0))) {
      count = ::recv(number_, text.data() + done, size - done, 0);
    }
    return text.substr(0, done);
  }

 private:
  int number_;
};

TEST(ByteQueue, GivesWhatItWasGivenInPiecesOfAnySize) {
  ByteQueue queue;
  std::string given;
  std::string taken;
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::string text(i % 7, static_cast<char>('a' + i % 26));
    given += text;
    queue.Append(text);
    const std::size_t count = std::min(i % 5, queue.size());
    taken += queue.front().substr(0, count);
    queue.Pop(count);
    ASSERT_EQ(queue.size(), given.size() - taken.size());
    ASSERT_EQ(queue.empty(), queue.size() == 0);
  }
  EXPECT_EQ(taken + std::string(queue.front()), given);
  queue.Pop(queue.size());
  EXPECT_TRUE(queue.empty());
  queue.Append("abc");
  queue.Pop(1);
  queue.Clear();
  EXPECT_EQ(queue.size(), 0u);
}

TEST(ByteQueue, SmallPiecesOfMuchCostNoMoreThanTheirBytes) {
  ByteQueue queue;
  queue.Append(std::string(32 << 20, 'x'));
  const std::clock_t start = std::clock();
  while (!queue.empty()) queue.Pop(std::min<std::size_t>(1000, queue.size()));
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 8);  // of processor time; a minute otherwise
}

// A server on this machine whose answer to a request is its first line, and then `body`. "bye" is the last one.
class ConnectionsTest : public ::testing::Test {
 protected:
  void Start(const ConnectionLimits& limits) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    ASSERT_EQ(::bind(listener_.number(), reinterpret_cast<sockaddr*>(&address_), size), 0);
    ASSERT_EQ(::listen(listener_.number(), 5), 0);
    ASSERT_EQ(::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
    connections_.emplace(listener_.number(), limits, [this](httplib::Stream& stream) {
      std::string request;
      char byte = 0;
      while (stream.read(&byte, 1) == 1) request += byte;
      const std::string line = request.substr(0, request.find("\r\n")) + "\n";
      stream.write(line.data(), line.size());
      if (!body.empty()) stream.write(body.data(), body.size());
      return line != "bye\n";
    });
    serving_ = std::thread([this] { connections_->Run(); });
  }
  void TearDown() override {
    connections_->Stop();
    serving_.join();
    connections_.reset();
  }

  Socket Connect() const {
    Socket client(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(::connect(client.number(), reinterpret_cast<const sockaddr*>(&address_), sizeof(address_)), 0);
    const timeval limit = {10, 0};
    ::setsockopt(client.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return client;
  }

  std::string body;

 private:
  Socket listener_ = Socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address_ = {};
  std::optional<Connections> connections_;
  std::thread serving_;
};

TEST_F(ConnectionsTest, AnswersRequestsThatComeInPiecesOrTogether) {
  Start({});
  const Socket client = Connect();
  for (const char* piece : {"on", "e\r\n", "A: b\r\nContent-Le", "ngth: 3\r", "\n\r\nab"}) {
    EXPECT_TRUE(client.Send(piece));
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(client.Send("ctwo\r\n\r\nthree\r\ncontent-length:2\r\n\r\n\r\nbye\r\n\r\nnobody reads this"));
  EXPECT_EQ(client.Read(100), "one\ntwo\nthree\nbye\n");
}

TEST_F(ConnectionsTest, SilentAndSlowClientsKeepNobodyWaitingAndAreSentAway) {
  Start({.threads = 1, .patience = std::chrono::seconds(1)});
  std::vector<Socket> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(Connect());
    EXPECT_TRUE(silent.back().Send(std::string("half of a request").substr(0, static_cast<std::size_t>(i % 18))));
  }
  const Socket slow = Connect();
  const Socket polite = Connect();
  EXPECT_TRUE(polite.Send("me\r\n\r\n"));
  EXPECT_EQ(polite.Read(3), "me\n");
  int sent = 0;  // a byte at a time: the time for the whole request counts
  while (sent < 500 && slow.Send("x")) {
    std::this_thread::sleep_for(milliseconds(20));
    ++sent;
  }
  EXPECT_LT(sent, 500);
  for (const Socket& client : silent) EXPECT_EQ(client.Read(1), "");
}

TEST_F(ConnectionsTest, TheLongestIdleOneMakesRoom) {
  Start({.threads = 1, .connections = 3});  // a worker that has taken the next request is done with the one before
  std::vector<Socket> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Connect());
    EXPECT_TRUE(clients.back().Send("a\r\n\r\n"));
    EXPECT_EQ(clients.back().Read(2), "a\n");
  }
  EXPECT_TRUE(clients[0].Send("b\r\n\r\n"));  // is no longer the one
  EXPECT_EQ(clients[0].Read(2), "b\n");
  const Socket fourth = Connect();
  EXPECT_TRUE(fourth.Send("c\r\n\r\n"));
  EXPECT_EQ(fourth.Read(2), "c\n");
  EXPECT_EQ(clients[1].Read(1), "");
  for (const int other : {0, 2}) {
    EXPECT_TRUE(clients[static_cast<std::size_t>(other)].Send("d\r\n\r\n"));
    EXPECT_EQ(clients[static_cast<std::size_t>(other)].Read(2), "d\n");
  }
}

TEST_F(ConnectionsTest, AnswersThatNobodyReadsDoNotPileUp) {
  body = std::string(16 << 20, 'x');  // more than the system keeps
  Start({.threads = 1, .unsent = 40 << 20});
  std::vector<Socket> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(Connect());
    EXPECT_TRUE(clients.back().Send("a\r\n\r\nb\r\n\r\n"));
  }
  const Socket polite = Connect();
  EXPECT_TRUE(polite.Send("me\r\n\r\n"));
  EXPECT_EQ(polite.Read(3 + body.size()).size(), 3 + body.size());
  EXPECT_LT(clients[0].Read(3 + body.size()).size(), 3 + body.size());  // the first to have been slow was sent away
}

TEST_F(ConnectionsTest, ClientsThatWaitForTheWordAreToldToGoOn) {
  Start({.threads = 1});
  const std::string word = "HTTP/1.1 100 Continue\r\n\r\n";
  const Socket client = Connect();
  for (const char* expect : {"Expect: 100-continue", "expect:100-Continue"}) {  // on one connection
    const std::string head = std::string("POST / HTTP/1.1\r\nContent-Length: 5\r\n") + expect + "\r\n\r\n";
    EXPECT_TRUE(client.Send(head));
    EXPECT_EQ(client.Read(word.size()), word);
    EXPECT_TRUE(client.Send("ab"));
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_TRUE(client.Send("cde" + head + "abcde"));  // the next one does not wait
    const std::string answers = "POST / HTTP/1.1\nPOST / HTTP/1.1\n";
    EXPECT_EQ(client.Read(answers.size()), answers);
  }
  EXPECT_TRUE(client.Send("bye\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.Read(100), "bye\n");
  EXPECT_FALSE(WaitsToGoOn("POST / HTTP/1.1\r\nExpect: 100-continue\r\n"));  // not whole
  EXPECT_FALSE(WaitsToGoOn("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_FALSE(WaitsToGoOn("POST / HTTP/1.1\r\nExpect: more\r\n\r\n"));
  EXPECT_FALSE(WaitsToGoOn("POST / HTTP/1.1\r\n\r\nExpect: 100-continue\r\n\r\n"));
}

TEST_F(ConnectionsTest, EndlessRequestsAreAnsweredAndEnd) {
  Start({.request = 1 << 10});
  const Socket client = Connect();
  const std::string line = "X: " + std::string(100, 'y') + "\r\n";
  EXPECT_TRUE(client.Send("endless\r\n"));
  for (int i = 0; i < 100 && client.Send(line); ++i) {
  }
  EXPECT_EQ(client.Read(1000), "endless\n");
  const Socket liar = Connect();
  EXPECT_TRUE(liar.Send("liar\r\nContent-Length: 99999999999999999999999\r\n\r\nbye\r\n\r\n"));
  EXPECT_EQ(liar.Read(1000), "liar\nbye\n");
}

TEST_F(ConnectionsTest, ClientsThatVanishLeaveNothing) {
  body = std::string(1 << 20, 'x');
  Start({.connections = 8});
  for (int i = 0; i < 100; ++i) {
    const Socket client = Connect();
    if (i % 4 > 0) client.Send("a\r\n\r\n");
    if (i % 4 > 1) client.Read(10);
    const linger at_once = {1, 0};
    if (i % 4 > 2) ::setsockopt(client.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  const Socket polite = Connect();
  EXPECT_TRUE(polite.Send("bye\r\n\r\n"));
  EXPECT_EQ(polite.Read(5 + body.size()).size(), 4 + body.size());
}

}  // namespace
}  // namespace grbm
