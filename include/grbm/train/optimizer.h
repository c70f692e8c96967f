// From gradients to steps.
#pragma once

#include <vector>

#include "grbm/core/parallel.h"
#include "grbm/model/model.h"
#include "grbm/train/options.h"

namespace grbm {

// The Euclidean norm of all parameters together, in double.
double Norm(const Parameters& gradient, ThreadPool& pool);

// Stochastic gradient descent with momentum, or Adam; parameters decay, gradients are clipped.
//                                                                                                    [math.md (33)]
class Optimizer {
 public:
  // unit_scale: by visible unit, what the steps of its rows of W and A are multiplied by; none: 1.
  Optimizer(const TrainOptions& options, Index visible, Index hidden, std::vector<float> unit_scale = {},
            Index conditions = 0);

  // `gradient`, that of what is to be made small, becomes the next parameters. Returns its norm before clipping; where
  // that is not finite nothing is changed.
  double Step(const Parameters& parameters, double learning_rate, Parameters& gradient, ThreadPool& pool);

  // What a resumed run needs to go on: the running means, of which there are 0, 1 or 2, and the number of steps.
  std::vector<Parameters>& moments() { return moments_; }
  const std::vector<Parameters>& moments() const { return moments_; }
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 private:
  TrainOptions options_;
  std::vector<float> unit_scale_;
  std::vector<Parameters> moments_;
  std::uint64_t steps_ = 0;
};

}  // namespace grbm
