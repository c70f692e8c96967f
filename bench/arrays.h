// What the kernels work on, at one size.
#pragma once

#include <vector>

#include "kernels/kernels.h"
#include "support/models.h"

namespace grbm::bench {

inline constexpr Index kBatch = 512;

struct Shape {
  Index visible;
  Index hidden;
};
inline constexpr Shape kShapes[] = {{784, 4096}, {784, 512}};

inline kernels::Panels Packed(ConstMatrix m) {
  kernels::Panels panels(m.rows(), m.cols());
  for (Index p = 0; p < panels.view().panels(); ++p) kernels::Pack(m, p, panels);
  return panels;
}

struct Arrays {
  explicit Arrays(const Shape& shape) : visible(shape.visible), hidden(shape.hidden) {
    for (float& x : p.values()) x = 0.5f;
    for (Index g = 0; g < h.view().groups(); ++g) kernels::TransposeBits(h, g, h_transposed);
  }

  Index visible;
  Index hidden;
  kernels::Rows rows{0, kBatch};
  kernels::Panels v = Packed(testing::RandomVisible(kBatch, visible, 1));
  kernels::Panels W = Packed(testing::RandomVisible(visible, hidden, 2, 0.02));
  kernels::Panels W_transposed = Packed(testing::RandomVisible(hidden, visible, 3, 0.02));
  kernels::PanelRow b{hidden};
  kernels::PanelRow zero{visible};
  BitMatrix h = testing::RandomHidden(kBatch, hidden, 4);
  BitMatrix h_transposed{hidden, kBatch};
  kernels::Panels p{kBatch, hidden};
  kernels::Panels logits{kBatch, hidden};
  kernels::Panels product{kBatch, visible};
  kernels::Panels moved{kBatch, visible};
  kernels::Panels sum{hidden, visible};

  kernels::HiddenResult Bits(const DrawPlace& draw) {
    kernels::HiddenResult result;
    result.draw = {h, draw};
    return result;
  }
  kernels::HiddenResult Probabilities() {
    kernels::HiddenResult result;
    result.probabilities = p;
    return result;
  }

  double products() const {  // operations of one product
    return 2.0 * static_cast<double>(kBatch) * static_cast<double>(visible) * static_cast<double>(hidden);
  }
};

}  // namespace grbm::bench
