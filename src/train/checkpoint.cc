#include "grbm/train/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "grbm/core/safetensors.h"

namespace grbm {

namespace {

constexpr std::string_view kFormat = "grbm-checkpoint";
constexpr std::string_view kFormatVersion = "1";
constexpr std::string_view kPrefix = "update-";
constexpr std::string_view kSuffix = ".safetensors";

void AddParameters(TensorFile& file, const std::string& prefix, const Parameters& p) {
  const Index visible = p.W.rows();
  const Index hidden = p.W.cols();
  file.tensors.push_back(MakeTensor(prefix + "W", {visible, hidden}, p.W.values()));
  file.tensors.push_back(MakeTensor(prefix + "b", {hidden}, p.b));
  file.tensors.push_back(MakeTensor(prefix + "mu", {visible}, p.mu));
  file.tensors.push_back(MakeTensor(prefix + "log_var", {visible}, p.log_var));
}

Parameters GetParameters(const TensorFile& file, const std::string& prefix, Index visible, Index hidden) {
  Parameters p(visible, hidden);
  const Index matrix[] = {visible, hidden};
  const auto copy = [&](const char* name, std::span<const Index> shape, std::span<float> out) {
    const Tensor& tensor = GetTensor(file, prefix + name, shape);
    CheckFloating(file, tensor);
    CopyFloats(file, tensor, out);
  };
  copy("W", matrix, p.W.values());
  copy("b", std::span(matrix).subspan(1), p.b);
  copy("mu", std::span(matrix).first(1), p.mu);
  copy("log_var", std::span(matrix).first(1), p.log_var);
  return p;
}

std::uint64_t GetNumber(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  std::uint64_t number = 0;
  if (found != file.metadata.end()) {
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  throw DataError(fmt::format("{}: not a checkpoint: its metadata have no number '{}'", file.source, key));
}

// The checkpoints of a folder, newest first.
std::vector<std::filesystem::path> List(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) paths.push_back(entry.path());
  }
  std::ranges::sort(paths, std::greater());
  return paths;
}

}  // namespace

std::string CheckpointName(std::uint64_t update) { return fmt::format("{}{:012}{}", kPrefix, update, kSuffix); }

void WriteCheckpoint(const std::string& path, const TrainState& state) {
  TensorFile file;
  file.source = path;
  file.metadata = {{"format", std::string(kFormat)},
                   {"format_version", std::string(kFormatVersion)},
                   {"updates", std::to_string(state.updates)},
                   {"moments", std::to_string(state.moments.size())}};
  AddParameters(file, "", state.parameters);
  for (std::size_t k = 0; k < state.moments.size(); ++k) {
    AddParameters(file, fmt::format("moment{}.", k), state.moments[k]);
  }
  if (state.chains) {
    const ConstBitView bits = state.chains->hidden;
    file.tensors.push_back(
        MakeTensor("chains.visible", {bits.rows(), state.chains->visible.cols()}, state.chains->visible.values()));
    const std::size_t bytes = static_cast<std::size_t>(bits.groups() * bits.rows()) * sizeof(std::uint64_t);
    file.tensors.push_back(
        {"chains.hidden", "U64", {bits.groups(), bits.rows()}, {reinterpret_cast<const char*>(bits.words()), bytes}});
  }
  WriteTensors(path, file);
}

TrainState ReadCheckpoint(const std::string& path) {
  const TensorFile file = ReadTensors(path);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kFormat) {
    throw DataError(fmt::format("{}: not a checkpoint: its metadata do not say format = \"{}\"", path, kFormat));
  }
  const auto version = file.metadata.find("format_version");
  if (version == file.metadata.end() || version->second != kFormatVersion) {
    throw DataError(
        fmt::format("{}: written by another version of grbm: format_version {} is known", path, kFormatVersion));
  }
  TrainState state;
  state.updates = GetNumber(file, "updates");
  const Index any[] = {-1, -1};
  const std::vector<Index> shape = GetTensor(file, "W", any).shape;
  state.parameters = GetParameters(file, "", shape[0], shape[1]);
  const std::uint64_t moments = GetNumber(file, "moments");
  if (moments > 2) throw DataError(fmt::format("{}: moments = {}: allowed are at most 2", path, moments));
  for (std::uint64_t k = 0; k < moments; ++k) {
    state.moments.push_back(GetParameters(file, fmt::format("moment{}.", k), shape[0], shape[1]));
  }
  if (FindTensor(file, "chains.visible") != nullptr) {
    const Index visible_shape[] = {-1, shape[0]};
    const Tensor& visible = GetTensor(file, "chains.visible", visible_shape);
    Chains chains{0, Matrix(visible.shape[0], shape[0]), BitMatrix(visible.shape[0], shape[1])};
    CopyFloats(file, visible, chains.visible.values());
    const BitView bits = chains.hidden;
    const Index hidden_shape[] = {bits.groups(), bits.rows()};
    CheckFloating(file, visible);
    const Tensor& hidden = GetTensor(file, "chains.hidden", hidden_shape);
    if (hidden.dtype != "U64") throw DataError(fmt::format("{}: chains.hidden: expected are U64", path));
    std::memcpy(bits.words(), hidden.bytes.data(), hidden.bytes.size());
    state.chains = std::move(chains);
  }
  return state;
}

std::optional<TrainState> ReadNewestCheckpoint(const std::string& folder) {
  for (const auto& path : List(folder)) {
    try {
      return ReadCheckpoint(path.string());
    } catch (const DataError&) {
      continue;  // an older one will do
    }
  }
  return std::nullopt;
}

void PruneCheckpoints(const std::string& folder, std::int64_t keep) {
  std::error_code error;
  const auto paths = List(folder);
  for (std::size_t k = static_cast<std::size_t>(keep); k < paths.size(); ++k) std::filesystem::remove(paths[k], error);
}

void RemoveLeftovers(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".grbm-") && name.ends_with(".tmp")) std::filesystem::remove(entry.path(), error);
  }
}

}  // namespace grbm
