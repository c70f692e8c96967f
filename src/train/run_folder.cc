#include "train/run_folder.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/json.h"
#include "grbm/core/file.h"
#include "grbm/core/version.h"
#include "grbm/data/classes.h"
#include "grbm/data/fingerprint.h"
#include "grbm/data/options.h"
#include "grbm/model/backend.h"

namespace grbm {

namespace {

using json = nlohmann::ordered_json;

std::string LockPath(const std::string& folder) { return folder + "/run.lock"; }

constexpr std::size_t kMaxText = std::size_t{1} << 20;  // of a manifest and of settings

Config ReadConfig(const std::string& folder) {
  return ParseConfig(ReadFile(ConfigPath(folder), {.max_bytes = kMaxText}), ConfigPath(folder));
}

json ReadManifest(const std::string& folder) {
  const std::string path = ManifestPath(folder);
  json manifest = ParseJson<json>(ReadFile(path, {.max_bytes = kMaxText}), kMaxText, path);
  if (!manifest.is_object() || !manifest.contains("seed") || !manifest["seed"].is_number_unsigned()) {
    throw DataError(fmt::format("{}: not a manifest: it has no seed", path));
  }
  return manifest;
}

// A text of the manifest; empty where it has none.
std::string Text(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

// The settings with which the run was started: of the manifest, where config.toml is only a copy, or, in runs of older
// versions, of config.toml.
Config StartedWith(const std::string& folder, const json& manifest) {
  const std::string text = Text(manifest, "config");
  if (text.empty()) return ReadConfig(folder);
  return ParseConfig(text, ManifestPath(folder) + ": config");
}

// Data that were moved are the same data: their fingerprint decides.
bool Moved(const std::string& one, const std::string& other) { return !IsDataName(one) && !IsDataName(other); }

// Whether the run is to go on for more epochs than it was started with, or for more without gain. One that no measure of
// held-out rows can end stays one.
bool Extends(const RunRequest& request, const json& manifest) {
  const TrainOptions& ours = request.config.train;
  const TrainOptions theirs = StartedWith(request.folder, manifest).train;
  const bool longer = ours.epochs > theirs.epochs;
  const bool more_patient = theirs.stop_after > 0 && ours.stop_after > theirs.stop_after;
  return (longer && (more_patient || ours.stop_after == theirs.stop_after)) ||
         (more_patient && ours.epochs == theirs.epochs);
}

void CheckSameSettings(const RunRequest& request, const json& manifest) {
  Config ours = request.config;
  Config theirs = StartedWith(request.folder, manifest);
  if (Extends(request, manifest)) {
    theirs.train.epochs = ours.train.epochs;
    theirs.train.stop_after = ours.train.stop_after;
  }
  theirs.data.source = ResolveSource(theirs.data.source);
  theirs.checkpoint = ours.checkpoint;
  if (manifest.contains("config") && Moved(ours.data.source, theirs.data.source)) theirs.data.source = ours.data.source;
  const auto our_sections = ours.Sections();
  const auto their_sections = theirs.Sections();
  for (std::size_t s = 0; s < our_sections.size(); ++s) {
    for (std::size_t f = 0; f < our_sections[s].fields.size(); ++f) {
      const Field& our_field = our_sections[s].fields[f];
      const Field& their_field = their_sections[s].fields[f];
      if (Value(our_field) == Value(their_field)) continue;
      throw ConfigError(fmt::format(
          "{}: cannot resume: {}.{} = {} now, but the run was started with {}: give the same "
          "settings, or another --out",
          request.folder, our_sections[s].name, our_field.name, ValueText(our_field), ValueText(their_field)));
    }
  }
  if (const std::uint64_t seed = manifest["seed"]; request.seed != seed) {
    throw ConfigError(fmt::format("{}: cannot resume: --seed {} now, but the run was started with {}", request.folder,
                                  request.seed, seed));
  }
}

json Child(const json& manifest, const char* key) { return manifest.contains(key) ? manifest[key] : json(); }

std::string SettingsDigest(const RunRequest& request, const std::string& init) {
  // All that decides the bits, where it is not the default: settings of later versions are left out.
  Config config = request.config;
  config.data.source = {};
  Hash settings;
  settings.Add(request.seed);
  for (const std::string& difference : Differences(config, {})) settings.Add(difference);
  if (!init.empty()) settings.Add(init);
  return settings.text();
}

// The manifest first: with it, checkpoints of before are those of the run.
void Extend(const RunRequest& request, json& manifest, const std::string& init, RunObserver& observer) {
  RunRequest before = request;
  before.config = StartedWith(request.folder, manifest);
  manifest["earlier"].push_back(SettingsDigest(before, init));
  manifest["config"] = ConfigText(request.config);
  WriteFileAtomically(ManifestPath(request.folder), JsonText(manifest, 2) + "\n");
  WriteFileAtomically(ConfigPath(request.folder), ConfigText(request.config));
  const TrainOptions& now = request.config.train;
  const TrainOptions& then = before.config.train;
  if (now.epochs != then.epochs) {
    observer.OnNote(
        fmt::format("extended from {} epochs to {}: schedules are now those of the whole", then.epochs, now.epochs));
  }
  if (now.stop_after != then.stop_after) {
    observer.OnNote(fmt::format("train.stop_after = {} in place of {}", now.stop_after, then.stop_after));
  }
}

void CheckSameData(const RunRequest& request, const json& manifest, const Dataset& data, const RunOrigin& origin,
                   RunObserver& observer) {
  const json then = Child(manifest, "data");
  const std::string fingerprint = Text(then, "fingerprint");
  const auto number = [&](const char* key) {
    return then.is_object() && then.contains(key) && then[key].is_number_integer() ? then[key].get<Index>() : Index{-1};
  };
  const bool same_size = number("rows") == data.rows() && number("visible") == data.visible();
  if (same_size && fingerprint.empty()) {
    observer.OnWarning(fmt::format(
        "{}: started by an older version of grbm: whether its data have changed cannot be told", request.folder));
  }
  if (same_size && (fingerprint.empty() || fingerprint == origin.data)) return;
  throw DataError(
      fmt::format("{}: cannot resume: the data have changed since the run was started: {} has {} rows of {} values, "
                  "then there were "
                  "{} of {}{}: give the same data, or another --out",
                  request.folder, data.source(), data.rows(), data.visible(), number("rows"), number("visible"),
                  same_size ? ", with other values" : ""));
}

std::string Manifest(const RunRequest& request, const Dataset& data, const RunOrigin& origin, const std::string& init,
                     int threads) {
  json manifest;
  manifest["grbm_version"] = Version();
  manifest["seed"] = request.seed;
  manifest["cpu_target"] = CpuTarget();
  manifest["threads"] = threads;
  manifest["data"] = {
      {"source", data.source()}, {"rows", data.rows()}, {"visible", data.visible()}, {"fingerprint", origin.data}};
  if (!init.empty()) manifest["init"] = {{"source", request.init}, {"fingerprint", Digest(init)}};
  manifest["config"] = ConfigText(request.config);
  return JsonText(manifest, 2) + "\n";
}

}  // namespace

std::string ConfigPath(const std::string& folder) { return folder + "/config.toml"; }
std::string ManifestPath(const std::string& folder) { return folder + "/manifest.json"; }
std::string MetricsPath(const std::string& folder) { return folder + "/metrics.jsonl"; }
std::string TimesPath(const std::string& folder) { return folder + "/times.jsonl"; }
std::string ModelPath(const std::string& folder) { return folder + "/model.safetensors"; }
std::string InitPath(const std::string& folder) { return folder + "/init.safetensors"; }
std::string PictureFolder(const std::string& folder) { return folder + "/samples"; }
std::string DataPicturePath(const std::string& folder) { return folder + "/data"; }
std::string CheckpointFolder(const std::string& folder) { return folder + "/checkpoints"; }

RunRequest ReadRun(const std::string& folder) {
  if (!Exists(ManifestPath(folder))) {
    throw ConfigError(fmt::format("{}: there is no run here to resume: manifest.json is missing", folder));
  }
  const json manifest = ReadManifest(folder);
  RunRequest run;
  run.folder = folder;
  run.config = Exists(ConfigPath(folder)) ? ReadConfig(folder) : StartedWith(folder, manifest);
  run.seed = manifest["seed"];
  return run;
}

RunRequest Resolved(RunRequest request) {
  std::string& source = request.config.data.source;
  source = ResolveSource(source);
  std::string& held_out = request.config.data.held_out;
  if (!held_out.empty() && !HeldOutShare(request.config.data)) held_out = ResolveSource(held_out);
  if (!IsUtf8(source)) {
    throw ConfigError(fmt::format("data: source = {}: the name is not UTF-8, as files of settings are: rename it",
                                  JsonText(nlohmann::json(source))));
  }
  return request;
}

std::string InitContents(const RunRequest& request) {
  const std::string given = request.init.empty() ? "" : ReadFile(request.init);
  const std::string& folder = request.folder;
  if (!request.resume || !Exists(ManifestPath(folder))) return given;
  const std::string digest = Text(Child(ReadManifest(folder), "init"), "fingerprint");
  if (!given.empty() && Digest(given) != digest) {
    throw ConfigError(fmt::format("{}: cannot resume: --init {} now, but the run was started from {}: leave it out",
                                  folder, request.init, digest.empty() ? "fresh parameters" : "another model"));
  }
  if (digest.empty()) return {};
  std::string kept = ReadFile(InitPath(folder));
  if (Digest(kept) != digest) {
    throw DataError(fmt::format("{}: not the model that the run was started from: put that back, or give another --out",
                                InitPath(folder)));
  }
  return kept;
}

RunOrigin OriginOf(const RunRequest& request, const Dataset& data, const Dataset* held_out, const std::string& init) {
  Hash data_hash;
  data_hash.Add(Fingerprint(data));
  for (std::size_t r = 0; request.config.model.labels && r < data.labels().size(); ++r) {
    data_hash.Add(LabelName(data.names(), data.labels()[r]));
  }
  if (held_out != nullptr) data_hash.Add(Fingerprint(*held_out));
  return {data_hash.text(), SettingsDigest(request, init)};
}

void CheckFolder(const RunRequest& request) {
  const std::string& folder = request.folder;
  if (Exists(ManifestPath(folder))) {
    if (request.resume) return;
    throw ConfigError(
        fmt::format("{}: there is a run already: add --resume to go on with it, or give another --out", folder));
  }
  // What a run makes after its manifest.
  const std::string checkpoints = CheckpointFolder(folder);
  const char* part = HasCheckpoints(checkpoints)   ? "checkpoints"
                     : Exists(MetricsPath(folder)) ? "metrics.jsonl"
                     : Exists(ModelPath(folder))   ? "model.safetensors"
                                                   : nullptr;
  if (part == nullptr) return;
  throw ConfigError(fmt::format(
      "{}: it holds {} of a run whose manifest.json is missing, and which so cannot be resumed: give another "
      "--out, or put manifest.json back, or remove what is there",
      folder, part));
}

std::vector<std::string> EarlierSettings(const std::string& folder) {
  std::vector<std::string> earlier;
  for (const json& settings : Child(ReadManifest(folder), "earlier")) {
    if (settings.is_string()) earlier.push_back(settings);
  }
  return earlier;
}

bool IsOldRun(const std::string& folder) { return Text(Child(ReadManifest(folder), "data"), "fingerprint").empty(); }

std::unique_ptr<FolderLock> OpenFolder(const RunRequest& request, const Dataset& data, const RunOrigin& origin,
                                       const std::string& init, int threads, RunObserver& observer) {
  const std::string& folder = request.folder;
  MakeFolder(CheckpointFolder(folder));
  auto lock = std::make_unique<FolderLock>(LockPath(folder));
  if (!lock->Try()) {
    throw BusyError(fmt::format("{}: a run is at work here: {}: wait until it has ended, or give another --out", folder,
                                lock->Holder()));
  }
  CheckFolder(request);
  if (!Exists(ManifestPath(folder))) {
    WriteFileAtomically(ConfigPath(folder), ConfigText(request.config));
    if (!init.empty()) WriteFileAtomically(InitPath(folder), init);
    // Last: with it, the folder is a run.
    WriteFileAtomically(ManifestPath(folder), Manifest(request, data, origin, init, threads));
    return lock;
  }
  json manifest = ReadManifest(folder);
  const bool longer = Extends(request, manifest);
  CheckSameSettings(request, manifest);
  CheckSameData(request, manifest, data, origin, observer);
  if (longer) {
    Extend(request, manifest, init, observer);
    return lock;
  }
  if (!Exists(ConfigPath(folder))) WriteFileAtomically(ConfigPath(folder), ConfigText(request.config));
  return lock;
}

}  // namespace grbm
