// A distance between sets of rows that takes seconds and no weights: on features that are made from the data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/data/image_shape.h"
#include "grbm/evaluate/estimate.h"
#include "grbm/evaluate/frechet.h"

namespace grbm {

// Images pass three layers of filters (5 × 5, 3 × 3, 3 × 3, every second place; 16, 32, 64 channels), each channel
// standardised and rectified; the features are the means of the 64 channels over the image. The filters are windows of the
// reference images themselves, drawn at random by a fixed seed: they answer to the shapes of these data. Brightness and
// contrast of the whole set do not matter. Other rows pass one layer of random ReLU units.             [math.md (42)]
class QuickFeatures {
 public:
  static constexpr Index kDimension = 64;

  // reference: rows × visible, at least two. `shape` is all zero where rows are not images.
  QuickFeatures(ConstMatrix reference, const ImageShape& shape, ThreadPool& pool);

  // rows × kDimension; the features of the reference rows have mean 0 and deviation 1.
  Matrix operator()(ConstMatrix rows, ThreadPool& pool) const;

  // One convolution, or one dense layer: places of `in` channels to places of `out`.
  struct Layer {
    ImageShape in;
    ImageShape out;
    Index window;                  // a side, in pixels
    Matrix filters;                // window² · in channels × out channels
    std::vector<float> mean;       // of each output channel on the reference rows
    std::vector<float> deviation;  // the same
  };

 private:
  std::vector<Layer> layers_;
  std::vector<float> mean_;  // of the features of the reference rows
  std::vector<float> deviation_;
};

struct QuickDistance {
  Estimate frechet;  // the error by leaving out tenths of the rows of b                                [math.md (43)]
  Estimate kernel;
};
// Between features, each of at least 20 rows. Biased upwards on few rows: compare only distances of as many rows.
QuickDistance QuickDistances(ConstMatrix a, ConstMatrix b);

}  // namespace grbm
