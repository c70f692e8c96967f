// Weights for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "grbm/core/tensor.h"

namespace grbm::testing {

// Tensors of any shape, filled with fixed pseudo-random numbers of about the size that keeps activations near 1.
class RandomWeights {
 public:
  void Add(const std::string& layer, Index to, Index from, Index height, Index width) {
    AddTensor(layer + ".weight", {to, from, height, width},
              std::sqrt(6.0f / static_cast<float>(from * height * width)));
    AddTensor(layer + ".bias", {to}, 0.5f);
  }
  void AddDense(const std::string& layer, Index to, Index from) {
    AddTensor(layer + ".weight", {to, from}, std::sqrt(6.0f / static_cast<float>(from)));
    AddTensor(layer + ".bias", {to}, 0.5f);
  }
  const TensorFile& file() const { return file_; }
  const std::vector<float>& values(const std::string& name) const { return values_.at(name); }
  std::vector<float> Make(std::size_t count, float scale) {
    std::vector<float> values(count);
    for (float& v : values) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      v = scale * (static_cast<float>(state_ >> 40) * 0x1p-23f - 1);  // uniform in ±scale
    }
    return values;
  }

 private:
  void AddTensor(const std::string& name, std::vector<Index> shape, float scale) {
    const auto& values = values_[name] = Make(static_cast<std::size_t>(*ElementCount(shape)), scale);
    file_.tensors.push_back(MakeTensor(name, std::move(shape), values));
  }

  std::map<std::string, std::vector<float>> values_;
  TensorFile file_{.source = "random", .tensors = {}, .metadata = {}, .storage = {}};
  std::uint64_t state_ = 1;
};

// All that the first tap needs, and nothing more.
inline RandomWeights StemWeights() {
  RandomWeights weights;
  weights.Add("Conv2d_1a_3x3", 32, 3, 3, 3);
  weights.Add("Conv2d_2a_3x3", 32, 32, 3, 3);
  weights.Add("Conv2d_2b_3x3", 64, 32, 3, 3);
  return weights;
}

}  // namespace grbm::testing
