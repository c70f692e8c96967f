// What to take of a file of arrays.
#pragma once

#include <string>

namespace grbm {

struct ArrayOptions {
  std::string key = {};     // which array; empty: the only one of rows
  std::string label = {};   // the array of labels; empty: none
  std::string weight = {};  // the array of row weights; empty: none
  bool gaps = false;        // whether NaN is a value that is missing; otherwise it is refused
};

}  // namespace grbm
