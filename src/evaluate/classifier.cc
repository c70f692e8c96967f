#include "grbm/evaluate/classifier.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "evaluate/classifier_weights.h"
#include "evaluate/network.h"
#include "grbm/core/error.h"
#include "grbm/core/file.h"
#include "grbm/core/safetensors.h"

namespace grbm {

namespace {

using network::Block;
using network::Op;

Op Conv(std::string_view name, Index channels, Index side) {
  return {Op::Kind::kConvolution, name, channels, side, side, 1, true, false};
}
Op Halve() { return {Op::Kind::kMax, "", 0, 2, 2, 2, false, false}; }

// Layers as in python/tools/train_classifier.py.
const std::vector<Block>& Blocks() {
  static const std::vector<Block> kBlocks = {
      {"",
       {{Conv("conv1", 16, 5), Halve(), Conv("conv2", 32, 3), Conv("conv3", 32, 3), Halve(), Conv("conv4", 64, 3),
         Conv("conv5", Classifier::kFeatures, 3)}},
       int{Classifier::kFeatures}}};
  return kBlocks;
}

void Softmax(std::span<float> logits) {
  const float largest = std::ranges::max(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(double{x - largest});
  for (float& x : logits) x = static_cast<float>(std::exp(double{x - largest}) / sum);
}

}  // namespace

struct Classifier::State {
  explicit State(const TensorFile& weights)
      : network(weights, Blocks(), {kShape.channels, kShape.height, kShape.width}) {
    if (!network.missing().empty()) {
      throw DataError(
          fmt::format("{}: not weights of a classifier: {} are missing; python/tools/train_classifier.py "
                      "makes them",
                      weights.source, fmt::join(network.missing(), ", ")));
    }
    const Index shape[] = {kClasses, kFeatures};
    dense = GetFloats(weights, "dense.weight", shape);
    bias = GetFloats(weights, "dense.bias", {shape, 1});
  }

  network::Network network;
  std::vector<float> dense;  // classes × features
  std::vector<float> bias;
};

Classifier::Classifier(const TensorFile& weights) : state_(std::make_unique<State>(weights)) {}
Classifier::~Classifier() = default;
Classifier::Classifier(Classifier&&) noexcept = default;
Classifier& Classifier::operator=(Classifier&&) noexcept = default;

Classifier Classifier::Load(const std::string& name) {
  if (name == kMnist) return Classifier(ParseTensors(std::string(MnistClassifierWeights()), "the built-in classifier"));
  return Classifier(ParseTensors(ReadFile(name), name));
}

Classifier::Judgement Classifier::operator()(ConstMatrix rows, ThreadPool& pool) const {
  GRBM_CHECK(rows.cols() == kShape.size());
  Judgement out{Matrix(rows.rows(), kFeatures), Matrix(rows.rows(), kClasses)};
  const auto prepare = [&](Index i, std::span<float> input) {
    std::ranges::transform(rows.row(i), input.begin(), [](float value) { return value / 255; });
  };
  state_->network.RunAll(prepare, int{kFeatures}, out.features, pool);
  for (Index i = 0; i < rows.rows(); ++i) {
    const std::span<const float> features = out.features.view().row(i);
    const std::span<float> logits = out.probabilities.view().row(i);
    for (std::size_t c = 0; c < logits.size(); ++c) {
      double sum = double{state_->bias[c]};
      for (std::size_t k = 0; k < features.size(); ++k) {
        sum += double{state_->dense[c * features.size() + k]} * double{features[k]};
      }
      logits[c] = static_cast<float>(sum);
    }
    Softmax(logits);
  }
  return out;
}

std::string BuiltInClassifier(const DataOptions& data) {
  return std::string(data.source == Classifier::kMnist ? Classifier::kMnist : "");
}

}  // namespace grbm
