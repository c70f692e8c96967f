// Ranks that are threads of one process.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "grbm/core/ranks.h"

namespace grbm::testing {

// What is on its way between all of them.
class Mail {
 public:
  void Put(int from, int to, std::span<const std::byte> bytes) {
    {
      const std::lock_guard lock(mutex_);
      letters_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    }
    arrived_.notify_all();
  }
  void Take(int from, int to, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    std::deque<std::vector<std::byte>>& letters = letters_[{from, to}];
    arrived_.wait(lock, [&] { return !letters.empty(); });
    if (letters.front().size() != bytes.size()) throw std::logic_error("a letter of another size than was expected");
    std::ranges::copy(letters.front(), bytes.begin());
    letters.pop_front();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> letters_;
};

class ThreadRank : public Ranks {
 public:
  ThreadRank(int rank, int count, Mail& mail) : rank_(rank), count_(count), mail_(mail) {}

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  void Send(int to, std::span<const std::byte> bytes) override { sent_.push_back({to, bytes}); }
  void Receive(int from, std::span<std::byte> bytes) override { wanted_.push_back({from, bytes}); }
  // What was sent is read here, as late as it may be: memory that was changed too early shows.
  void Wait() override {
    for (const auto& [to, bytes] : sent_) mail_.Put(rank_, to, bytes);
    for (const auto& [from, bytes] : wanted_) mail_.Take(from, rank_, bytes);
    sent_.clear();
    wanted_.clear();
  }

 private:
  int rank_;
  int count_;
  Mail& mail_;
  std::vector<std::pair<int, std::span<const std::byte>>> sent_;
  std::vector<std::pair<int, std::span<std::byte>>> wanted_;
};

// Calls work(ranks) on so many ranks at once, and waits for all.
inline void OnRanks(int count, const std::function<void(Ranks&)>& work) {
  Mail mail;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank ranks(rank, count, mail);
      work(ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace grbm::testing
