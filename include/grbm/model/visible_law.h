// A law of the visible units, as likelihoods and densities are taken of it.
#pragma once

#include "grbm/model/model.h"

namespace grbm {

// exp(-Ẽ(v)/temperature)/Z, with the model's Ẽ. At temperature 1 it is the model's p(v); at others it is not the marginal
// of exp(-E/temperature), which is the law {model.Tempered(temperature)}.                        [math.md (5), (8)]
struct VisibleLaw {
  Model model;
  double temperature = 1;
};

}  // namespace grbm
