#include "grbm/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "grbm/core/error.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public testing::TemporaryFolder {
 protected:
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

template <typename Action>
std::string Message(Action action) {
  try {
    action();
  } catch (const IoError& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

TEST_F(FileTest, WhatIsWrittenIsRead) {
  const std::string zeros(100000, '\0');
  const std::string_view pieces[] = {"one\n", "", zeros, "two"};
  WriteFileAtomically(Path("a"), pieces);
  EXPECT_EQ(ReadFile(Path("a")), "one\n" + zeros + "two");
  WriteFileAtomically(Path("a"), "");
  EXPECT_EQ(ReadFile(Path("a")), "");
  EXPECT_THAT(Names(), ::testing::ElementsAre("a"));
}

TEST_F(FileTest, ReadsFilesWhoseSizeIsNotKnown) {
  EXPECT_THAT(ReadFile("/proc/self/status"), HasSubstr("Pid:"));  // its size is said to be 0
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string sent(1000000, 'x');
  std::thread writer([&] {
    std::string_view left = sent;
    while (!left.empty()) {
      const ssize_t count = ::write(ends[1], left.data(), left.size());
      if (count <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(count));
    }
    ::close(ends[1]);
  });
  EXPECT_EQ(ReadFile("/proc/self/fd/" + std::to_string(ends[0])), sent);
  writer.join();
  ::close(ends[0]);
}

// A pipe without a writer would hold a reader for ever, and /dev/zero never ends.
TEST_F(FileTest, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0666), 0);
  fs::create_symlink("fifo", Path("link"));
  fs::create_symlink("/dev/zero", Path("zero"));
  fs::create_symlink("loop", Path("loop"));
  for (const char* name : {"fifo", "link", "zero"}) {
    EXPECT_EQ(Message([&] { ReadFile(Path(name)); }), Path(name) + ": cannot read: not a regular file");
  }
  EXPECT_EQ(Message([&] { ReadFile("/dev/null"); }), "/dev/null: cannot read: not a regular file");
  EXPECT_THAT(Message([&] { ReadFile(Path("loop")); }), HasSubstr("cannot open: Too many levels of symbolic links"));
}

TEST_F(FileTest, ReadsPartsAndNoMoreThanItsReaderCanBear) {
  WriteFileAtomically(Path("a"), "0123456789");
  EXPECT_EQ(ReadFile(Path("a"), {.offset = 4}), "456789");
  EXPECT_EQ(ReadFile(Path("a"), {.offset = 10}), "");
  EXPECT_EQ(ReadFile(Path("a"), {.offset = 11}), "");
  EXPECT_EQ(ReadFile(Path("a"), {.max_bytes = 10}), "0123456789");
  EXPECT_EQ(ReadFile(Path("a"), {.offset = 4, .max_bytes = 6}), "456789");
  EXPECT_EQ(Message([&] { ReadFile(Path("a"), {.max_bytes = 9}); }),
            Path("a") + ": cannot read: more than the 9 bytes that are allowed here");
  // A file of a terabyte that takes no room: refused by its size, before memory is asked for.
  WriteFileAtomically(Path("sparse"), "");
  fs::resize_file(Path("sparse"), std::uintmax_t{1} << 40);
  EXPECT_THAT(Message([&] { ReadFile(Path("sparse"), {.max_bytes = 1 << 20}); }), HasSubstr("more than the 1048576"));
  EXPECT_THAT(Message([&] { ReadFile("/proc/self/status", {.max_bytes = 10}); }), HasSubstr("more than the 10 bytes"));
}

TEST_F(FileTest, ReadingFailsWithThePathAndTheReason) {
  EXPECT_EQ(Message([&] { ReadFile(Path("none")); }), Path("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(Message([&] { ReadFile(folder_.string()); }), folder_.string() + ": cannot read: Is a directory");
}

TEST_F(FileTest, WritingFailsWithThePathAndTheReason) {
  WriteFileAtomically(Path("file"), "old");
  EXPECT_EQ(Message([&] { WriteFileAtomically(Path("none/a"), "x"); }),
            Path("none/a") + ": cannot write: No such file or directory");
  EXPECT_EQ(Message([&] { WriteFileAtomically(Path("file/a"), "x"); }),
            Path("file/a") + ": cannot write: Not a directory");
  EXPECT_EQ(Message([&] { WriteFileAtomically(folder_.string(), "x"); }),
            folder_.string() + ": cannot write: Is a directory");
  EXPECT_EQ(Message([] { WriteFileAtomically("/dev/full", "x"); }), "/dev/full: cannot write: No space left on device");
  EXPECT_NE(Message([] { WriteFileAtomically("", "x"); }), "(nothing was thrown)");
  EXPECT_EQ(ReadFile(Path("file")), "old");
  EXPECT_THAT(Names(), ::testing::ElementsAre("file"));
}

// A limit on the size of files stands for a full disk: the write is cut short, then fails.
void WriteWithLimit(const std::string& path, rlim_t limit) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limits = {limit, limit};
  if (::setrlimit(RLIMIT_FSIZE, &limits) != 0) ::_exit(3);
  const std::string message = Message([&] { WriteFileAtomically(path, std::string(100000, 'n')); });
  ::_exit(message == path + ": cannot write: File too large" ? 0 : 1);
}

TEST_F(FileTest, AFullDiskLeavesTheOldFileAndNoTemporary) {
  WriteFileAtomically(Path("a"), "old");
  EXPECT_EXIT(WriteWithLimit(Path("a"), 5000), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(ReadFile(Path("a")), "old");
  EXPECT_THAT(Names(), ::testing::ElementsAre("a"));
}

TEST_F(FileTest, LinksAndPermissionsStay) {
  WriteFileAtomically(Path("a"), "old");
  fs::permissions(Path("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", Path("link"));
  fs::create_symlink("new", Path("dangling"));
  WriteFileAtomically(Path("link"), "through");
  WriteFileAtomically(Path("dangling"), "made");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(ReadFile(Path("a")), "through");
  EXPECT_EQ(fs::status(Path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(ReadFile(Path("new")), "made");
}

TEST_F(FileTest, DevicesAreWrittenIntoAndNeverReplaced) {
  WriteFileAtomically("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, TheLongestNameTheSystemTakesWorks) {
  const std::string name(255, 'n');
  WriteFileAtomically(Path(name), "x");
  EXPECT_EQ(ReadFile(Path(name)), "x");
}

TEST_F(FileTest, ThreadsWritingOneNameLeaveOneWholeFile) {
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([this, t] {
      for (int i = 0; i < 20; ++i) {
        WriteFileAtomically(Path("a"), std::string(10000, static_cast<char>('a' + t)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string contents = ReadFile(Path("a"));
  EXPECT_EQ(contents, std::string(10000, contents[0]));
  EXPECT_THAT(Names(), ::testing::ElementsAre("a"));
}

}  // namespace
}  // namespace grbm
