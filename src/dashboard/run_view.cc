#include "dashboard/run_view.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>

#include "core/number.h"
#include "dashboard/run_text.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/train/run.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr std::size_t kMaxPictures = 1000;

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0u;
    };
    const std::uint32_t word = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kDigits[word >> 18];
    text += kDigits[word >> 12 & 63];
    text += i + 1 < bytes.size() ? kDigits[word >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits[word & 63] : '=';
  }
  return text;
}

// An identity and a size: a file that was replaced has another identity.
struct FileState {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t time = 0;  // of the last change, in nanoseconds
};

std::optional<FileState> Look(const RunFolder& run, const fs::path& file) {
  struct ::stat found {};
  if (!run.Has(file) || ::stat(file.c_str(), &found) != 0) return std::nullopt;
  return FileState{found.st_ino, static_cast<std::uint64_t>(found.st_size),
                   found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec};
}

// The whole lines of a file from an offset on, and where they end.
std::pair<std::string, std::uint64_t> ReadLines(const fs::path& path, std::uint64_t offset) {
  std::string text = ReadFile(path.string(), {.offset = offset, .max_bytes = kMaxMetricsFile});
  const std::size_t end = text.rfind('\n');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return {text, offset + text.size()};
}

// What was added to a file of lines since the answer that gave a token: the file's identity and the end of what was read.
struct NewLines {
  std::string text;
  std::string token = {};
  bool from_start = true;
};

NewLines ReadNewLines(const RunFolder& run, const std::string& path, const std::string& token) {
  const auto state = Look(run, path);
  if (!state) return {};
  const std::size_t dash = std::min(token.find('-'), token.size());
  const auto inode = NumberIn<std::uint64_t>(std::string_view(token).substr(0, dash));
  const auto size = NumberIn<std::uint64_t>(std::string_view(token).substr(std::min(dash + 1, token.size())));
  const bool goes_on = inode == state->inode && size && *size <= state->size;
  auto [text, end] = ReadLines(path, goes_on ? *size : 0);
  return {std::move(text), fmt::format("{}-{}", state->inode, end), !goes_on};
}

std::optional<std::uint64_t> PictureUpdate(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending != ".png" && ending != ".json") return std::nullopt;
  return NumberIn<std::uint64_t>(path.stem().string());
}

std::string ReadSmall(const fs::path& path) { return ReadFile(path.string(), {.max_bytes = kMaxJsonFile}); }

// {image: ...} or {points}; null where the file is not what it should be. address: of the picture, from that of the run.
json DescribePicture(const fs::path& path, Pictures pictures, const std::string& address) {
  if (path.extension() == ".json") {
    json points = PicturePoints(ReadSmall(path));
    return points.is_null() ? json() : json{{"points", std::move(points)}};
  }
  if (pictures == Pictures::kByAddress) return {{"image", address}};
  return {{"image", PngUri(ReadFile(path.string(), {.max_bytes = kMaxPictureFile}))}};
}

}  // namespace

bool RunFolder::Has(const fs::path& file) const {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  return root.empty() || std::ranges::mismatch(root, real).in1 == root.end();
}

std::vector<RunFolder> ListRuns(const fs::path& root) {
  std::error_code error;
  const auto holds_run = [](const RunFolder& run) { return run.Has(ManifestPath(run.path.string())); };
  const RunFolder itself{root.filename().string(), root, root};
  if (holds_run(itself)) return {itself};
  std::vector<RunFolder> runs;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    RunFolder run{entry.path().filename().string(), entry.path(), root};
    if (holds_run(run)) runs.push_back(std::move(run));
  }
  std::ranges::sort(runs, {}, &RunFolder::name);
  return runs;
}

std::string PngUri(std::string_view png) { return "data:image/png;base64," + Base64(png); }

std::string FileToken(const RunFolder& run, const fs::path& file) {
  const auto state = Look(run, file);
  return state ? fmt::format("{}-{}-{}", state->inode, state->size, state->time) : "";
}

