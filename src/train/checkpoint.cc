#include "grbm/train/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/hash.h"
#include "core/number.h"
#include "grbm/core/file.h"
#include "grbm/core/safetensors.h"
#include "store/parameter_tensors.h"

namespace grbm {

namespace {

constexpr std::string_view kFormat = "grbm-checkpoint";
constexpr std::string_view kFormatVersion = "2";
constexpr std::string_view kOldVersion = "1";  // without origin and digest
constexpr std::string_view kPrefix = "update-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kDamaged = ".damaged";
const std::string kDigest = "digest";
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kFuzzing = true;  // or a fuzzer would see little of what is behind the digest
#else
constexpr bool kFuzzing = false;
#endif

const std::string kAverage = "average.";
const std::string kBest = "best.";
const std::string kGaps = "gaps.hidden";
std::string MomentPrefix(std::size_t k) { return fmt::format("moment{}.", k); }

// Of all that was written, so that damage shows. The order is that of the names: files may keep another.
std::string ContentDigest(const TensorFile& file) {
  Hash hash;
  for (const auto& [key, value] : file.metadata) {
    if (key == kDigest) continue;
    hash.Add(key);
    hash.Add(value);
  }
  std::vector<const Tensor*> tensors;
  for (const Tensor& tensor : file.tensors) tensors.push_back(&tensor);
  std::ranges::sort(tensors, {}, &Tensor::name);
  for (const Tensor* tensor : tensors) {
    hash.Add(tensor->name + tensor->dtype + ShapeText(tensor->shape));
    hash.Add(tensor->bytes);
  }
  return hash.text();
}

std::string GetText(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found != file.metadata.end()) return found->second;
  throw DataError(fmt::format("{}: not a checkpoint: its metadata have no '{}'", file.source, key));
}

template <typename Number = std::uint64_t>
Number GetNumber(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found != file.metadata.end()) {
    if (const auto number = NumberIn<Number>(found->second)) return *number;
  }
  throw DataError(fmt::format("{}: not a checkpoint: its metadata have no number '{}'", file.source, key));
}

// A checkpoint that is of the update in its name.
Checkpoint ReadNamed(const std::filesystem::path& path) {
  Checkpoint checkpoint = ReadCheckpoint(path.string());
  if (path.filename() == CheckpointName(checkpoint.state.updates)) return checkpoint;
  throw DataError(fmt::format("{}: it holds update {}", path.string(), checkpoint.state.updates));
}

