#include "core/folder_lock.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

using ::testing::MatchesRegex;

class FolderLockTest : public testing::TemporaryFolder {};

TEST_F(FolderLockTest, OneHoldsItAndIsNamed) {
  FolderLock second(Path("lock"));
  {
    FolderLock first(Path("lock"));
    EXPECT_TRUE(first.Try());
    EXPECT_FALSE(second.Try());
    EXPECT_THAT(
        second.Holder(),
        MatchesRegex(fmt::format("process {} on .+ since [0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+ UTC", ::getpid())));
  }
  EXPECT_EQ(ReadFile(Path("lock")), "") << "a name that is no longer true";
  EXPECT_TRUE(second.Try());
}

TEST_F(FolderLockTest, AKilledProcessLetsGoOfIt) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FolderLock lock(Path("lock"));
    const char held = lock.Try() ? '1' : '0';
    if (::write(ready[1], &held, 1) == 1) ::pause();
    ::_exit(0);
  }
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, '1');
  FolderLock lock(Path("lock"));
  EXPECT_FALSE(lock.Try());
  EXPECT_EQ(lock.Holder().find(fmt::format("process {} on ", child)), 0u);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(lock.Wait([] { return true; }));
}

TEST_F(FolderLockTest, WaitingEndsWhenAskedTo) {
  FolderLock first(Path("lock"));
  ASSERT_TRUE(first.Try());
  FolderLock second(Path("lock"));
  int asked = 0;
  EXPECT_FALSE(second.Wait([&] { return ++asked == 2; }));
}

TEST_F(FolderLockTest, WhatAFileSaysIsShownOnlyIfItIsAName) {
  FolderLock first(Path("lock"));
  ASSERT_TRUE(first.Try());
  FolderLock second(Path("lock"));
  EXPECT_FALSE(second.Try());
  for (const char* text : {"", "\x1b[2J", "\n"}) {
    ASSERT_EQ(::truncate(Path("lock").c_str(), 0), 0);
    std::FILE* file = std::fopen(Path("lock").c_str(), "r+");
    std::fputs(text, file);
    std::fclose(file);
    EXPECT_EQ(second.Holder(), "another process");
  }
}

TEST_F(FolderLockTest, AFolderThatIsMissingIsAnError) {
  FolderLock lock(Path("none/lock"));
  EXPECT_THROW(lock.Try(), IoError);
}

}  // namespace
}  // namespace grbm
