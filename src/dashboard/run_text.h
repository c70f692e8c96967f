// The texts of a run's files, as the page reads them. None of them is to be trusted.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace grbm {

// Bytes of one file; of metrics.jsonl, in all.
constexpr std::size_t kMaxJsonFile = std::size_t{1} << 20;
constexpr std::size_t kMaxMetricsFile = std::size_t{1} << 30;
constexpr std::size_t kMaxPictureFile = std::size_t{1} << 26;

struct ManifestText {
  nlohmann::ordered_json object;
  std::uint64_t rows = 0;  // of the data; 0 where it does not say
};
// manifest.json. Throws DataError, opened by `where`, unless it is an object, or where the number of rows is none.
ManifestText ReadManifestText(std::string_view text, const std::string& where);

// Lines of numbers as columns: {name: [number or null, ...]}, with six digits. Lines that are not of metrics are left out. Of many thousand
// lines some are left out, too, but up to 20,000 evaluations, which have a standard error, are kept, and so is the last
// line.
nlohmann::ordered_json MetricColumns(std::string_view text);

// Lines of times.jsonl that say when a run was started or resumed: [{update, seconds, started, command, threads}, ...], of
// which the last three may be missing; at most 1,000.
nlohmann::ordered_json RunStarts(std::string_view text);

// What `grbm evaluate --json` printed: {metric: {score: {value, error, ...}}}; empty where it is something else.
nlohmann::ordered_json EvaluationScores(std::string_view text);

// [[x, y], ...]; null where the text is something else.
nlohmann::ordered_json PicturePoints(std::string_view text);

}  // namespace grbm
