// The architecture, as pytorch-fid has it: torchvision's Inception v3 with the pooling of TensorFlow's graph.
#include "evaluate/inception_blocks.h"

namespace grbm::inception {

using network::Block;
using network::Op;

namespace {

using Kind = Op::Kind;

Op Conv(std::string_view name, Index channels, Index height = 1, Index width = 1) {
  return {Kind::kConvolution, name, channels, height, width, 1, true, false};
}
// Without padding.
Op Valid(std::string_view name, Index channels, Index side, Index stride = 1) {
  return {Kind::kConvolution, name, channels, side, side, stride, false, false};
}
Op Beside(Op op) {
  op.beside = true;
  return op;
}
Op Halve() { return {Kind::kMax, "", 0, 3, 3, 2, false, false}; }
Op Pool(Kind kind) { return {kind, "", 0, 3, 3, 1, true, false}; }

Block A(std::string_view name, Index pool) {
  return {name,
          {{Conv("branch1x1", 64)},
           {Conv("branch5x5_1", 48), Conv("branch5x5_2", 64, 5, 5)},
           {Conv("branch3x3dbl_1", 64), Conv("branch3x3dbl_2", 96, 3, 3), Conv("branch3x3dbl_3", 96, 3, 3)},
           {Pool(Kind::kAverage), Conv("branch_pool", pool)}}};
}

Block B(std::string_view name) {
  return {name,
          {{Valid("branch3x3", 384, 3, 2)},
           {Conv("branch3x3dbl_1", 64), Conv("branch3x3dbl_2", 96, 3, 3), Valid("branch3x3dbl_3", 96, 3, 2)},
           {Halve()}}};
}

Block C(std::string_view name, Index inner, int tap = 0) {
  return {name,
          {{Conv("branch1x1", 192)},
           {Conv("branch7x7_1", inner), Conv("branch7x7_2", inner, 1, 7), Conv("branch7x7_3", 192, 7, 1)},
           {Conv("branch7x7dbl_1", inner), Conv("branch7x7dbl_2", inner, 7, 1), Conv("branch7x7dbl_3", inner, 1, 7),
            Conv("branch7x7dbl_4", inner, 7, 1), Conv("branch7x7dbl_5", 192, 1, 7)},
           {Pool(Kind::kAverage), Conv("branch_pool", 192)}},
          tap};
}

Block D(std::string_view name) {
  return {name,
          {{Conv("branch3x3_1", 192), Valid("branch3x3_2", 320, 3, 2)},
           {Conv("branch7x7x3_1", 192), Conv("branch7x7x3_2", 192, 1, 7), Conv("branch7x7x3_3", 192, 7, 1),
            Valid("branch7x7x3_4", 192, 3, 2)},
           {Halve()}}};
}

Block E(std::string_view name, Kind pool, int tap = 0) {
  return {name,
          {{Conv("branch1x1", 320)},
           {Conv("branch3x3_1", 384), Conv("branch3x3_2a", 384, 1, 3), Beside(Conv("branch3x3_2b", 384, 3, 1))},
           {Conv("branch3x3dbl_1", 448), Conv("branch3x3dbl_2", 384, 3, 3), Conv("branch3x3dbl_3a", 384, 1, 3),
            Beside(Conv("branch3x3dbl_3b", 384, 3, 1))},
           {Pool(pool), Conv("branch_pool", 192)}},
          tap};
}

}  // namespace

const std::vector<Block>& Blocks() {
  static const std::vector<Block> blocks = {
      {"",
       {{Valid("Conv2d_1a_3x3", 32, 3, 2), Valid("Conv2d_2a_3x3", 32, 3), Conv("Conv2d_2b_3x3", 64, 3, 3), Halve()}},
       64},
      {"", {{Valid("Conv2d_3b_1x1", 80, 1), Valid("Conv2d_4a_3x3", 192, 3), Halve()}}, 192},
      A("Mixed_5b", 32),
      A("Mixed_5c", 64),
      A("Mixed_5d", 64),
      B("Mixed_6a"),
      C("Mixed_6b", 128),
      C("Mixed_6c", 160),
      C("Mixed_6d", 160),
      C("Mixed_6e", 192, 768),
      D("Mixed_7a"),
      E("Mixed_7b", Kind::kAverage),
      E("Mixed_7c", Kind::kMax, 2048)};  // max where an average is to be expected: so it was trained
  return blocks;
}

}  // namespace grbm::inception
