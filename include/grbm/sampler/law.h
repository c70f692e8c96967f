// The law that a sampler's chains have: the one place that knows what a sampler and its temperature stand for.
#pragma once

#include <string>

#include "grbm/model/visible_law.h"
#include "grbm/sampler/options.h"

namespace grbm {

struct Law {
  enum class Kind {
    kNone,      // none that is known: samplers without adjustment
    kJoint,     // exp(-E/τ) of (v, h): Gibbs, partial refresh, adjusted Gibbs-Langevin
    kMarginal,  // exp(-Ẽ/τ) of v: adjusted Langevin
  };
  Kind kind = Kind::kNone;
  // τ, by which the energy is divided, whatever that of proposals; without a law 1, as the paper has it.
  double temperature = 1;

  // p(h_j = 1 | v) = sigmoid(x_j / hidden_temperature). Ẽ has h summed out at temperature 1.
  double hidden_temperature() const { return kind == Kind::kJoint ? temperature : 1; }
};

// By method and adjustment, whatever adjust_after says: a chain that is not adjusted yet is on its way to the same law.
Law LawOf(const SamplerOptions& options);

// What likelihoods and densities of a model with chains by these options are of: the law of v that the chains have. Where
// none is known, that of exp(-E/τ), whose conditional of v they follow.                            [math.md (31), (54)]
VisibleLaw VisibleLawOf(const Model& model, const SamplerOptions& options);
// The same in words: "exp(-E)", "exp(-Ẽ/100)".
std::string LawText(const SamplerOptions& options);

}  // namespace grbm
