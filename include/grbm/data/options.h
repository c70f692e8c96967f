// Which data to take. The names and meanings are those of the [data] section of a configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grbm/core/options.h"
#include "grbm/core/parallel.h"
#include "grbm/data/dataset.h"
#include "grbm/data/standardize.h"

namespace grbm {

// What becomes of missing values.
enum class Gaps { kRefuse, kSample };

struct DataOptions {
  // "mnist", "fashion-mnist", "gmm-iso", "gmm-aniso", "strokes" (made images of 28 × 28 pixels), or the path of an IDX
  // (maybe gzipped), NPY, NPZ, HDF5, h5ad, CSV or TSV file or of a folder of PNG and JPEG images, maybe in a folder for
  // each class.
  std::string source = {};
  std::string columns = {};
  std::string label = {};
  std::string weight = {};
  std::string condition = {};
  std::int64_t history = 0;
  std::string key = {};
  std::string missing = "NA,N/A,NaN,nan,null,NULL,None,?";
  Gaps gaps = Gaps::kRefuse;
  Standardize standardize = Standardize::kChannel;
  double margin = 0;
  std::int64_t crop = 0;
  std::int64_t resize = 0;
  std::int64_t subset = 0;
  std::int64_t subset_seed = 1;
  std::string split = "train";
  std::string held_out = {};
  double noise = 0;

  // One declaration per field; refers to this object.
  std::vector<Field> Fields();

  bool operator==(const DataOptions&) const = default;
};

// The data that are known by a name, "mnist" and the like; any other source is a path.
std::span<const std::string_view> DataNames();
bool IsDataName(const std::string& source);
// A source that means the same in every folder: a path made absolute; a name as it is.
std::string ResolveSource(const std::string& source);

// Images decoded so far, and in all. Called on the caller's thread.
using LoadProgress = std::function<void(Index done, Index total)>;

// The data that the options name, in their own units. In this order:
//   split    "mnist", "fashion-mnist": "train", "test" or "all". A folder of images with CelebA's partition file
//            list_eval_partition.txt in it or beside it: "train", "valid", "test" or "all". Anything else has one part,
//            "train" or "all", and with held_out a part "test": a share of the rows, which "train" is then without, or
//            other data.
//   condition, history   columns that are taken as conditions, or rows before each: of files that are no images, and of one
//            file's rows in the order of time. Of these a held-out share is the last rows, not some at random.
//   subset   so many rows, drawn at random without repetition by subset_seed, in the order of the data. Of a mixture
//            and of strokes: the number of rows, 1000 where it is 0; subset_seed then seeds them.
//   crop     of images, the centre of crop × crop pixels,
//   resize   then a change to resize × resize pixels; see TransformImage.
// Images of 16 bits are floats on the scale of the others, 0 to 255; a folder with one of them is all floats.
// Uncompressed IDX files and NPY files of unsigned bytes or 32-bit floats are mapped, not read. Images of a folder are
// taken in the order of their names and must agree in size and channels after crop and resize; all are decoded here.
//
// Throws ConfigError for settings that cannot work, IoError for files that cannot be read, DataError for those that are
// not valid.
Dataset LoadDataset(const DataOptions& options, ThreadPool& pool, const LoadProgress& progress = {});
Dataset LoadDataset(const DataOptions& options);

// True where the data have a part "test": LoadDataset takes that split.
bool HasTestPart(const DataOptions& options);
// True where a path is that of a table (.csv, .tsv) with a column of this name or number.
bool HasColumn(const std::string& path, const std::string& column);
// The share of rows that held_out asks for; nothing where it is a path, or empty. Throws ConfigError for other numbers.
std::optional<double> HeldOutShare(const DataOptions& options);

// size ascending numbers below `rows`, drawn at random without repetition.
std::vector<Index> RandomSubset(Index rows, Index size, std::uint64_t seed);

}  // namespace grbm
