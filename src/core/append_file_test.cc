#include "core/append_file.h"

#include <gtest/gtest.h>

#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "support/temporary_folder.h"

namespace grbm {
namespace {

class AppendFileTest : public testing::TemporaryFolder {};

TEST_F(AppendFileTest, TextIsThereAtOnceAndAfterWhatWasThere) {
  WriteFileAtomically(Path("a"), "one\n");
  AppendFile file(Path("a"));
  file.Append("two\n");
  EXPECT_EQ(ReadFile(Path("a")), "one\ntwo\n");
  file.Sync();
  file.Append("three\n");
  file.Close();
  EXPECT_EQ(ReadFile(Path("a")), "one\ntwo\nthree\n");
}

TEST_F(AppendFileTest, FailuresAreReported) {
  EXPECT_THROW(AppendFile(Path("none/a")), IoError);
  AppendFile full("/dev/full");
  EXPECT_THROW(full.Append("x"), IoError);
  full.Close();
  EXPECT_THROW(full.Append("x"), IoError);
}

}  // namespace
}  // namespace grbm
