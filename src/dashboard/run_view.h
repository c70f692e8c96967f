// What is on disk of a run, as the page reads it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace grbm {

// The folder of a run. Where `root` is given, what lies outside of it counts as not there.
struct RunFolder {
  std::string name;
  std::filesystem::path path;
  std::filesystem::path root = {};  // canonical

  // Whether it is a file or folder within the root.
  bool Has(const std::filesystem::path& file) const;
};

// The run in a folder, or the runs in its folders, by name.
std::vector<RunFolder> ListRuns(const std::filesystem::path& root);

// "data:image/png;base64,..."
std::string PngUri(std::string_view png);

// How a picture gets into the page: within it, or by an address.
enum class Pictures { kInside, kByAddress };

// {name, seed, version, ..., total, settings: {section: {key: value}}, metrics, times, data, pictures, evaluation}. Throws
// where the folder holds no run that can be read.
nlohmann::ordered_json DescribeRun(const RunFolder& run, Pictures pictures);

// {token, from_start, columns: {name: [number or null, ...]}}: the whole lines of metrics.jsonl after those that the token
// of an earlier answer covers; all where the file is another one by now. Of many thousand lines some are left out.
nlohmann::ordered_json ReadMetrics(const RunFolder& run, const std::string& token);

// The same of times.jsonl, {update, seconds}, with {starts: [{update, seconds, started, command, threads}, ...]}: when the run
// was started and resumed.
nlohmann::ordered_json ReadTimes(const RunFolder& run, const std::string& token);

// {image: address} or {points}: rows of the data, as the run drew them; null where it did not.
nlohmann::ordered_json DescribeData(const RunFolder& run, Pictures pictures);
std::optional<std::filesystem::path> DataPicture(const RunFolder& run);

// {update, image: address} or {update, points: [[x, y], ...]}, in order.
nlohmann::ordered_json ListPictures(const RunFolder& run, Pictures pictures);
// The file of the picture after an update.
std::optional<std::filesystem::path> PicturePath(const RunFolder& run, std::string_view update);

// Changes whenever the file does; empty where there is none.
std::string FileToken(const RunFolder& run, const std::filesystem::path& file);

}  // namespace grbm
