// What a small convolutional network says of images: which class, how surely, and by which features.
#pragma once

#include <memory>
#include <string>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/core/tensor.h"
#include "grbm/data/image_shape.h"
#include "grbm/data/options.h"

namespace grbm {

// Five convolutions with rectifiers and two pools, of which the means over the image are the features, and one dense layer
// from these to the classes.
class Classifier {
 public:
  static constexpr Index kFeatures = 64;
  static constexpr Index kClasses = 10;
  static constexpr ImageShape kShape = {28, 28, 1};
  // The name of the one that is part of the program: MNIST's digits.
  static constexpr std::string_view kMnist = "mnist";

  // Weights as python/tools/train_classifier.py writes them: the path of a file, or kMnist. Throws IoError where it cannot
  // be read, DataError where it is not a classifier's.
  static Classifier Load(const std::string& name);
  explicit Classifier(const TensorFile& weights);
  ~Classifier();
  Classifier(Classifier&&) noexcept;
  Classifier& operator=(Classifier&&) noexcept;

  struct Judgement {
    Matrix features;       // rows × kFeatures
    Matrix probabilities;  // rows × kClasses
  };
  // rows: images of kShape with values from 0 to 255. Each row is judged on its own.
  Judgement operator()(ConstMatrix rows, ThreadPool& pool) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The name of the one for these data, where it is part of the program; otherwise empty.
std::string BuiltInClassifier(const DataOptions& data);

}  // namespace grbm
