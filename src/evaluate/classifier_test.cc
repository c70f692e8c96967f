#include "grbm/evaluate/classifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/classifier_weights.h"
#include "evaluate/network_oracle.h"
#include "grbm/core/error.h"
#include "grbm/core/safetensors.h"

namespace grbm {
namespace {

using ::testing::HasSubstr;
using testing::NetworkOracle;
using testing::RandomWeights;
using ::testing::ThrowsMessage;

using Map = NetworkOracle::Map;

TEST(Classifier, EqualsItsDefinitionInDouble) {
  RandomWeights weights;
  NetworkOracle oracle(weights);
  Matrix rows(3, Classifier::kShape.size());
  for (float& value : rows.values()) value = std::abs(weights.Make(1, 255)[0]);
  Map x(1, 28, 28);
  std::ranges::transform(rows.view().row(2), x.values.begin(), [](float value) { return double{value} / 255; });
  x = oracle.Pool(oracle.Conv(x, "conv1", 16, 5, 5, 1, 2, 2), 2, 2, 0, NetworkOracle::Max);
  x = oracle.Conv(x, "conv2", 32, 3, 3, 1, 1, 1);
  x = oracle.Pool(oracle.Conv(x, "conv3", 32, 3, 3, 1, 1, 1), 2, 2, 0, NetworkOracle::Max);
  x = oracle.Conv(oracle.Conv(x, "conv4", 64, 3, 3, 1, 1, 1), "conv5", 64, 3, 3, 1, 1, 1);
  const std::vector<double> features = NetworkOracle::Means(x);
  weights.AddDense("dense", Classifier::kClasses, Classifier::kFeatures);
  std::vector<double> probabilities;
  double sum = 0;
  for (std::size_t c = 0; c < Classifier::kClasses; ++c) {
    double logit = double{weights.values("dense.bias")[c]};
    for (std::size_t k = 0; k < features.size(); ++k) {
      logit += features[k] * double{weights.values("dense.weight")[c * features.size() + k]};
    }
    probabilities.push_back(std::exp(logit));
    sum += probabilities.back();
  }

  ThreadPool pool(2);
  const Classifier::Judgement judgement = Classifier(weights.file())(rows, pool);
  const double largest = *std::ranges::max_element(features);
  EXPECT_GT(largest, 0.1);
  for (Index k = 0; k < Classifier::kFeatures; ++k) {
    EXPECT_NEAR(judgement.features(2, k), features[static_cast<std::size_t>(k)], 1e-5 * largest);
  }
  for (Index c = 0; c < Classifier::kClasses; ++c) {
    EXPECT_NEAR(judgement.probabilities(2, c), probabilities[static_cast<std::size_t>(c)] / sum, 1e-4);
  }
}

TEST(Classifier, BuiltInOneKnowsDigits) {
  const TensorFile file = ParseTensors(std::string(MnistClassifierWeights()), "built in");
  EXPECT_LE(MnistClassifierWeights().size(), 300'000u);
  EXPECT_LT(std::stod(file.metadata.at("test_error")), 0.01);
  // A ring is a zero, a bar is a one.
  Matrix rows(2, Classifier::kShape.size());
  for (Index y = 0; y < 28; ++y) {
    for (Index x = 0; x < 28; ++x) {
      const double dx = (static_cast<double>(x) - 13.5) / 0.75;
      const double radius = std::hypot(dx, static_cast<double>(y) - 13.5);
      rows(0, y * 28 + x) = std::abs(radius - 8) < 1.6 ? 255.0f : 0.0f;
      rows(1, y * 28 + x) = std::abs(dx) < 1.5 && y >= 4 && y < 24 ? 255.0f : 0.0f;
    }
  }
  ThreadPool pool(1);
  const Matrix p = Classifier::Load(std::string(Classifier::kMnist))(rows, pool).probabilities;
  EXPECT_GT(p(0, 0), 0.9f);
  EXPECT_GT(p(1, 1), 0.9f);
}

TEST(Classifier, RefusesOtherWeights) {
  EXPECT_THAT([] { Classifier(testing::StemWeights().file()); },
              ThrowsMessage<DataError>(HasSubstr("random: not weights of a classifier: conv1.weight")));
}

}  // namespace
}  // namespace grbm
