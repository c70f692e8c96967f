// Rows through the hidden units and back, of any model: a class that is not known is drawn, or summed out, and conditions are given.
#pragma once

#include <cstdint>

#include "grbm/core/matrix.h"
#include "grbm/core/parallel.h"
#include "grbm/model/visible_law.h"
#include "grbm/store/model_file.h"

namespace grbm {

// Rows in the model's units, and what is given with them.
struct GivenRows {
  ConstMatrix values;       // rows × Gaussian units
  ConstMatrix conditions;   // rows × conditions; of models without them, nothing
  std::uint32_t first = 0;  // the number of the first row: a draw is a function of the seed and its row's number
};

class Codes {
 public:
  // The file must outlive it.
  explicit Codes(const ModelFile& file);
  explicit Codes(ModelFile&& file) = delete;

  // p(h = 1 | v): with labels, the mean over the classes of p(h = 1 | v, y). rows × hidden.
  Matrix Probabilities(const GivenRows& rows, ThreadPool& pool) const;
  // h ~ p(h | v): with labels, given a class that is drawn from p(y | v).
  BitMatrix Draw(const GivenRows& rows, std::uint64_t seed, ThreadPool& pool) const;
  // The mean of v given h, or given probabilities of h, in the model's units: rows × Gaussian units.
  Matrix Decode(ConstBitView h, ConstMatrix conditions, ThreadPool& pool) const;
  Matrix Decode(ConstMatrix p, ConstMatrix conditions, ThreadPool& pool) const;

 private:
  // (v - A u, u), states of states_.
  Matrix States(const GivenRows& rows, ThreadPool& pool) const;
  // v of rows of states' means.
  Matrix Values(Matrix mean, ConstMatrix conditions, ThreadPool& pool) const;

  const ModelFile& file_;
  VisibleLaw law_;
  Model states_;  // the model, with its conditions as units                                             [math.md (81)]
  double temperature_;
};

}  // namespace grbm