json ReadMetrics(const RunFolder& run, const std::string& token) {
  const NewLines lines = ReadNewLines(run, MetricsPath(run.path.string()), token);
  return {{"token", lines.token}, {"from_start", lines.from_start}, {"columns", MetricColumns(lines.text)}};
}

json ReadTimes(const RunFolder& run, const std::string& token) {
  const NewLines lines = ReadNewLines(run, TimesPath(run.path.string()), token);
  json columns = MetricColumns(lines.text);
  json times = json::object();
  for (const char* name : {"update", "seconds"}) {
    if (columns.contains(name)) times[name] = std::move(columns[name]);
  }
  return {
      {"token", lines.token}, {"from_start", lines.from_start}, {"columns", times}, {"starts", RunStarts(lines.text)}};
}

std::optional<fs::path> PicturePath(const RunFolder& run, std::string_view update) {
  const auto number = NumberIn<std::uint64_t>(update);
  if (!number) return std::nullopt;
  for (const char* ending : {".png", ".json"}) {
    const fs::path path = fs::path(PictureFolder(run.path.string())) / fmt::format("{:012}{}", *number, ending);
    if (run.Has(path)) return path;
  }
  return std::nullopt;
}

std::optional<fs::path> DataPicture(const RunFolder& run) {
  for (const char* ending : {".png", ".json"}) {
    const fs::path path = DataPicturePath(run.path.string()) + ending;
    if (run.Has(path)) return path;
  }
  return std::nullopt;
}

json DescribeData(const RunFolder& run, Pictures pictures) {
  const auto path = DataPicture(run);
  return path ? DescribePicture(*path, pictures, "data") : json();
}

json ListPictures(const RunFolder& run, Pictures pictures) {
  std::vector<std::uint64_t> updates;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(PictureFolder(run.path.string()), error)) {
    const auto update = PictureUpdate(entry.path());
    if (update && updates.size() < kMaxPictures) updates.push_back(*update);
  }
  std::ranges::sort(updates);
  json list = json::array();
  for (const std::uint64_t update : updates) {
    const auto path = PicturePath(run, std::to_string(update));
    if (!path) continue;
    json picture = DescribePicture(*path, pictures, fmt::format("pictures/{}", update));
    if (picture.is_null()) continue;
    picture["update"] = update;
    list.push_back(std::move(picture));
  }
  return list;
}

json DescribeRun(const RunFolder& run, Pictures pictures) {
  const std::string folder = run.path.string();
  for (const std::string& path : {ConfigPath(folder), ManifestPath(folder)}) {
    if (!run.Has(path)) {
      throw DataError(
          fmt::format("{}: there is no run here: {} is missing", folder, fs::path(path).filename().string()));
    }
  }
  RunRequest request = ReadRun(folder);
  json described = {{"name", run.name}, {"seed", request.seed}};
  const std::string manifest_path = ManifestPath(folder);
  const ManifestText manifest = ReadManifestText(ReadSmall(manifest_path), manifest_path);
  described["manifest"] = manifest.object;
  described["total"] = TotalUpdates(request.config.train, manifest.rows);
  for (const Config::Section& section : request.config.Sections()) {
    json& values = described["settings"][std::string(section.name)];
    for (const Field& field : section.fields) {
      std::visit([&](const auto& value) { values[std::string(field.name)] = value; }, Value(field));
    }
  }
  described["metrics"] = ReadMetrics(run, "");
  described["times"] = ReadTimes(run, "");
  described["data"] = DescribeData(run, pictures);
  described["pictures"] = ListPictures(run, pictures);
  const fs::path evaluation = run.path / "evaluation.json";
  described["evaluation"] = run.Has(evaluation) ? EvaluationScores(ReadSmall(evaluation)) : json::object();
  return described;
}

}  // namespace grbm
