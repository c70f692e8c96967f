#include "grbm/evaluate/quick.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "evaluate/common.h"
#include "grbm/core/error.h"
#include "kernels/kernels.h"

namespace grbm {

namespace {

constexpr std::uint64_t kSeed = 1;  // of the filters: the same for every model
constexpr Index kChannels[] = {16, 32, QuickFeatures::kDimension};
constexpr Index kWindows[] = {5, 3, 3};
constexpr Index kStride = 2;
constexpr Index kCandidates = 16;   // windows drawn per filter
constexpr float kThreshold = 0.5f;  // of a channel, in its deviations
constexpr Index kRowsAtOnce = 32;
constexpr Index kGroups = 10;   // of the jackknife
constexpr Index kSubsets = 5;   // of the kernel distance, or more
constexpr Index kSubset = 500;  // rows of each at most

// The window of one output place; what lies outside the image repeats its edge.
void CopyWindow(const QuickFeatures::Layer& layer, std::span<const float> image, Index y, Index x, float* out) {
  const ImageShape& in = layer.in;
  for (Index dy = 0; dy < layer.window; ++dy) {
    const Index from_y = std::clamp<Index>(y * kStride + dy - layer.window / 2, 0, in.height - 1);
    for (Index dx = 0; dx < layer.window; ++dx) {
      const Index from_x = std::clamp<Index>(x * kStride + dx - layer.window / 2, 0, in.width - 1);
      out = std::copy_n(image.data() + (from_y * in.width + from_x) * in.channels, in.channels, out);
    }
  }
}

// The taps of every channel sum to 0.
void RemoveMeans(std::span<float> window, Index channels) {
  const auto taps = static_cast<float>(window.size() / ToSize(channels));
  for (std::size_t c = 0; c < ToSize(channels); ++c) {
    float mean = 0;
    for (std::size_t k = c; k < window.size(); k += ToSize(channels)) mean += window[k] / taps;
    for (std::size_t k = c; k < window.size(); k += ToSize(channels)) window[k] -= mean;
  }
}

double Norm(std::span<const float> x) { return std::sqrt(kernels::SumOfSquares(x)); }

// Windows at random places of the reference rows, one per row; in the first layer without their mean.
Matrix DrawWindows(const QuickFeatures::Layer& layer, ConstMatrix rows, Index count, Index number) {
  const Stream stream(EvaluationSeed(kSeed, EvaluationStream::kFeatures), Purpose::kInitialWeights);
  Matrix windows(count, layer.window * layer.window * layer.in.channels);
  for (Index w = 0; w < count; ++w) {
    const auto pick = [&](std::uint64_t what, Index below) {
      const double u =
          stream.UniformDouble(4 * static_cast<std::uint64_t>(number) + what, static_cast<std::uint32_t>(w));
      return static_cast<Index>(u * static_cast<double>(below));
    };
    const std::span<float> window = windows.row(w);
    CopyWindow(layer, rows.row(pick(0, rows.rows())), pick(1, layer.out.height), pick(2, layer.out.width),
               window.data());
    if (number == 0) RemoveMeans(window, layer.in.channels);
  }
  return windows;
}

// The median of those norms that are more than rounding, and a little more, so that rounding decides about no window.
double LeastNorm(std::vector<double> norms) {
  if (norms.empty()) return 0;
  std::ranges::sort(norms);
  const auto first = std::ranges::upper_bound(norms, 1e-4 * norms.back());
  return first == norms.end() ? 0 : 1.0001 * *(first + (norms.end() - first) / 2);
}

// Filters of length 1: windows of the reference rows with more in them than half of those that have anything in them,
// less the mean window; where there are too few of these, and for rows that are not images, normal numbers.
Matrix MakeFilters(const QuickFeatures::Layer& layer, ConstMatrix rows, Index number) {
  const Index size = layer.window * layer.window * layer.in.channels;
  Matrix filters(size, layer.out.channels);
  const Matrix windows = DrawWindows(layer, rows, layer.window > 1 ? kCandidates * layer.out.channels : 0, number);
  std::vector<double> norms;
  std::vector<float> mean(ToSize(size));
  for (Index w = 0; w < windows.rows(); ++w) {
    norms.push_back(Norm(windows.row(w)));
    for (std::size_t k = 0; k < mean.size() && number > 0; ++k) {
      mean[k] += windows.row(w)[k] / static_cast<float>(windows.rows());
    }
  }
  const double least = LeastNorm(norms);
  const Stream stream(EvaluationSeed(kSeed, EvaluationStream::kFeatures), Purpose::kInitialVisible);
  Index next = 0;
  std::vector<float> filter(ToSize(size));
  for (Index f = 0; f < layer.out.channels; ++f, ++next) {
    while (next < windows.rows() && !(norms[ToSize(next)] > least)) ++next;
    for (Index k = 0; k < size; ++k) {
      filter[ToSize(k)] = next < windows.rows()
                              ? windows(next, k) - mean[ToSize(k)]
                              : stream.Normal(static_cast<std::uint64_t>(number), static_cast<std::uint32_t>(f), k);
    }
    const double norm = std::max(Norm(filter), 1e-30);
    for (Index k = 0; k < size; ++k) filters(k, f) = static_cast<float>(double{filter[ToSize(k)]} / norm);
  }
  return filters;
}

// filters ∗ rows, before standardisation: rows × out.size().
Matrix Convolve(const QuickFeatures::Layer& layer, ConstMatrix rows, ThreadPool& pool) {
  Matrix result(rows.rows(), layer.out.size());
  const kernels::RightFactor filters(layer.filters, std::vector<float>(ToSize(layer.out.channels)));
  const Index places = layer.out.height * layer.out.width;
  pool.ParallelFor(rows.rows(), [&](Index r) {
    Matrix windows(places, layer.filters.rows());
    for (Index p = 0; p < places; ++p) {
      CopyWindow(layer, rows.row(r), p / layer.out.width, p % layer.out.width, windows.row(p).data());
    }
    filters.Multiply(windows, MutableMatrix(result.row(r).data(), places, layer.out.channels, layer.out.channels));
  });
  return result;
}

// Mean and deviation of every `channels`-th value; a constant gets the deviation 1.
void Moments(ConstMatrix rows, Index channels, std::vector<float>& mean, std::vector<float>& deviation) {
  std::vector<double> sum(ToSize(channels));
  std::vector<double> squares(ToSize(channels));
  const auto n = static_cast<double>(rows.rows() * rows.cols() / channels);
  const auto add = [&](auto&& use) {
    for (Index r = 0; r < rows.rows(); ++r) {
      for (Index k = 0; k < rows.cols(); ++k) use(ToSize(k % channels), double{rows(r, k)});
    }
  };
  add([&](std::size_t c, double x) { sum[c] += x / n; });
  add([&](std::size_t c, double x) { squares[c] += (x - sum[c]) * (x - sum[c]) / n; });
  mean.assign(sum.begin(), sum.end());
  deviation.clear();
  for (const double s : squares) deviation.push_back(s > 1e-12 ? static_cast<float>(std::sqrt(s)) : 1.0f);
}

// max(0, (x - mean)/deviation - threshold), channel by channel, in place.
void Rectify(const QuickFeatures::Layer& layer, Matrix& rows) {
  for (Index r = 0; r < rows.rows(); ++r) {
    const std::span<float> row = rows.row(r);
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::size_t c = k % layer.mean.size();
      row[k] = std::max(0.0f, (row[k] - layer.mean[c]) / layer.deviation[c] - kThreshold);
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

// Shapes only; the filters come from the reference rows.
std::vector<QuickFeatures::Layer> MakeLayers(Index visible, const ImageShape& shape) {
  // One place of `visible` channels: a dense layer.
  if (!shape.known()) return {{{1, 1, visible}, {1, 1, QuickFeatures::kDimension}, 1, {}, {}, {}}};
  std::vector<QuickFeatures::Layer> layers;
  ImageShape in = shape;
  for (std::size_t l = 0; l < std::size(kChannels); ++l) {
    const auto half = [](Index n) { return (n + kStride - 1) / kStride; };
    const ImageShape out{half(in.height), half(in.width), kChannels[l]};
    layers.push_back({in, out, kWindows[l], {}, {}, {}});
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
  for (Index l = 0; l < static_cast<Index>(layers_.size()); ++l) {
    Layer& layer = layers_[ToSize(l)];
    layer.filters = MakeFilters(layer, rows, l);
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
        features(first + r, k) = (block(r, k) - mean_[ToSize(k)]) / deviation_[ToSize(k)];
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
      if (g != without) second.Add(groups[ToSize(g)]);
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
