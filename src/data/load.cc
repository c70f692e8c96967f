#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <new>
#include <numeric>
#include <utility>

#include "core/bytes.h"
#include "core/number.h"
#include "data/columns.h"
#include "data/csv.h"
#include "data/gzip.h"
#include "data/hdf5.h"
#include "data/idx.h"
#include "data/image.h"
#include "data/image_folder.h"
#include "data/mapped_file.h"
#include "data/npy_rows.h"
#include "data/strokes.h"
#include "grbm/core/error.h"
#include "grbm/data/fetch.h"
#include "grbm/data/mixture.h"
#include "grbm/data/options.h"
#include "grbm/data/permutation.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

constexpr Index kGeneratedRows = 1000;

std::uint64_t Seed(const DataOptions& options) { return static_cast<std::uint64_t>(options.subset_seed); }

Index GeneratedRows(const DataOptions& options) { return options.subset > 0 ? Index{options.subset} : kGeneratedRows; }

Dataset LoadMixture(const DataOptions& options) {
  const Mixture mixture = options.source == "gmm-iso" ? IsotropicMixture() : AnisotropicMixture();
  MixtureSamples samples = mixture.Sample(Seed(options), GeneratedRows(options));
  return {std::move(samples.points), {}, options.source, std::move(samples.components)};
}

// The images and labels of one part, "train" or "t10k", of a set in the cache.
Dataset LoadCached(const std::string& name, const std::string& part) {
  const fs::path folder = fs::path(DefaultCacheDir()) / name;
  for (const std::string ending : {"", ".gz"}) {
    const fs::path path = folder / fmt::format("{}-images-idx3-ubyte{}", part, ending);
    std::error_code error;
    if (fs::exists(path, error)) return ReadIdxWithLabels(path.string());
  }
  throw IoError(
      fmt::format("{}: no such file: run 'grbm data get {}'", (folder / (part + "-images-idx3-ubyte")).string(), name));
}

Dataset Concatenate(const Dataset& a, const Dataset& b, const std::string& source) {
  if (a.shape() != b.shape() || !a.is_8bit() || !b.is_8bit() || a.labels().empty() != b.labels().empty()) {
    throw DataError(fmt::format("{} and {}: expected are 8-bit images of one size, both with labels or both without",
                                a.source(), b.source()));
  }
  const auto visible = static_cast<std::size_t>(a.visible());
  std::vector<std::uint8_t> values(visible * static_cast<std::size_t>(a.rows() + b.rows()));
  std::vector<int> labels;
  std::uint8_t* out = values.data();
  for (const Dataset* part : {&a, &b}) {
    for (Index r = 0; r < part->rows(); ++r, out += visible) std::memcpy(out, part->row(r), visible);
    labels.insert(labels.end(), part->labels().begin(), part->labels().end());
  }
  return {std::move(values), a.visible(), a.shape(), source, std::move(labels)};
}

Dataset LoadNamed(const DataOptions& options) {
  if (options.split == "train") return LoadCached(options.source, "train");
  if (options.split == "test") return LoadCached(options.source, "t10k");
  if (options.split == "all") {
    return Concatenate(LoadCached(options.source, "train"), LoadCached(options.source, "t10k"), options.source);
  }
  throw ConfigError(fmt::format("data: split = \"{}\": allowed for \"{}\" are \"train\", \"test\" and \"all\"",
                                options.split, options.source));
}

void CheckOnePart(const DataOptions& options) {
  if (options.split == "train" || options.split == "all") return;
  if (options.split == "test" && !options.held_out.empty()) return;
  throw ConfigError(fmt::format("data: split = \"{}\": {} has one part: allowed are \"train\" and \"all\"{}",
                                options.split, options.source,
                                options.held_out.empty() ? "; data.held_out makes a part \"test\"" : ", and \"test\""));
}

void CheckNothingHeldOut(const DataOptions& options, const char* why) {
  if (options.held_out.empty()) return;
  throw ConfigError(fmt::format("data: held_out = {}: {} {}: leave it empty", options.held_out, options.source, why));
}

bool HasEnding(const std::string& path, std::string_view ending) {
  return path.size() >= ending.size() && std::equal(ending.rbegin(), ending.rend(), path.rbegin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
         });
}

bool IsTable(const std::string& path) { return HasEnding(path, ".csv") || HasEnding(path, ".tsv"); }

// A setting that says something of some files alone.
void CheckFits(const char* name, const std::string& value, bool fits, const char* allowed, const std::string& path) {
  if (value.empty() || fits) return;
  throw ConfigError(fmt::format("data: {} = {}: {}: allowed for {}", name, value, path, allowed));
}

constexpr const char* kTakesConditions = "tables, NPY, NPZ and HDF5 files";