// It no longer counts as one of the newest, which are kept.
void PutAside(const std::string& path) {
  std::error_code error;
  std::filesystem::rename(path, path + std::string(kDamaged), error);
  if (error) throw IoError(fmt::format("{}: cannot rename: {}", path, error.message()));
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

bool HasCheckpoints(const std::string& folder) { return !List(folder).empty(); }

void WriteCheckpoint(const std::string& path, const TrainState& state, const RunOrigin& origin) {
  TensorFile file;
  file.source = path;
  file.metadata = {{"format", std::string(kFormat)},
                   {"format_version", std::string(kFormatVersion)},
                   {"updates", std::to_string(state.updates)},
                   {"moments", std::to_string(state.moments.size())},
                   {"data", origin.data},
                   {"settings", origin.settings}};
  AddParameters(state.parameters, "", file);
  for (std::size_t k = 0; k < state.moments.size(); ++k) AddParameters(state.moments[k], MomentPrefix(k), file);
  if (state.average) AddParameters(*state.average, kAverage, file);
  if (state.offsets) {
    const auto add = [&](const char* name, const std::vector<float>& values) {
      file.tensors.push_back(MakeTensor(name, {static_cast<Index>(values.size())}, values));
    };
    add("offsets.visible", state.offsets->visible);
    add("offsets.hidden", state.offsets->hidden);
  }
  if (state.chains) {
    const ConstBitView bits = state.chains->hidden;
    file.tensors.push_back(
        MakeTensor("chains.visible", {bits.rows(), state.chains->visible.cols()}, state.chains->visible.values()));
    const std::size_t bytes = static_cast<std::size_t>(bits.groups() * bits.rows()) * sizeof(std::uint64_t);
    file.tensors.push_back(
        {"chains.hidden", "U64", {bits.groups(), bits.rows()}, {reinterpret_cast<const char*>(bits.words()), bytes}});
  }
  if (state.gaps) {
    file.tensors.push_back({kGaps,
                            "U64",
                            {state.gaps->rows(), state.gaps->cols()},
                            std::string_view(reinterpret_cast<const char*>(state.gaps->values().data()),
                                             state.gaps->values().size_bytes())});
  }
  if (state.best) {
    file.metadata["best_updates"] = std::to_string(state.best->updates);
    file.metadata["best_measured"] = fmt::format("{}", state.best->measured);
    AddParameters(state.best->parameters, kBest, file);
  }
  file.metadata[kDigest] = ContentDigest(file);
  WriteTensors(path, file);
}

Checkpoint ReadCheckpoint(const std::string& path) { return ParseCheckpoint(ReadFile(path), path); }

Checkpoint ParseCheckpoint(std::string contents, const std::string& path) {
  const TensorFile file = ParseTensors(std::move(contents), path);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kFormat) {
    throw DataError(fmt::format("{}: not a checkpoint: its metadata do not say format = \"{}\"", path, kFormat));
  }
  const std::string version = GetText(file, "format_version");
  if (version != kFormatVersion && version != kOldVersion) {
    throw DataError(fmt::format("{}: written by another version of grbm: format_version {}: known are {} and {}", path,
                                version, kOldVersion, kFormatVersion));
  }
  Checkpoint checkpoint;
  if (version == kFormatVersion) {
    if (GetText(file, kDigest) != ContentDigest(file) && !kFuzzing) {
      throw DataError(fmt::format("{}: damaged: its contents do not fit their digest", path));
    }
    checkpoint.origin = {GetText(file, "data"), GetText(file, "settings")};
  }
  TrainState& state = checkpoint.state;
  state.updates = GetNumber(file, "updates");
  state.parameters = GetParameters(file);
  const Index shape[] = {state.parameters.W.rows(), state.parameters.W.cols()};
  const std::uint64_t moments = GetNumber(file, "moments");
  if (moments > 2) throw DataError(fmt::format("{}: moments = {}: allowed are at most 2", path, moments));
  for (std::uint64_t k = 0; k < moments; ++k) {
    state.moments.push_back(GetParameters(file, MomentPrefix(k), state.parameters));
  }
  if (FindTensor(file, kAverage + "W") != nullptr) state.average = GetParameters(file, kAverage, state.parameters);
  if (FindTensor(file, "offsets.visible") != nullptr) {
    const auto get = [&](const char* name, std::span<const Index> size) {
      CheckFloating(file, GetTensor(file, name, size));
      return GetFloats(file, name, size);
    };
    state.offsets = {get("offsets.visible", std::span(shape).first(1)),
                     get("offsets.hidden", std::span(shape).last(1))};
  }
  if (FindTensor(file, "chains.visible") != nullptr) {
    const Index visible_shape[] = {-1, shape[0]};
    const Tensor& visible = GetTensor(file, "chains.visible", visible_shape);
    CheckFloating(file, visible);
    const Index hidden_shape[] = {BitMatrix(1, shape[1]).view().groups(), visible.shape[0]};
    const Tensor& hidden = GetTensor(file, "chains.hidden", hidden_shape);
    if (hidden.dtype != "U64") throw DataError(fmt::format("{}: chains.hidden: expected are U64", path));
    Chains chains{0, Matrix(visible.shape[0], shape[0]), BitMatrix(visible.shape[0], shape[1])};
    CopyFloats(file, visible, chains.visible.values());
    std::memcpy(chains.hidden.view().words(), hidden.bytes.data(), hidden.bytes.size());
    state.chains = std::move(chains);
  }
  if (FindTensor(file, kGaps) != nullptr) {
    const Index words[] = {-1, BitMatrix(1, shape[1]).view().groups()};
    const Tensor& gaps = GetTensor(file, kGaps, words);
    if (gaps.dtype != "U64") throw DataError(fmt::format("{}: {}: expected are U64", path, kGaps));
    state.gaps.emplace(gaps.shape[0], gaps.shape[1]);
    std::memcpy(state.gaps->values().data(), gaps.bytes.data(), gaps.bytes.size());
  }
  if (file.metadata.contains("best_updates")) {
    state.best = {GetNumber(file, "best_updates"), GetNumber<double>(file, "best_measured"),
                  GetParameters(file, kBest, state.parameters)};
  }
  return checkpoint;
}

namespace {

bool IsOf(const RunOrigin& checkpoint, const RunOrigin& run) {
  if (checkpoint.data != run.data) return false;
  return checkpoint.settings == run.settings ||
         std::ranges::find(run.earlier, checkpoint.settings) != run.earlier.end();
}

}  // namespace

std::optional<TrainState> ReadNewestCheckpoint(const std::string& folder, const RunOrigin& origin, bool of_old_run,
                                               const std::function<void(const std::string&)>& warn) {
  const auto paths = List(folder);
  std::vector<std::string> damaged;
  std::vector<std::string> warnings;
  for (const auto& path : paths) {
    Checkpoint checkpoint;
    try {
      checkpoint = ReadNamed(path);
    } catch (const DataError& error) {
      damaged.push_back(path.string());
      if (damaged.size() == paths.size()) {
        throw DataError(
            fmt::format("{}: no checkpoint can be read: {}: put a copy back, or start again with another --out", folder,
                        error.what()));
      }
      warnings.push_back(fmt::format("{}: an older checkpoint takes its place; it is kept as {}{}", error.what(),
                                     path.filename().string(), kDamaged));
      continue;
    }
    if (checkpoint.origin ? !IsOf(*checkpoint.origin, origin) : !of_old_run) {
      throw DataError(fmt::format("{}: a checkpoint of another run, or of other data: remove it", path.string()));
    }
    for (const std::string& other : damaged) PutAside(other);
    for (const std::string& text : warnings) warn(text);
    return std::move(checkpoint.state);
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
