#include "grbm/evaluate/quick.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr std::uint64_t kSeed = 1;  // of the filters: the same for every model and every data set
constexpr Index kChannels[] = {16, 32, QuickFeatures::kDimension};
constexpr Index kWindows[] = {5, 3, 3};
constexpr Index kStride = 2;
constexpr Index kRowsAtOnce = 32;
constexpr Index kGroups = 10;   // of the jackknife
constexpr Index kSubsets = 5;   // of the kernel distance, or more
constexpr Index kSubset = 500;  // rows of each at most

// Normal filters of length 1; where asked for, the taps of each input channel sum to 0.
Matrix RandomFilters(Index taps, Index in_channels, Index out_channels, bool zero_sum, Index number) {
  const Stream stream(PartSeed(kSeed, Part::kFeatures), Purpose::kInitialWeights);
  Matrix filters(taps * in_channels, out_channels);
  for (Index f = 0; f < out_channels; ++f) {
    for (Index k = 0; k < filters.rows(); ++k) {
      filters(k, f) = stream.Normal(static_cast<std::uint64_t>(number), static_cast<std::uint32_t>(f), k);
    }
    for (Index c = 0; c < in_channels && zero_sum; ++c) {
      float sum = 0;
      for (Index t = 0; t < taps; ++t) sum += filters(t * in_channels + c, f);
      for (Index t = 0; t < taps; ++t) filters(t * in_channels + c, f) -= sum / static_cast<float>(taps);
    }
    float squares = 0;
    for (Index k = 0; k < filters.rows(); ++k) squares += filters(k, f) * filters(k, f);
    for (Index k = 0; k < filters.rows(); ++k) filters(k, f) /= std::sqrt(squares);
  }
  return filters;
}

// The windows of one image, one per output place, as rows; what lies outside repeats the edge.
void CopyWindows(const QuickFeatures::Layer& layer, std::span<const float> image, MutableMatrix windows) {
  const ImageShape& in = layer.in;
  for (Index y = 0; y < layer.out.height; ++y) {
    for (Index x = 0; x < layer.out.width; ++x) {
      float* out = windows.row(y * layer.out.width + x).data();
      for (Index dy = 0; dy < layer.window; ++dy) {
        const Index from_y = std::clamp<Index>(y * kStride + dy - layer.window / 2, 0, in.height - 1);
        for (Index dx = 0; dx < layer.window; ++dx) {
          const Index from_x = std::clamp<Index>(x * kStride + dx - layer.window / 2, 0, in.width - 1);
          out = std::copy_n(image.data() + (from_y * in.width + from_x) * in.channels, in.channels, out);
        }
      }
    }
  }
}

// filters ∗ rows, before standardisation: rows × out.size().
Matrix Convolve(const QuickFeatures::Layer& layer, ConstMatrix rows, ThreadPool& pool) {
  Matrix result(rows.rows(), layer.out.size());
  const std::vector<float> ones(Size(layer.filters.rows()), 1.0f);
  const std::vector<float> zeros(Size(layer.out.channels));
  const Index places = layer.out.height * layer.out.width;
  pool.ParallelFor(rows.rows(), [&](Index r) {
    Matrix windows(places, layer.filters.rows());
    CopyWindows(layer, rows.row(r), windows);
    kernels::Logits(windows, ones, layer.filters, zeros,
                    MutableMatrix(result.row(r).data(), places, layer.out.channels, layer.out.channels));
  });
  return result;
}

// Mean and deviation of every `channels`-th value; a constant gets the deviation 1.
void Moments(ConstMatrix rows, Index channels, std::vector<float>& mean, std::vector<float>& deviation) {
  std::vector<double> sum(Size(channels));
  std::vector<double> squares(Size(channels));
  const auto n = static_cast<double>(rows.rows() * rows.cols() / channels);
  const auto add = [&](auto&& use) {
    for (Index r = 0; r < rows.rows(); ++r) {
      for (Index k = 0; k < rows.cols(); ++k) use(Size(k % channels), double{rows(r, k)});
    }
  };
  add([&](std::size_t c, double x) { sum[c] += x / n; });
  add([&](std::size_t c, double x) { squares[c] += (x - sum[c]) * (x - sum[c]) / n; });
  mean.assign(sum.begin(), sum.end());
  deviation.clear();
  for (const double s : squares) deviation.push_back(s > 1e-12 ? static_cast<float>(std::sqrt(s)) : 1.0f);
}

// max(0, (x - mean)/deviation), channel by channel, in place.
void Rectify(const QuickFeatures::Layer& layer, Matrix& rows) {
  for (Index r = 0; r < rows.rows(); ++r) {
    const std::span<float> row = rows.row(r);
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::size_t c = k % layer.mean.size();
      row[k] = std::max(0.0f, (row[k] - layer.mean[c]) / layer.deviation[c]);
    }
  }
}

