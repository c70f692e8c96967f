#include "dashboard/run_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "grbm/core/error.h"

namespace grbm {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kMetricsPoints = 4000;
constexpr std::size_t kMaxLine = 1 << 16;
constexpr std::size_t kMaxRows = 5 * kMetricsPoints;  // from which on evaluations count as other lines do
constexpr std::size_t kMaxColumns = 200;

// Null where the text is not JSON that can be read.
json ParseOrNull(std::string_view text, std::size_t max_bytes) {
  try {
    return ParseJson<json>(text, max_bytes, "");
  } catch (const DataError&) {
    return nullptr;
  }
}

// Six digits: a float has hardly more, and a curve shows fewer.
json Rounded(const json& value) {
  if (!value.is_number_float()) return value.is_number() ? value : json();
  const double number = value;
  if (number == 0 || !std::isfinite(number)) return value;
  const double places = 5 - std::floor(std::log10(std::abs(number)));
  const double unit = std::pow(10.0, std::abs(places));  // a power that is exact, or nearly
  const double rounded = places > 0 ? std::round(number * unit) / unit : std::round(number / unit) * unit;
  return std::isfinite(rounded) ? json(rounded) : value;
}

bool IsPoint(const json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
}

}  // namespace

ManifestText ReadManifestText(std::string_view text, const std::string& where) {
  ManifestText manifest{ParseJson<json>(text, kMaxJsonFile, where)};
  if (!manifest.object.is_object()) throw DataError(fmt::format("{}: not a manifest: expected is an object", where));
  const auto data = manifest.object.find("data");
  if (data == manifest.object.end() || !data->is_object() || !data->contains("rows")) return manifest;
  const json& rows = (*data)["rows"];
  if (!rows.is_number_unsigned()) throw DataError(fmt::format("{}: data.rows is not a whole number", where));
  manifest.rows = rows;
  return manifest;
}

json MetricColumns(std::string_view text) {
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + (text.ends_with('\n') ? 0 : 1);
  const std::size_t stride = (lines + kMetricsPoints - 1) / kMetricsPoints;
  json columns = json::object();
  std::size_t rows = 0;
  for (std::size_t k = 0; !text.empty(); ++k) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool evaluation = rows < kMaxRows && line.find("_error\"") != std::string_view::npos;
    if (k % stride != 0 && !text.empty() && !evaluation) continue;
    const json entry = ParseOrNull(line, kMaxLine);
    if (!entry.is_object() || !entry.contains("update") || !entry["update"].is_number()) continue;
    for (const auto& [name, value] : entry.items()) {
      if (columns.size() >= kMaxColumns && !columns.contains(name)) continue;
      json& column = columns[name];
      while (column.size() < rows) column.push_back(nullptr);
      column.push_back(Rounded(value));
    }
    ++rows;
  }
  for (auto& column : columns) {
    while (column.size() < rows) column.push_back(nullptr);
  }
  return columns;
}

json RunStarts(std::string_view text) {
  constexpr std::size_t kMost = 1000;
  json starts = json::array();
  while (!text.empty() && starts.size() < kMost) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find("\"started\"") == std::string_view::npos) continue;
    const json entry = ParseOrNull(line, kMaxLine);
    if (!entry.is_object()) continue;
    json start = json::object();
    for (const char* name : {"update", "seconds", "threads"}) {
      if (entry.contains(name) && entry[name].is_number()) start[name] = entry[name];
    }
    for (const char* name : {"started", "command"}) {
      if (entry.contains(name) && entry[name].is_string()) start[name] = entry[name];
    }
    if (start.contains("update") && start.contains("seconds") && start.contains("started")) {
      starts.push_back(std::move(start));
    }
  }
  return starts;
}

json EvaluationScores(std::string_view text) {
  json scores = json::object();
  const json all = ParseOrNull(text, kMaxJsonFile);
  if (!all.is_object()) return scores;
  for (const auto& [name, value] : all.items()) {
    if (value.is_object()) scores[name] = value;
  }
  return scores;
}

json PicturePoints(std::string_view text) {
  json points = ParseOrNull(text, kMaxJsonFile);
  return points.is_array() && std::ranges::all_of(points, IsPoint) ? points : json();
}

}  // namespace grbm
