#include "grbm/core/matrix.h"

#include <algorithm>

namespace grbm {

void CopyRows(ConstMatrix src, MutableMatrix dst) {
  GRBM_CHECK(src.rows() == dst.rows() && src.cols() == dst.cols());
  for (Index r = 0; r < src.rows(); ++r) std::ranges::copy(src.row(r), dst.row(r).begin());
}

void CopyRows(ConstBitView src, BitView dst) {
  GRBM_CHECK(src.rows() == dst.rows() && src.units() == dst.units());
  for (Index g = 0; g < src.groups(); ++g) {
    for (Index r = 0; r < src.rows(); ++r) dst.word(r, g) = src.word(r, g);
  }
}

double MeanSquaredDifference(ConstMatrix a, ConstMatrix b) {
  GRBM_CHECK(a.rows() == b.rows() && a.cols() == b.cols());
  double sum = 0;
  for (Index r = 0; r < a.rows(); ++r) {
    for (Index c = 0; c < a.cols(); ++c) {
      const double d = double{a(r, c)} - double{b(r, c)};
      sum += d * d;
    }
  }
  return sum / static_cast<double>(a.rows() * a.cols());
}

}  // namespace grbm