// The mean of each channel over the places.
Matrix Pool(ConstMatrix rows, Index channels) {
  Matrix pooled(rows.rows(), channels);
  const auto places = static_cast<float>(rows.cols() / channels);
  for (Index r = 0; r < rows.rows(); ++r) {
    for (Index k = 0; k < rows.cols(); ++k) pooled(r, k % channels) += rows(r, k) / places;
  }
  return pooled;
}

std::vector<QuickFeatures::Layer> MakeLayers(Index visible, const ImageShape& shape) {
  std::vector<QuickFeatures::Layer> layers;
  if (!shape.known()) {
    // One place of `visible` channels: a dense layer.
    const Index out = QuickFeatures::kDimension;
    layers.push_back({{1, 1, visible}, {1, 1, out}, 1, RandomFilters(1, visible, out, false, 0), {}, {}});
    return layers;
  }
  ImageShape in = shape;
  for (std::size_t l = 0; l < std::size(kChannels); ++l) {
    const auto half = [](Index n) { return (n + kStride - 1) / kStride; };
    const ImageShape out{half(in.height), half(in.width), kChannels[l]};
    const Index window = kWindows[l];
    layers.push_back({in,
                      out,
                      window,
                      RandomFilters(window * window, in.channels, out.channels, l == 0, static_cast<Index>(l)),
                      {},
                      {}});
    in = out;
  }
  return layers;
}

}  // namespace

QuickFeatures::QuickFeatures(ConstMatrix reference, const ImageShape& shape, ThreadPool& pool)
    : layers_(MakeLayers(reference.cols(), shape)) {
  if (reference.rows() < 2 || (shape.known() && shape.size() != reference.cols())) {
    throw DataError(fmt::format("quick distance: {} rows of {} values: at least 2 rows of the image's {} are needed",
                                reference.rows(), reference.cols(), shape.size()));
  }
  Matrix rows(reference.rows(), reference.cols());
  CopyRows(reference, rows);
  for (Layer& layer : layers_) {
    rows = Convolve(layer, rows, pool);
    Moments(rows, layer.out.channels, layer.mean, layer.deviation);
    Rectify(layer, rows);
  }
  const Matrix features = Pool(rows, kDimension);
  Moments(features, kDimension, mean_, deviation_);
}

Matrix QuickFeatures::operator()(ConstMatrix rows, ThreadPool& pool) const {
  if (rows.cols() != layers_.front().in.size()) {
    throw DataError(
        fmt::format("quick distance: {} columns: the reference has {}", rows.cols(), layers_.front().in.size()));
  }
  Matrix features(rows.rows(), kDimension);
  for (Index first = 0; first < rows.rows(); first += kRowsAtOnce * pool.threads()) {
    const Index count = std::min(kRowsAtOnce * pool.threads(), rows.rows() - first);
    Matrix block(count, rows.cols());
    CopyRows(rows.Rows(first, count), block);
    for (const Layer& layer : layers_) {
      block = Convolve(layer, block, pool);
      Rectify(layer, block);
    }
    block = Pool(block, kDimension);
    for (Index r = 0; r < count; ++r) {
      for (Index k = 0; k < kDimension; ++k) {
        features(first + r, k) = (block(r, k) - mean_[Size(k)]) / deviation_[Size(k)];
      }
    }
  }
  return features;
}

QuickDistance QuickDistances(ConstMatrix a, ConstMatrix b) {
  if (a.rows() < 2 * kGroups || b.rows() < 2 * kGroups) {
    throw DataError(
        fmt::format("quick distance: {} and {} rows: at least {} are needed", a.rows(), b.rows(), 2 * kGroups));
  }
  FeatureMoments first(a.cols());
  first.Add(a);
  std::vector<FeatureMoments> groups;
  for (Index g = 0; g < kGroups; ++g) {
    const Index begin = g * b.rows() / kGroups;
    groups.emplace_back(b.cols()).Add(b.Rows(begin, (g + 1) * b.rows() / kGroups - begin));
  }
  // All groups, or all but one.
  const auto distance = [&](Index without) {
    FeatureMoments second(b.cols());
    for (Index g = 0; g < kGroups; ++g) {
      if (g != without) second.Add(groups[Size(g)]);
    }
    return Frechet(first, second).distance;
  };
  std::vector<double> left_out;
  for (Index g = 0; g < kGroups; ++g) left_out.push_back(distance(g));
  const Index subset = std::min(kSubset, std::min(a.rows(), b.rows()) / kSubsets);
  const KernelDistance kernel = Kernel(a, b, subset);
  return {{distance(-1), Mean(left_out).error * static_cast<double>(kGroups - 1)},
          {kernel.distance, kernel.standard_error}};
}

}  // namespace grbm
