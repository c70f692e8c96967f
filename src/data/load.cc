#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>

#include "core/bytes.h"
#include "data/csv.h"
#include "data/gzip.h"
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
  throw ConfigError(fmt::format("data: split = \"{}\": {} has one part: allowed are \"train\" and \"all\"",
                                options.split, options.source));
}

bool HasEnding(const std::string& path, std::string_view ending) {
  return path.size() >= ending.size() && std::equal(ending.rbegin(), ending.rend(), path.rbegin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
         });
}

Dataset LoadFile(const std::string& path) {
  const FileBytes file = MapFile(path);
  if (IsIdx(file.bytes) || IsGzip(file.bytes)) return ReadIdxWithLabels(path);
  if (IsNpy(file.bytes)) return ReadNpyRows(file, path);
  if (HasEnding(path, ".csv")) return ParseCsv(file.bytes, path);
  if (IsPng(file.bytes) || IsJpeg(file.bytes)) {
    throw DataError(path + ": a single image: give the folder of the images instead");
  }
  throw DataError(
      fmt::format("{}: byte 0: {}: not a format that is known: allowed are IDX and gzipped IDX files, .npy, "
                  ".csv, and folders of PNG or JPEG images",
                  path, Quoted(file.bytes.substr(0, 8))));
}

void CheckSubset(const DataOptions& options, Index rows) {
  if (options.subset <= rows) return;
  throw ConfigError(fmt::format("data: subset = {}: {} has {} rows: allowed are 1 to {}, or 0 for all", options.subset,
                                options.source, rows, rows));
}

Dataset LoadFolder(const DataOptions& options, ThreadPool& pool, const LoadProgress& progress) {
  std::vector<std::string> names = SelectSplit(options.source, ListImages(options.source), options.split);
  const auto count = static_cast<Index>(names.size());
  CheckSubset(options, count);
  if (options.subset > 0) {
    std::vector<std::string> chosen;
    for (const Index i : RandomSubset(count, Index{options.subset}, Seed(options))) {
      chosen.push_back(std::move(names[static_cast<std::size_t>(i)]));
    }
    names = std::move(chosen);
  }
  return LoadImages(options.source, names, Index{options.crop}, Index{options.resize}, pool, progress);
}

Dataset LoadChecked(const DataOptions& options, ThreadPool& pool, const LoadProgress& progress) {
  const bool transform = options.crop > 0 || options.resize > 0;
  if (options.source.empty()) throw ConfigError("data: source is empty: name the data, or give a path");
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
  Dataset data = named ? LoadNamed(options) : LoadFile(options.source);
  CheckSubset(options, data.rows());
  if (options.subset > 0) data = data.Select(RandomSubset(data.rows(), Index{options.subset}, Seed(options)));
  return transform ? TransformImages(data, Index{options.crop}, Index{options.resize}, pool) : data;
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