// Data of which no column or array can be chosen; `labels`: where they can.
void CheckNoneChosen(const DataOptions& options, const char* labels) {
  CheckFits("columns", options.columns, false, "tables (.csv, .tsv)", options.source);
  CheckFits("label", options.label, false, labels, options.source);
  CheckFits("weight", options.weight, false, "tables, NPZ, HDF5 and h5ad files", options.source);
  CheckFits("key", options.key, false, "NPZ and HDF5 files", options.source);
  CheckFits("condition", options.condition, false, kTakesConditions, options.source);
  if (options.history == 0) return;
  throw ConfigError(fmt::format("data: history = {}: {}: allowed for the rows of one file, in the order of time",
                                options.history, options.source));
}

// Data that are no images, with some of their columns as conditions.
Dataset TakeConditions(const DataOptions& options, const Dataset& data) {
  if (options.condition.empty()) return data;
  if (data.shape().known()) {
    throw ConfigError(fmt::format("data: condition = {}: {} holds images: allowed for tables and arrays of rows",
                                  options.condition, options.source));
  }
  return data.WithConditions(ChooseColumns(options.condition, data.names().columns,
                                           static_cast<std::size_t>(data.visible()),
                                           options.source + ": data.condition"));
}

Dataset LoadFile(const DataOptions& options) {
  const std::string& path = options.source;
  const FileBytes file = MapFile(path);
  const bool table = IsTable(path);
  const bool npz = IsZip(file.bytes);
  const bool hdf5 = IsHdf5(file.bytes);
  if (IsGzip(file.bytes) && !IsIdx(GunzipStart(file.bytes, 4, path))) {
    throw DataError(path + ": compressed, and not an IDX file: no other is read compressed: gunzip it first");
  }
  CheckFits("columns", options.columns, table, "tables (.csv, .tsv)", path);
  CheckFits("label", options.label, table || npz || hdf5, "tables, NPZ, HDF5 and h5ad files", path);
  CheckFits("weight", options.weight, table || npz || hdf5, "tables, NPZ, HDF5 and h5ad files", path);
  CheckFits("key", options.key, npz || hdf5, "NPZ and HDF5 files", path);
  CheckFits("condition", options.condition, table || npz || hdf5 || IsNpy(file.bytes), kTakesConditions, path);
  if (IsIdx(file.bytes) || IsGzip(file.bytes)) return ReadIdxWithLabels(path);
  const bool gaps = options.gaps == Gaps::kSample;
  const ArrayOptions array{.key = options.key, .label = options.label, .weight = options.weight, .gaps = gaps};
  if (IsNpy(file.bytes)) return TakeConditions(options, ReadNpyRows(file, path, gaps));
  if (npz) return TakeConditions(options, ReadNpzRows(path, array));
  if (hdf5) return TakeConditions(options, ReadHdf5Rows(path, array));
  if (table) {
    return ParseCsv(file.bytes, path,
                    {.columns = options.columns,
                     .label = options.label,
                     .weight = options.weight,
                     .condition = options.condition,
                     .missing = options.missing,
                     .gaps = gaps});
  }
  if (IsPng(file.bytes) || IsJpeg(file.bytes)) {
    throw DataError(path + ": a single image: give the folder of the images instead");
  }
  throw DataError(
      fmt::format("{}: byte 0: {}: not a format that is known: allowed are IDX and gzipped IDX files, .npy, "
                  ".npz, HDF5, .h5ad, .csv, .tsv, and folders of PNG or JPEG images",
                  path, Quoted(file.bytes.substr(0, 8))));
}

void CheckSubset(const DataOptions& options, Index rows) {
  if (options.subset <= rows) return;
  throw ConfigError(fmt::format("data: subset = {}: {} has {} rows: allowed are 1 to {}, or 0 for all", options.subset,
                                options.source, rows, rows));
}

// Of so many rows those of the part that is asked for, where a share is held out, and of these the subset. Nothing: all.
std::optional<std::vector<Index>> ChosenRows(const DataOptions& options, Index rows) {
  std::optional<std::vector<Index>> chosen;
  const std::optional<double> share = HeldOutShare(options);
  if (share && options.split != "all") {
    if (rows < 2) {
      throw ConfigError(fmt::format("data: held_out = {}: {} has one row: no part of it can be held out",
                                    options.held_out, options.source));
    }
    const auto size = static_cast<Index>(std::llround(*share * static_cast<double>(rows)));
    const Index count = std::clamp<Index>(size, 1, rows - 1);
    std::vector<Index> all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), Index{0});
    const std::vector<Index> held_out = options.history > 0 ? std::vector<Index>(all.end() - count, all.end())
                                                            : RandomSubset(rows, count, Seed(options));
    if (options.split == "test") return held_out;
    std::ranges::set_difference(all, held_out, std::back_inserter(chosen.emplace()));
    rows = static_cast<Index>(chosen->size());
  }
  CheckSubset(options, rows);
  if (options.subset == 0) return chosen;
  std::vector<Index> subset = RandomSubset(rows, Index{options.subset}, Seed(options));
  if (chosen) {
    for (Index& row : subset) row = (*chosen)[static_cast<std::size_t>(row)];
  }
  return subset;
}

