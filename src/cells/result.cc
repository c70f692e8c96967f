// result.json.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "grbm/cells/cell.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

namespace {

using json = nlohmann::ordered_json;

json Number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double Number(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

json ScoreJson(const Score& score) {
  json entry = {{"value", Number(score.estimate.value)}, {"error", Number(score.estimate.error)}, {"note", score.note}};
  if (std::isfinite(score.low)) entry["low"] = score.low;
  if (std::isfinite(score.high)) entry["high"] = score.high;
  return entry;
}

Score ParseScore(const std::string& name, const json& entry) {
  Score score{name, {Number(entry.at("value")), Number(entry.at("error"))}, entry.at("note").get<std::string>()};
  if (entry.contains("low")) score.low = Number(entry["low"]);
  if (entry.contains("high")) score.high = Number(entry["high"]);
  return score;
}

}  // namespace

std::string ResultPath(const std::string& folder) { return folder + "/result.json"; }

void WriteResultFile(const std::string& path, const CellResult& result) {
  json object;
  object["outcome"] = result.outcome;
  if (!result.message.empty()) object["message"] = result.message;
  object["updates"] = result.updates;
  object["seconds"] = result.seconds;
  object["threads"] = result.threads;
  object["cpu_target"] = result.cpu_target;
  object["version"] = result.version;
  if (!result.judged_with.empty()) object["judged_with"] = result.judged_with;
  if (!result.model.empty()) object["model"] = result.model;
  if (!result.data.empty()) object["data"] = result.data;
  object["metrics"] = json::object();
  for (const auto& [metric, scores] : result.metrics) {
    json& entry = object["metrics"][metric];
    for (const Score& score : scores) entry[score.name] = ScoreJson(score);
  }
  WriteFileAtomically(path, JsonText(object, 2) + "\n");
}

std::optional<CellResult> ReadResultFile(const std::string& path) {
  if (!Exists(path)) return std::nullopt;
  CellResult result;
  try {
    const json object = ParseJson<json>(ReadFile(path, {.max_bytes = 1 << 20}), 1 << 20, path);
    result.outcome = object.at("outcome");
    result.message = object.value("message", "");
    result.updates = object.at("updates");
    result.seconds = object.at("seconds");
    result.threads = object.at("threads");
    result.cpu_target = object.at("cpu_target");
    result.version = object.at("version");
    result.judged_with = object.value("judged_with", "");
    result.model = object.value("model", "");
    result.data = object.value("data", "");
    for (const auto& [metric, scores] : object.at("metrics").items()) {
      for (const auto& [name, score] : scores.items()) result.metrics[metric].push_back(ParseScore(name, score));
    }
  } catch (const json::exception& error) {
    throw DataError(fmt::format("{}: not a result: remove it, and the cell is judged again", path));
  }
  return result;
}

std::optional<CellResult> ReadResult(const std::string& folder) { return ReadResultFile(ResultPath(folder)); }

}  // namespace grbm
