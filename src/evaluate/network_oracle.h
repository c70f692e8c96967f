// Convolutional networks once more, in double and loop by loop, for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "evaluate/random_weights.h"

namespace grbm::testing {

class NetworkOracle {
 public:
  struct Map {
    Index channels, height, width;
    std::vector<double> values;
    Map(Index c, Index h, Index w) : channels(c), height(h), width(w), values(static_cast<std::size_t>(c * h * w)) {}
    double& at(Index c, Index y, Index x) { return values[static_cast<std::size_t>((c * height + y) * width + x)]; }
    double at(Index c, Index y, Index x) const {
      return values[static_cast<std::size_t>((c * height + y) * width + x)];
    }
  };

  explicit NetworkOracle(RandomWeights& weights) : weights_(weights) {}

  // Adds the layer to the weights, and applies it.
  Map Conv(const Map& in, const std::string& layer, Index channels, Index kh, Index kw, Index stride, Index ph,
           Index pw) {
    weights_.Add(layer, channels, in.channels, kh, kw);
    const std::vector<float>& weight = weights_.values(layer + ".weight");
    const std::vector<float>& bias = weights_.values(layer + ".bias");
    Map out(channels, (in.height + 2 * ph - kh) / stride + 1, (in.width + 2 * pw - kw) / stride + 1);
    for (Index o = 0; o < channels; ++o) {
      for (Index y = 0; y < out.height; ++y) {
        for (Index x = 0; x < out.width; ++x) {
          double sum = bias[static_cast<std::size_t>(o)];
          for (Index c = 0; c < in.channels; ++c) {
            for (Index i = 0; i < kh; ++i) {
              for (Index j = 0; j < kw; ++j) {
                const Index from_y = y * stride - ph + i;
                const Index from_x = x * stride - pw + j;
                if (from_y < 0 || from_y >= in.height || from_x < 0 || from_x >= in.width) continue;
                sum += in.at(c, from_y, from_x) *
                       weight[static_cast<std::size_t>(((o * in.channels + c) * kh + i) * kw + j)];
              }
            }
          }
          out.at(o, y, x) = std::max(0.0, sum);
        }
      }
    }
    return out;
  }
  Map Conv1(const Map& in, const std::string& layer, Index channels) {
    return Conv(in, layer, channels, 1, 1, 1, 0, 0);
  }

  // side × side; `combine` gets the values inside the map only.
  static Map Pool(const Map& in, Index side, Index stride, Index pad, double (*combine)(const std::vector<double>&)) {
    Map out(in.channels, (in.height + 2 * pad - side) / stride + 1, (in.width + 2 * pad - side) / stride + 1);
    for (Index c = 0; c < in.channels; ++c) {
      for (Index y = 0; y < out.height; ++y) {
        for (Index x = 0; x < out.width; ++x) {
          std::vector<double> inside;
          for (Index from_y = y * stride - pad; from_y < y * stride - pad + side; ++from_y) {
            for (Index from_x = x * stride - pad; from_x < x * stride - pad + side; ++from_x) {
              if (from_y < 0 || from_y >= in.height || from_x < 0 || from_x >= in.width) continue;
              inside.push_back(in.at(c, from_y, from_x));
            }
          }
          out.at(c, y, x) = combine(inside);
        }
      }
    }
    return out;
  }
  static double Max(const std::vector<double>& v) { return *std::ranges::max_element(v); }
  static double Mean(const std::vector<double>& v) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum / static_cast<double>(v.size());
  }

  // The mean over each channel.
  static std::vector<double> Means(const Map& in) {
    std::vector<double> means(static_cast<std::size_t>(in.channels));
    for (Index c = 0; c < in.channels; ++c) {
      double& mean = means[static_cast<std::size_t>(c)];
      for (Index y = 0; y < in.height; ++y) {
        for (Index x = 0; x < in.width; ++x) mean += in.at(c, y, x) / static_cast<double>(in.height * in.width);
      }
    }
    return means;
  }

 private:
  RandomWeights& weights_;
};

}  // namespace grbm::testing
