// Cells: their settings, names, cost, and the commands that make them again.
#include "grbm/cells/cell.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "grbm/core/file.h"
#include "grbm/train/presets.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 70;

// FNV-1a.
std::uint64_t Digest(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

// small-mnist-method-gibbs-epochs-2.5: the preset and what differs from it.
std::string ReadableName(const Cell& cell, const Config& config) {
  std::string name = fs::path(cell.preset).stem().string();
  for (const std::string& difference : Differences(config, LoadPreset(cell.preset))) {
    if (!difference.starts_with("data.")) name += "-" + difference.substr(difference.find('.') + 1);
  }
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '-';
  }
  return name.substr(0, kLongestName);
}

Index CountFiles(const std::string& folder) {
  std::error_code error;
  return static_cast<Index>(std::distance(fs::directory_iterator(folder, error), fs::directory_iterator()));
}

Index EstimatedRows(const DataOptions& data) {
  if (data.subset > 0) return data.subset;
  if (data.source == "mnist" || data.source == "fashion-mnist") return 60000;
  return IsFolder(data.source) ? CountFiles(data.source) : 1000;
}

Index EstimatedVisible(const DataOptions& data) {
  if (data.source.starts_with("gmm-")) return 2;
  return data.resize > 0 ? Index{3 * data.resize * data.resize} : 784;
}

}  // namespace

const Score* CellResult::Find(const std::string& metric, const std::string& score) const {
  const auto found = metrics.find(metric);
  if (found == metrics.end()) return nullptr;
  const auto one = std::ranges::find(found->second, score, &Score::name);
  return one == found->second.end() ? nullptr : &*one;
}

std::vector<std::string> Merge(std::vector<std::string> settings, const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    const std::string key = other.substr(0, other.find('=') + 1);
    const auto found = std::ranges::find_if(settings, [&](const std::string& s) { return s.starts_with(key); });
    if (found != settings.end()) {
      *found = other;
    } else {
      settings.push_back(other);
    }
  }
  return settings;
}

Config CellConfig(const Cell& cell) {
  Config config = LoadPreset(cell.preset);
  for (const std::string& setting : cell.settings) SetOption(config, setting);
  return config;
}

std::string CellName(const Cell& cell, std::uint64_t seed, const std::string& more) {
  const Config config = CellConfig(cell);
  std::string text = fmt::format("seed={}\n", seed);
  for (const std::string& difference : Differences(config, Config())) text += difference + "\n";
  return fmt::format("{}-{:016x}", ReadableName(cell, config), Digest(text + more));
}

std::string ShellWord(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._-=/,+:@%").find(c) != std::string::npos;
  };
  if (std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string TrainCommand(const Cell& cell, std::uint64_t seed, const std::string& folder) {
  std::string command = "grbm train " + ShellWord(cell.preset);
  for (const std::string& setting : cell.settings) command += " --set " + ShellWord(setting);
  return command + fmt::format(" --seed {} --out {}", seed, ShellWord(folder));
}

// Products of one update, see docs/performance.md; hidden units cost something without any visible one.
double UpdateCost(const Config& config) {
  const auto number = [](auto n) { return static_cast<double>(n); };
  const bool langevin = config.sampler.method == Method::kLangevin;
  return (langevin ? 2.0 : 1.0) * 2 * number(config.train.batch_size) *
         number((EstimatedVisible(config.data) + 64) * config.model.hidden) * (3 * number(config.sampler.steps) + 5);
}

std::uint64_t EstimatedUpdates(const Config& config) {
  const double updates = config.train.epochs * static_cast<double>(EstimatedRows(config.data)) /
                         static_cast<double>(config.train.batch_size);
  return static_cast<std::uint64_t>(std::max(1.0, std::round(updates)));
}

}  // namespace grbm
