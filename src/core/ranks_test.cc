#include "grbm/core/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/thread_ranks.h"

namespace grbm {
namespace {

using testing::OnRanks;

// Neighbours in order, and none has two more than another.
TEST(Ranks, SharesCoverAll) {
  for (const int ranks : {1, 2, 3, 7}) {
    for (const Index count : {0, 1, 5, 100}) {
      Index next = 0;
      for (int r = 0; r < ranks; ++r) {
        const RankShare share = ShareOfRank(r, ranks, count);
        EXPECT_EQ(share.first, next);
        EXPECT_GE(share.count, count / ranks);
        EXPECT_LE(share.count, count / ranks + 1);
        next += share.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Ranks, RowsThatAreMadeTogetherAreTheRowsOfOne) {
  for (const Index rows : {0, 1, 2, 10}) {
    const auto make = [](Index first, Index count) {
      BasicMatrix<double> made(count, 3);
      for (Index r = 0; r < count; ++r) {
        for (Index c = 0; c < 3; ++c) made(r, c) = static_cast<double>(10 * (first + r) + c);
      }
      return made;
    };
    const BasicMatrix<double> alone = make(0, rows);
    for (const int count : {1, 2, 3, 4}) {
      OnRanks(count, [&](Ranks& ranks) { EXPECT_EQ(RowsTogether<double>(ranks, rows, 3, make), alone); });
    }
  }
}

TEST(Ranks, WhatTheFirstSaysAllHear) {
  OnRanks(3, [](Ranks& ranks) {
    EXPECT_EQ(FromFirst(ranks, [&] { return std::string("of rank ") + std::to_string(ranks.rank()); }), "of rank 0");
    EXPECT_EQ(FromFirst(ranks, [] { return std::string(); }), "");
  });
}

}  // namespace
}  // namespace grbm
