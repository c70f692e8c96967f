#include "grbm/evaluate/fid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>

#include "data/md5.h"
#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/safetensors.h"
#include "grbm/data/permutation.h"
#include "grbm/evaluate/samples.h"

namespace grbm {

namespace {

namespace fs = std::filesystem;

// Part of every cache key: to be changed with anything that changes features or the choice of rows.
constexpr std::string_view kProtocol = "grbm inception 1";
constexpr Index kBlock = 256;         // images at a time
constexpr Index kKernelSubsets = 10;  // at most

using Bytes = BasicMatrix<std::uint8_t>;

// What is kept of the data: rows of the floor, all the others, and the features of the first rows for the kernel.
struct Reference {
  FeatureMoments floor;
  FeatureMoments rest;
  Matrix kernel_features;
};

struct Sizes {
  Index dimension, reference, floor, kernel_subset, kernel_rows;
};

Sizes ChooseSizes(const FidOptions& o, Index rows) {
  const Index reference = o.reference == 0 ? rows : static_cast<Index>(o.reference);
  if (reference > rows) {
    throw ConfigError(fmt::format("fid: reference = {}: the data have {} rows: ask for fewer", reference, rows));
  }
  if (reference < 4) throw ConfigError(fmt::format("fid: the data have {} rows: at least 4 are needed", rows));
  if (o.samples < 2 * o.subsets) {
    throw ConfigError(
        fmt::format("fid: samples = {}: {} subsets need at least {}", o.samples, o.subsets, 2 * o.subsets));
  }
  const Index both = std::min<Index>(o.samples, reference);
  const Index subset = std::min<Index>(o.kernel_subset, both);
  return {o.tap, reference, std::min<Index>(o.samples, reference / 2), subset,
          std::min(kKernelSubsets, both / subset) * subset};
}

// Features of images, block by block.
class FeatureStream {
 public:
  FeatureStream(const Inception& network, int tap, ThreadPool& pool, const EvaluationProgress& progress, Ranks& ranks)
      : network_(network), tap_(tap), pool_(pool), progress_(progress), ranks_(ranks) {}

  // Moments of images first ... last - 1 of `total`. Those of which `keep` has a row are copied there.
  FeatureMoments Run(const ImageSource& source, std::string_view part, Index first, Index last, Index total,
                     MutableMatrix keep) {
    FeatureMoments moments(tap_);
    const Index at_once = kBlock * ranks_.count();
    for (Index at = first; at < last; at += at_once) {
      const Index count = std::min(at_once, last - at);
      const Matrix features =
          RowsTogether(ranks_, count, tap_, [&](Index own, Index rows) { return Compute(source, at + own, rows); });
      for (Index row = 0; row < count; row += kBlock) {
        moments.Add(features.view().Rows(row, std::min(kBlock, count - row)));
      }
      if (const Index kept = std::min(count, keep.rows() - at); kept > 0) {
        CopyRows(features.view().Rows(0, kept), keep.Rows(at, kept));
      }
      if (progress_) progress_(part, at + count, total);
    }
    return moments;
  }

 private:
  Matrix Compute(const ImageSource& source, Index first, Index count) {
    Bytes images(count, source.shape.size());
    source.read(first, images);
    Matrix features(count, tap_);
    network_.Features(images, source.shape, tap_, features, pool_);
    return features;
  }

