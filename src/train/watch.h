// What of a run its user should know before it ends.
#pragma once

#include <string>
#include <vector>

#include "grbm/train/trainer.h"

namespace grbm {

// Sees every update and says, once for each degree of it, what goes wrong and what can be done.
class Watch {
 public:
  Watch(const ModelOptions& model, const SamplerOptions& sampler);

  std::vector<std::string> See(const UpdateMetrics& metrics);

 private:
  Index unstable_ = 0;
  double low_;   // a variance below is worth a word
  double high_;  // and one above
  double alike_;
  double variety_ = 1;  // its running mean
};

}  // namespace grbm
