// Fréchet and kernel Inception distances between images that a model makes and those of a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "grbm/core/options.h"
#include "grbm/core/parallel.h"
#include "grbm/core/ranks.h"
#include "grbm/data/dataset.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/evaluate/frechet.h"
#include "grbm/evaluate/inception.h"
#include "grbm/store/model_file.h"

namespace grbm {

struct FidOptions {
  std::int64_t tap = 2048;
  std::int64_t samples = 10000;
  std::int64_t reference = 0;
  std::int64_t subsets = 10;
  std::int64_t kernel_subset = 1000;

  // One declaration per field; refers to this object.
  std::vector<Field> Fields();
};

// Images by number: `read` fills out, rows × shape.size(), with images first ... first + out.rows() - 1.
struct ImageSource {
  ImageShape shape;
  std::function<void(Index first, MatrixView<std::uint8_t> out)> read;
};

// The rows of images of 8 or 16 bits, in their order, rounded to 8. Throws DataError for other data.
ImageSource DataImages(const Dataset& data);
// Samples of the file's sampler, from noise, in the data's own units, clamped and rounded to 8 bits. Image i is a function of the seed and i. All
// must outlive the source. Throws DataError where the model's rows are not images.
ImageSource ModelImages(const ModelFile& file, std::uint64_t seed, ThreadPool& pool);

struct FidResult {
  int tap;
  Index samples;        // of the model
  Index reference;      // images of the data
  FrechetDistance fid;  // all samples against all of the reference
  double subset_mean;   // of the distances of disjoint subsets of the samples, which are larger, for they are of fewer:
  double subset_deviation;  // how far one of them lies from another
  Index subsets;
  FrechetDistance floor;  // real images against the other real images of the reference
  Index floor_samples;    // how many: as many as samples, or half of the reference where that is less
  KernelDistance kid;
  Index kernel_subset;                // images of each of its subsets
  bool from_cache;                    // the data's statistics were computed before
  std::vector<std::string> warnings;  // one line each
};

// The reference is `options.reference` rows of the data in a fixed random order (0: all). Their statistics are kept in
// <cache_dir>/inception/, in a file named after a digest of the rows, the weights and the settings; an empty cache_dir
// keeps nothing. Features are never held but for those of the kernel distance: at most ten subsets on each side.
//
// With several ranks each computes a part of the features, and all have the result; rank 0 keeps the cache.
//
// Throws ConfigError for settings that cannot work, DataError where the images do not fit each other or the weights lack
// the tap, IoError where the cache cannot be made.
FidResult ComputeFid(const Inception& network, const ImageSource& samples, const Dataset& data,
                     const FidOptions& options, const std::string& cache_dir, ThreadPool& pool,
                     const EvaluationProgress& progress = {}, Ranks& ranks = OneRank());

}  // namespace grbm