  const Inception& network_;
  int tap_;
  ThreadPool& pool_;
  const EvaluationProgress& progress_;
  Ranks& ranks_;
};

// The rows of the data that are the reference, in a fixed random order.
Dataset ReferenceRows(const Dataset& data, Index count) {
  const Permutation order(Stream(EvaluationSeed(1, EvaluationStream::kReference), Purpose::kEvaluate), 0,
                          static_cast<std::uint64_t>(data.rows()));
  std::vector<Index> rows(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<Index>(order(i));
  return data.Select(rows);
}

// Of everything that the statistics depend on.
std::string CacheKey(const Inception& network, const Dataset& rows, const Sizes& sizes) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {}x{}x{}", kProtocol, network.digest(), sizes.dimension, sizes.reference,
                  sizes.floor, sizes.kernel_rows, rows.shape().height, rows.shape().width, rows.shape().channels);
  for (Index i = 0; i < rows.rows(); ++i) {
    text += Md5({static_cast<const char*>(rows.row(i)), static_cast<std::size_t>(rows.visible())});
  }
  return Md5(text);
}

Tensor DoubleTensor(std::string name, std::vector<Index> shape, std::span<const double> values) {
  return {
      std::move(name), "F64", std::move(shape), {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
}

void CopyDoubles(const TensorFile& file, const std::string& name, std::span<const Index> shape, std::span<double> out) {
  const Tensor& tensor = GetTensor(file, name, shape);
  if (tensor.dtype != "F64") throw DataError(fmt::format("{}: {} is not of doubles", file.source, name));
  std::memcpy(out.data(), tensor.bytes.data(), out.size_bytes());
}

void WriteCache(const std::string& path, const Reference& reference, const std::string& source) {
  const Index d = reference.floor.dimension();
  const BasicMatrix<double> floor = reference.floor.Covariance();
  const BasicMatrix<double> rest = reference.rest.Covariance();
  TensorFile file;
  file.metadata = {{"what", std::string(kProtocol)}, {"data", source}};
  file.tensors = {
      DoubleTensor("floor.mean", {d}, reference.floor.Mean()), DoubleTensor("floor.covariance", {d, d}, floor.values()),
      DoubleTensor("rest.mean", {d}, reference.rest.Mean()), DoubleTensor("rest.covariance", {d, d}, rest.values()),
      MakeTensor("kernel_features", {reference.kernel_features.rows(), d}, reference.kernel_features.values())};
  WriteTensors(path, file);
}

// Nothing where there is no such file, or it is damaged. That of rank 0, for all.
std::optional<Reference> ReadCache(const std::string& path, const Sizes& sizes, Ranks& ranks) {
  const std::string contents = FromFirst(ranks, [&] {
    try {
      return ReadFile(path);
    } catch (const IoError&) {
      return std::string();
    }
  });
  if (contents.empty()) return {};
  try {
    const TensorFile file = ParseTensors(contents, path);
    const auto moments = [&](const std::string& name, Index count) {
      std::vector<double> mean(static_cast<std::size_t>(sizes.dimension));
      BasicMatrix<double> covariance(sizes.dimension, sizes.dimension);
      const Index shape[] = {sizes.dimension, sizes.dimension};
      CopyDoubles(file, name + ".mean", {shape, 1}, mean);
      CopyDoubles(file, name + ".covariance", shape, covariance.values());
      return FeatureMoments(count, std::move(mean), covariance);
    };
    Reference reference{moments("floor", sizes.floor), moments("rest", sizes.reference - sizes.floor),
                        Matrix(sizes.kernel_rows, sizes.dimension)};
    const Index shape[] = {sizes.kernel_rows, sizes.dimension};
    CopyFloats(file, GetTensor(file, "kernel_features", shape), reference.kernel_features.values());
    return reference;
  } catch (const Error&) {
    return {};
  }
}

// <cache_dir>/inception, which rank 0 can write into: better an error now than after the work.
fs::path CacheFolder(const std::string& cache_dir, const Ranks& ranks) {
  fs::path folder = fs::path(cache_dir) / "inception";
  if (ranks.rank() == 0) MakeFolder(folder.string());
  return folder;
}

void RoundToPixels(const Matrix& images, MatrixView<std::uint8_t> out) {
  for (Index i = 0; i < out.rows(); ++i) {
    std::ranges::transform(images.row(i), out.row(i).begin(), [](float value) {
      return static_cast<std::uint8_t>(std::nearbyint(std::clamp(value, 0.0f, 255.0f)));
    });
  }
}

}  // namespace

std::vector<Field> FidOptions::Fields() {
  return {
      {"tap", &tap, "features of the Inception network: 64, 192, 768 or 2048, the usual one", {.min = 64, .max = 2048}},
      {"samples", &samples, "images drawn from the model", {.min = 4, .max = 1e9}},
      {"reference", &reference, "images of the data, 0: all", {.min = 0, .max = 1e9}},
      {"subsets", &subsets, "disjoint subsets of the samples that show the spread", {.min = 2, .max = 1000}},
      {"kernel_subset", &kernel_subset, "images in each subset of the kernel distance", {.min = 2, .max = 100'000}}};
}

ImageSource DataImages(const Dataset& data) {
  if (data.bits() > 16 || !data.shape().known()) {
    throw DataError(
        fmt::format("{}: Inception distances need images of 8 or 16 bits, and these rows are not", data.source()));
  }
  return {data.shape(),
          [data](Index first, MatrixView<std::uint8_t> out) { RoundToPixels(data.Read(first, out.rows()), out); }};
}

ImageSource ModelImages(const ModelFile& file, std::uint64_t seed, ThreadPool& pool) {
  if (!file.image_shape.known()) {
    throw DataError("Inception distances need a model of images, and this one's rows are not");
  }
  return {file.image_shape, [&file, seed, &pool](Index first, MatrixView<std::uint8_t> out) {
            RoundToPixels(DrawSamples(file, out.rows(), seed, pool, {}, static_cast<std::uint32_t>(first)), out);
          }};
}

FidResult ComputeFid(const Inception& network, const ImageSource& samples, const Dataset& data,
                     const FidOptions& options, const std::string& cache_dir, ThreadPool& pool,
                     const EvaluationProgress& progress, Ranks& ranks) {
  FidOptions checked = options;
  CheckFields(checked.Fields(), "fid");
  const int tap = static_cast<int>(options.tap);
  network.CheckTap(tap);
  const Sizes sizes = ChooseSizes(options, data.rows());
  const Dataset reference_rows = ReferenceRows(data, sizes.reference);
  const ImageSource images = DataImages(reference_rows);
  if (!(images.shape == samples.shape)) {
    throw DataError(
        fmt::format("{}: images of {} × {} × {}: the model makes {} × {} × {}: give the data it was trained on",
                    data.source(), images.shape.height, images.shape.width, images.shape.channels, samples.shape.height,
                    samples.shape.width, samples.shape.channels));
  }

  // Step 1. Statistics of the data, from the cache where they are there.
  std::string cache_path;
  std::optional<Reference> reference;
  if (!cache_dir.empty()) {
    cache_path = (CacheFolder(cache_dir, ranks) / (CacheKey(network, reference_rows, sizes) + ".safetensors")).string();
    reference = ReadCache(cache_path, sizes, ranks);
  }
  FidResult result{};
  result.from_cache = reference.has_value();
  const Index count = static_cast<Index>(options.samples);
  FeatureStream stream(network, tap, pool, progress, ranks);
  if (!reference) {
    Matrix kept(sizes.kernel_rows, tap);
    FeatureMoments floor = stream.Run(images, "features of the data", 0, sizes.floor, sizes.reference, kept);
    FeatureMoments rest =
        stream.Run(images, "features of the data", sizes.floor, sizes.reference, sizes.reference, kept);
    reference = Reference{std::move(floor), std::move(rest), std::move(kept)};
    try {
      if (!cache_path.empty() && ranks.rank() == 0) WriteCache(cache_path, *reference, data.source());
    } catch (const IoError& error) {
      result.warnings.push_back(fmt::format("the data's statistics are not kept: {}", error.what()));
    }
  }
  FeatureMoments all = reference->floor;
  all.Add(reference->rest);

  // Step 2. The samples, by disjoint subsets.
  FeatureMoments total(tap);
  Matrix kept(sizes.kernel_rows, tap);
  std::vector<double> distances;
  for (Index i = 0; i < options.subsets; ++i) {
    const FeatureMoments subset = stream.Run(samples, "features of samples", i * count / options.subsets,
                                             (i + 1) * count / options.subsets, count, kept);
    distances.push_back(Frechet(subset, all).distance);
    total.Add(subset);
  }

  // Step 3. Distances.
  result.tap = tap;
  result.samples = count;
  result.reference = sizes.reference;
  result.fid = Frechet(total, all);
  result.subsets = options.subsets;
  const auto k = static_cast<double>(distances.size());
  for (const double d : distances) result.subset_mean += d / k;
  for (const double d : distances) result.subset_deviation += std::pow(d - result.subset_mean, 2) / (k - 1);
  result.subset_deviation = std::sqrt(result.subset_deviation);
  result.floor = Frechet(reference->floor, reference->rest);
  result.floor_samples = sizes.floor;
  result.kid = Kernel(kept, reference->kernel_features, sizes.kernel_subset);
  result.kernel_subset = sizes.kernel_subset;
  if (result.fid.rank_deficient) {
    result.warnings.push_back(fmt::format(
        "{} samples and {} images of the data in {} dimensions: a covariance is singular, and the distance far above "
        "that of more images: use more than {} of each, or an earlier tap",
        count, sizes.reference, tap, tap));
  }
  if (tap == 2048) {
    result.warnings.push_back(
        "the 2048 tap is tested against the definition of its layers, not against features of the original network");
  }
  return result;
}

}  // namespace grbm