Dataset LoadFolder(const DataOptions& options, ThreadPool& pool, const LoadProgress& progress) {
  CheckNoneChosen(options, "tables, NPZ, HDF5 and h5ad files: here folders are the classes");
  FolderImages images = ListImages(options.source);
  std::vector<std::string> names = std::move(images.names);
  if (options.held_out.empty()) {
    names = SelectSplit(options.source, std::move(names), options.split);
  } else {
    CheckOnePart(options);
    if (HasPartition(options.source)) CheckNothingHeldOut(options, "has a part \"test\" by its partition file");
  }
  if (const auto chosen = ChosenRows(options, static_cast<Index>(names.size()))) {
    std::vector<std::string> taken;
    for (const Index i : *chosen) taken.push_back(std::move(names[static_cast<std::size_t>(i)]));
    names = std::move(taken);
  }
  const Dataset data = LoadImages(options.source, names, Index{options.crop}, Index{options.resize}, pool, progress);
  Dataset::Names with_notes = data.names();
  with_notes.notes = std::move(images.notes);
  return data.WithNames(std::move(with_notes));
}

Dataset LoadChecked(const DataOptions& options, ThreadPool& pool, const LoadProgress& progress) {
  const bool transform = options.crop > 0 || options.resize > 0;
  if (options.source.empty()) throw ConfigError("data: source is empty: name the data, or give a path");
  if (IsDataName(options.source)) {
    CheckNothingHeldOut(options, "has held-out data of its own");
    CheckNoneChosen(options,
                    "tables, NPZ, HDF5 and h5ad files: named data have labels of their own, or none: leave it empty");
  }
  if (options.history > 0 && (transform || !options.condition.empty())) {
    throw ConfigError(
        fmt::format("data: history = {}: not with data.condition, data.crop or data.resize", options.history));
  }
  if (options.split == "test" && !options.held_out.empty() && !HeldOutShare(options)) {
    DataOptions other = options;  // the same of another file or folder
    other.source = std::exchange(other.held_out, {});
    other.split = "all";
    other.subset = 0;
    return LoadChecked(other, pool, progress);
  }
  if (options.source == "gmm-iso" || options.source == "gmm-aniso") {
    CheckOnePart(options);
    if (transform) throw ConfigError("data: crop, resize: a mixture has no images: allowed is 0");
    return LoadMixture(options);
  }
  if (options.source == "strokes") {
    CheckOnePart(options);
    const Dataset strokes = MakeStrokes(Seed(options), GeneratedRows(options));
    return transform ? TransformImages(strokes, Index{options.crop}, Index{options.resize}, pool) : strokes;
  }
  std::error_code error;
  const bool named = options.source == "mnist" || options.source == "fashion-mnist";
  if (!named && fs::is_directory(options.source, error)) return LoadFolder(options, pool, progress);
  if (!named) CheckOnePart(options);
  Dataset data = named ? LoadNamed(options) : LoadFile(options);
  if (transform && data.has_gaps()) {
    throw ConfigError(fmt::format(
        "data: crop, resize: {} has missing values: such images are taken as they are: allowed is 0", options.source));
  }
  if (options.history > 0) data = data.WithHistory(Index{options.history});
  if (const auto chosen = ChosenRows(options, data.rows())) data = data.Select(*chosen);
  if (!transform) return data;
  std::vector<double> weights(data.weights().begin(), data.weights().end());
  return TransformImages(data, Index{options.crop}, Index{options.resize}, pool).WithWeights(std::move(weights));
}

}  // namespace

std::vector<Index> RandomSubset(Index rows, Index size, std::uint64_t seed) {
  GRBM_CHECK(size >= 1 && size <= rows);
  const Permutation order(Stream(seed, Purpose::kSubset), 0, static_cast<std::uint64_t>(rows));
  std::vector<Index> subset(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < subset.size(); ++i) subset[i] = static_cast<Index>(order(i));
  std::ranges::sort(subset);
  return subset;
}

std::optional<double> HeldOutShare(const DataOptions& options) {
  const std::string& text = options.held_out;
  const auto share = NumberIn<double>(text);
  if (!share || (*share > 0 && *share < 1)) return share;
  throw ConfigError(fmt::format(
      "data: held_out = {}: allowed is a share of the rows above 0 and below 1, or the path of other data", text));
}

bool HasColumn(const std::string& path, const std::string& column) {
  return IsTable(path) && CsvHasColumn(MapFile(path).bytes, path, column);
}

bool HasTestPart(const DataOptions& options) {
  if (!options.held_out.empty() || options.source == "mnist" || options.source == "fashion-mnist") return true;
  std::error_code error;
  return !IsDataName(options.source) && fs::is_directory(options.source, error) && HasPartition(options.source);
}

Dataset LoadDataset(const DataOptions& options, ThreadPool& pool, const LoadProgress& progress) {
  DataOptions copy = options;
  CheckFields(copy.Fields(), "data");
  try {
    return LoadChecked(options, pool, progress);
  } catch (const std::bad_alloc&) {
    throw DataError(fmt::format("{}: not enough memory: take fewer rows (data.subset) or smaller images (data.resize)",
                                options.source));
  }
}

Dataset LoadDataset(const DataOptions& options) {
  ThreadPool pool;
  return LoadDataset(options, pool);
}

}  // namespace grbm
