#include "train/metrics_file.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"

namespace grbm {

namespace {

using json = nlohmann::ordered_json;

// How many of the first `updates` updates get a line.
std::uint64_t CountLogged(const LogSchedule& schedule, std::uint64_t updates) {
  std::uint64_t count = 0;
  for (std::uint64_t update = 1; update <= updates; ++update) count += schedule.Logs(update) ? 1 : 0;
  return count;
}

// A line of an update; null where it is no such line.
json ParseLine(std::string_view line) {
  constexpr std::size_t kMaxLine = std::size_t{1} << 20;
  try {
    json entry = ParseJson<json>(line, kMaxLine, "");
    if (entry.is_object() && entry.contains("update") && entry["update"].is_number_unsigned()) return entry;
  } catch (const DataError&) {
  }
  return nullptr;
}

// Calls keep(update, entry) for each line of a file that is of an update up to `updates`: the lines for which it is true.
template <typename Keep>
std::string KeptLines(const std::string& path, std::uint64_t updates, Keep keep) {
  if (!Exists(path)) return "";
  std::string kept;
  std::istringstream lines(ReadFile(path));
  for (std::string line; std::getline(lines, line);) {
    const json entry = ParseLine(line);
    if (entry.is_null()) continue;
    const std::uint64_t update = entry["update"];
    if (update <= updates && keep(update, entry)) kept += line + "\n";
  }
  return kept;
}

// Writes back the lines of updates up to `updates`, and returns the path.
const std::string& CutBack(const std::string& path, std::uint64_t updates, const LogSchedule& schedule, bool extended,
                           RunObserver& observer) {
  std::uint64_t lines_kept = 0;
  std::uint64_t last = 0;
  const std::string kept = KeptLines(path, updates, [&](std::uint64_t update, const json&) {
    if (update <= last) return false;
    last = update;
    ++lines_kept;
    return true;
  });
  // Of a run that was extended, the schedule was another one before.
  if (const std::uint64_t expected = CountLogged(schedule, updates); lines_kept != expected && !extended) {
    observer.OnWarning(fmt::format("{}: {} lines of the {} up to update {}: what is missing is not made again", path,
                                   lines_kept, expected, updates));
  }
  WriteFileAtomically(path, kept);
  return path;
}

template <typename Action>
void Do(Action action) {
  try {
    action();
  } catch (const IoError& error) {
    throw IoError(fmt::format("{}; the last checkpoint is kept: make room and resume", error.what()));
  }
}

}  // namespace

std::string MetricsLine(const UpdateMetrics& m, const Values& curves) {
  json line;
  line["update"] = m.update;
  line["epoch"] = m.epoch;
  line["learning_rate"] = m.learning_rate;
  line["step_size"] = m.step_size;
  line["reconstruction"] = m.batch.reconstruction;
  line["gradient_norm"] = m.gradient_norm;
  line["acceptance"] = m.batch.acceptance;
  line["mean_variance"] = m.mean_variance;
  line["min_log_var"] = m.min_log_var;
  line["max_log_var"] = m.max_log_var;
  line["hidden_activity"] = m.batch.hidden_activity;
  line["variety"] = m.batch.variety;
  line["unstable_units"] = m.batch.unstable_units;
  for (const auto& [name, value] : curves) line[name] = value;
  return JsonText(line) + "\n";
}

LogSchedule MakeLogSchedule(const Config& config, std::uint64_t rows, std::uint64_t total) {
  constexpr std::uint64_t kLines = 2000;
  const auto log_every = static_cast<std::uint64_t>(config.train.log_every);
  const auto batch = static_cast<std::uint64_t>(config.train.batch_size);
  return {log_every > 0 ? log_every : std::max<std::uint64_t>(1, total / kLines),
          static_cast<std::uint64_t>(config.evaluate.every_steps),
          config.train.stop_after > 0 ? (rows + batch - 1) / batch : 0, total};
}

MetricsFile::MetricsFile(const std::string& path, std::uint64_t updates, const LogSchedule& schedule, bool extended,
                         RunObserver& observer)
    : file_(CutBack(path, updates, schedule, extended, observer)) {}

void MetricsFile::Write(const std::string& line) {
  Do([&] { file_.Append(line); });
}
void MetricsFile::Sync() {
  Do([&] { file_.Sync(); });
}
void MetricsFile::Close() {
  Do([&] { file_.Close(); });
}

struct TimesFile::Kept {
  std::string path;
  double seconds = 0;

  Kept(const std::string& file, std::uint64_t updates) : path(file) {
    std::uint64_t last = 0;
    WriteFileAtomically(path, KeptLines(path, updates, [&](std::uint64_t update, const json& entry) {
                          const bool known = entry.contains("seconds") && entry["seconds"].is_number();
                          if (!known || update < last || entry["seconds"].get<double>() < seconds) return false;
                          last = update;
                          seconds = entry["seconds"];
                          return true;
                        }));
  }
};

TimesFile::TimesFile(const std::string& path, std::uint64_t updates) : TimesFile(Kept(path, updates)) {}

TimesFile::TimesFile(Kept kept) : file_(kept.path), earlier_(kept.seconds) {}

double TimesFile::Seconds() const {
  const double now = earlier_ + std::chrono::duration<double>(Clock::now() - start_).count();
  return std::round(1000 * now) / 1000;
}

void TimesFile::Start(std::uint64_t update, const std::string& command, int threads) {
  start_ = Clock::now();
  last_ = update;
  json line = {{"update", update}, {"seconds", Seconds()}};
  line["started"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  if (!command.empty()) line["command"] = command;
  line["threads"] = threads;
  Do([&] { file_.Append(JsonText(line) + "\n"); });
}

void TimesFile::Note(std::uint64_t update) {
  if (update == last_) return;
  last_ = update;
  Do([&] { file_.Append(JsonText(json{{"update", update}, {"seconds", Seconds()}}) + "\n"); });
}

void TimesFile::Close() {
  Do([&] { file_.Close(); });
}

}  // namespace grbm
